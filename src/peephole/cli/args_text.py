"""The further facts of a slice, its args, for people."""

from __future__ import annotations

from typing import Any

from peephole.cli.format import rate, size
from peephole.model.json_text import json_object

_RATES = {"flops": ("FLOPS", ""), "bytes_per_s": ("B/s", "mem"), "lds_bytes_per_s": ("B/s", "lds")}
"""Unit and kind of the rates in a slice's args."""


def parse_args(text: str | None) -> dict[str, Any]:
    """The further facts of an event; those that are no object, or nested too deeply, are kept as `text`."""
    if not text:
        return {}
    found = json_object(text)
    return {"text": text} if found is None else found


def describe_args(facts: dict[str, Any]) -> str:
    """Further facts for people, rates and sizes with their units."""
    parts = []
    for key, value in facts.items():
        if isinstance(value, bool) or value is None or isinstance(value, (dict, list)):
            continue
        if isinstance(value, int):
            value = max(min(value, 10**300), -(10**300))  # more than a float holds
        if key == "location":
            parts.append(str(value).replace("\\", "/").rpartition("/")[2])
        elif not isinstance(value, (int, float)):
            parts.append(f"{key} {value}")
        elif key in _RATES:
            kind = "" if key == "bytes_per_s" and "bytes" in facts else _RATES[key][1]  # of a copy there is one
            parts += [f"{rate(value, _RATES[key][0])} {kind}".rstrip()] if value else []
        elif key == "bytes":
            parts.append(size(value))
        else:
            parts.append(f"{key}={value}")
    return "  ".join(parts)
