"""Runs inside the user's program and writes the journal. Standard library only."""
