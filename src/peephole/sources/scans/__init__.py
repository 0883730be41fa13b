"""Compiled loops and tables that several sources read their bytes with."""
