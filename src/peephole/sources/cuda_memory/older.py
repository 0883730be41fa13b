"""What was there when the history began: the snapshot, and the history backwards from it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from peephole.sources.cuda_memory.entries import address, dictionaries, number
from peephole.sources.cuda_memory.ranges import Range, Ranges

ALLOC: Final = "alloc"
FREED: Final = "free_completed"
MORE: Final = ("segment_alloc", "segment_map")
LESS: Final = ("segment_free", "segment_unmap")

Entry = dict[str, Any]


def older_blocks(trace: list[Entry], segments: list[Entry]) -> dict[int, tuple[int, Entry]]:
    """What was asked for and what is known of each block that is older than the history, by address."""
    held = {where: (number(known, "requested_size", size) or size, known) for where, size, known in _active(segments)}
    for entry in reversed(trace):
        action, where = entry.get("action"), address(entry, "addr")
        if action == ALLOC:
            held.pop(where, None)
        elif action == FREED:
            held[where] = number(entry, "size"), entry
    return held


def taken_blocks(trace: list[Entry], segments: list[Entry]) -> dict[int, tuple[int, Entry]]:
    """The bytes that each block of the snapshot takes and the entry that made it: its alloc, else itself."""
    made = {address(entry, "addr"): entry for entry in trace if entry.get("action") == ALLOC}
    return {where: (size, made.get(where, known)) for where, size, known in _active(segments)}


def _active(segments: list[Entry]) -> Iterator[tuple[int, int, Entry]]:
    """Address, size and what is known of each block that is held at the snapshot."""
    for segment in segments:
        at = address(segment, "address")
        for block in dictionaries(segment.get("blocks")):
            where, size = address(block, "address") or at, number(block, "size")
            at = where + size
            if str(block.get("state", "")).startswith("active"):
                if not block.get("frames") and (history := dictionaries(block.get("history"))):
                    block["frames"] = history[-1].get("frames")  # where old versions have them
                yield where, size, block


def older_segments(trace: list[Entry], segments: list[Entry]) -> list[Range[Entry]]:
    """What was reserved before the history; of expandable segments the parts that were mapped then."""
    held: Ranges[Entry] = Ranges()
    for segment in segments:
        _put(held, address(segment, "address"), number(segment, "total_size"), segment)
    for entry in reversed(trace):
        action, where, size = entry.get("action"), address(entry, "addr"), number(entry, "size")
        if action in MORE:
            held.cut(where, where + size)
        elif action in LESS:
            _put(held, where, size, entry)
    return held.all()


def _put(held: Ranges[Entry], where: int, size: int, entry: Entry) -> None:
    held.cut(where, where + size)
    held.add(where, where + size, entry)
