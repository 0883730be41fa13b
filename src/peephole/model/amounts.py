"""Amounts as people read them, in every room. Standard library only."""

from __future__ import annotations


def digits(value: float) -> str:
    """A number of three digits or more: `1.23`, `12.30`, `123.4`, `1234`."""
    size = abs(value)
    return f"{value:.0f}" if size >= 1000 else f"{value:.1f}" if size >= 100 else f"{value:.2f}"


def duration(ns: int | float) -> str:
    """A length of time: `12.3 µs`."""
    value = float(ns)
    for unit, step in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if abs(value) >= step:
            return f"{digits(value / step)} {unit}"
    return f"{ns:.0f} ns"


def size(count: int | float) -> str:
    """A number of bytes: `1.50 MB`."""
    value = float(count)
    for unit, step in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if abs(value) >= step:
            return f"{digits(value / step)} {unit}"
    return f"{count:.0f} B"
