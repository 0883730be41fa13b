"""pyinstrument's own files: a session with every sample (`-r session`), or the tree it shows (`-r json`)."""

from __future__ import annotations

from typing import Any, Final

from peephole.model.sink import Sink
from peephole.sources.stacks.sampled import Frames, Samples, SliceList
from peephole.sources.stacks.values import DEEPEST, SAMPLED, as_list, json_object, nanoseconds, number

_SECOND: Final = 10**9
_LATEST: Final = 1 << 33
"""Seconds since 1970 that a profile may have begun at."""


def read_pyinstrument(data: bytes, sink: Sink, where: str) -> None:
    """Samples with their times, or a tree whose children are laid side by side."""
    value = json_object(data, where)
    frames = Frames()
    slices = SliceList(frames)
    if isinstance(value.get("frame_records"), list):
        _samples(value["frame_records"], slices, sink)
    else:
        _tree(value.get("root_frame"), slices, sink)
    slices.append_to(sink)
    begun = number(value.get("start_time"))
    base = round(begun * _SECOND) if 0 < begun < _LATEST else None
    sink.describe(clocks={"unit": "profile", "base_ns": base}, frameworks={"pyinstrument": ""}, **SAMPLED)


def _samples(records: list[Any], slices: SliceList, sink: Sink) -> None:
    """Each record is a stack and for how long it was there; the outermost frame is the thread."""
    time, wrong = 0, 0
    threads: dict[int, Samples] = {}
    for record in records:
        stack, took = record if isinstance(record, list) and len(record) == 2 else (None, 0)
        known = [one for one in as_list(stack)[:DEEPEST] if isinstance(one, str)]
        if not known:
            wrong += 1
            continue
        name, place, _ = _parts(known[0])
        thread = known.pop(0) if place == "<thread>" else ""
        track = slices.thread(thread, name if thread else "main")
        end = time + max(0, nanoseconds(took, _SECOND))
        samples = threads.setdefault(track, Samples(slices, track))
        samples.add([slices.frames.number(*_parts(one)) for one in known], time, end)
        time = end
    for samples in threads.values():
        samples.finish()
    if wrong:
        sink.problem("sample without a stack", wrong)


def _parts(told: str) -> tuple[str, str, int]:
    """Name, file and line of a frame, which are told with NUL between them, and the class behind a mark."""
    identifier, *attributes = told.split("\x01")
    name, file, line, *_ = *identifier.split("\x00"), "", "", ""
    owner = next((one[1:] for one in attributes if one.startswith("c") and len(one) > 1), "")
    plain = line.isdecimal() and len(line) < 10
    return f"{owner}.{name}" if owner else name, "" if file.startswith("<built-in") else file, int(line) if plain else 0


def _tree(root: Any, slices: SliceList, sink: Sink) -> None:
    track, wrong = slices.thread("main", "main"), 0
    waiting: list[tuple[Any, int, int]] = [(root, 0, 0)]
    while waiting:
        told, start, depth = waiting.pop()
        if not isinstance(told, dict) or depth >= DEEPEST:
            wrong += 1
            continue
        name, owner, file = (str(told.get(key) or "") for key in ("function", "class_name", "file_path"))
        file = "" if file.startswith("<built-in") else file
        frame = slices.frames.number(f"{owner}.{name}" if owner else name, file, int(number(told.get("line_no"))))
        slices.add(track, depth, start, start + max(0, nanoseconds(told.get("time"), _SECOND)), frame)
        for child in as_list(told.get("children")):
            waiting.append((child, start, depth + 1))
            start += max(0, nanoseconds(child.get("time"), _SECOND)) if isinstance(child, dict) else 0
    if wrong:
        sink.problem("frame that is not understood, or deeper than 2000", wrong)
