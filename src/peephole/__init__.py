"""Peephole shows what a tensor program became and what it did."""

__version__ = "0.1.0"
