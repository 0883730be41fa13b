"""Segments and their blocks at the snapshot, as a table to read."""

from __future__ import annotations

from typing import Any, Final

from peephole.sources.cuda_memory.entries import Stacks, address, dictionaries, number, pool_of

_MOST: Final = 200_000
"""Lines of the table."""


def layout_table(segments: list[dict[str, Any]], stacks: Stacks) -> str:
    """One line per segment and block, in the order of addresses; empty when there is none."""
    lines = []
    for segment in sorted(segments, key=lambda one: (number(one, "device"), address(one, "address"))):
        blocks = dictionaries(segment.get("blocks"))
        total = number(segment, "total_size")
        used = sum(number(block, "size") for block in blocks if str(block.get("state", "")).startswith("active"))
        largest = max((number(b, "size") for b in blocks if b.get("state") == "inactive"), default=0)
        lines.append(
            f"CUDA:{number(segment, 'device')}  segment {address(segment, 'address'):#x}  {total:>14,} bytes  "
            f"{100 * used / total if total > 0 else 0:5.1f}% used  largest free {largest:,}  "
            f"stream {number(segment, 'stream')}  {segment.get('segment_type', '')}{_private(segment)}"
        )
        at = address(segment, "address")
        for block in blocks:
            where, size = address(block, "address") or at, number(block, "size")
            at = where + size
            asked = number(block, "requested_size")
            rounded = f"asked {asked:,}" if asked and asked != size else ""
            state = f"{block.get('state', '')!s:<20} {rounded:<18}"
            lines.append(f"    {where:#x}  {size:>14,} bytes  {state} {stacks.label(block)}")
        if len(lines) > _MOST:
            lines.append("…")
            break
    return "\n".join(line.rstrip() for line in lines)


def _private(segment: dict[str, Any]) -> str:
    pool = pool_of(segment)
    return f"  private pool {pool[0]}.{pool[1]}" if pool else ""
