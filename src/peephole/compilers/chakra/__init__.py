"""Execution traces: operators as torch or another framework ran them, as a graph."""
