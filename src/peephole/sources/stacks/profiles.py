"""speedscope, .cpuprofile, folded stacks and perf script, each to slices."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from typing import Any, Final

from peephole.model.sink import Sink
from peephole.sources.stacks.pyinstrument import read_pyinstrument
from peephole.sources.stacks.sampled import Frames, Samples, SliceList
from peephole.sources.stacks.values import DEEPEST, FURTHEST, SAMPLED, as_list, json_object, nanoseconds, number

_NS: Final = {"nanoseconds": 1, "microseconds": 1000, "milliseconds": 10**6, "seconds": 10**9}
_SAMPLE: Final = 10**6
"""Nanoseconds that a sample without a time is shown as."""
_PERF_HEAD: Final = re.compile(
    r"(?P<comm>\S.*?)\s+(?P<pid>-?\d+)(?:/(?P<tid>-?\d+))?\s+(?:\[\d+\]\s+)?(?P<s>\d+)\.(?P<f>\d+):\s*(?P<rest>.*)"
)
_PERF_FRAME: Final = re.compile(
    r"\s+[0-9a-fA-F]+\s+(?P<name>.*?)(?:\+0x[0-9a-fA-F]+)?(?:\s+\((?P<file>[^()]*(?: \(deleted\))?)\))?\s*"
)
_PERF_ALONE: Final = re.compile(r".*?\S:(?P<frame>\s+[0-9a-fA-F]+\s.*\([^()]*\))\s*")
"""What follows the time of a sample without callers: its period, its event, its only frame."""
_PERF_PLACE: Final = re.compile(r"\s+(?P<file>\S.*):(?P<line>\d{1,9})|\s+\S.*\[[0-9a-f]+\]")
"""The line below a frame that says where it is in the source, or that this is not known."""
_FOLDED: Final = re.compile(r"(?P<stack>.*)\s(?P<count>\d{1,15}(?:\.\d+)?)\s*")
_PLACE: Final = re.compile(r"(?P<name>.+?) \((?P<file>[^()]*):(?P<line>\d+)\)")


def read_speedscope(data: bytes, sink: Sink, where: str) -> None:
    """Profiles of stacks that were sampled, or of begins and ends; a track each."""
    value = json_object(data, where)
    shared = value.get("shared")
    frames, numbers = Frames(), []
    for frame in as_list(shared.get("frames") if isinstance(shared, dict) else None):
        own = frame if isinstance(frame, dict) else {}
        numbers.append(
            frames.number(str(own.get("name", "")), str(own.get("file") or ""), int(number(own.get("line"))))
        )
    slices, sampled = SliceList(frames), False
    for at, profile in enumerate(as_list(value.get("profiles"))):
        if not isinstance(profile, dict):
            continue
        unit = _NS.get(str(profile.get("unit")), 0)
        if not unit:
            unit = _SAMPLE if profile.get("unit") == "none" else 1
            sink.problem(f"profile whose unit is {str(profile.get('unit'))[:40]}, shown as time")
        track = slices.thread(at, str(profile.get("name") or f"profile {at}"))
        if profile.get("type") == "evented":
            _evented(profile, slices, track, numbers, unit, sink)
        else:
            _sampled(profile, slices, track, numbers, unit, sink)
            sampled = True
    slices.append_to(sink)
    exporter = value.get("exporter")
    sink.describe(clocks={"unit": "profile"}, frameworks={str(exporter).partition("@")[0]: ""} if exporter else {})
    # pyinstrument writes what it sampled as events, and our own export what was exact as samples
    if (sampled and exporter != "peephole") or str(exporter).startswith("pyinstrument"):
        sink.describe(**SAMPLED)


def _sampled(profile: Any, slices: SliceList, track: int, numbers: list[int], unit: int, sink: Sink) -> None:
    samples, time, wrong = Samples(slices, track), nanoseconds(profile.get("startValue"), unit), 0
    weights = as_list(profile.get("weights"))
    for at, stack in enumerate(as_list(profile.get("samples"))):
        took = max(0, nanoseconds(weights[at], unit)) if at < len(weights) else 0
        known = [numbers[f] for f in as_list(stack)[:DEEPEST] if type(f) is int and 0 <= f < len(numbers)]
        wrong += len(known) < min(len(as_list(stack)), DEEPEST)
        samples.add(known, time, time + took)
        time += took
    samples.finish()
    if wrong:
        sink.problem("sample with frames that are not there", wrong)


def _evented(profile: Any, slices: SliceList, track: int, numbers: list[int], unit: int, sink: Sink) -> None:
    open_: list[tuple[int, int]] = []
    last, lone = nanoseconds(profile.get("startValue"), unit), 0
    for event in as_list(profile.get("events")):
        frame = event.get("frame") if isinstance(event, dict) else None
        if type(frame) is not int or not 0 <= frame < len(numbers):
            lone += 1
            continue
        last = max(last, nanoseconds(event.get("at"), unit))
        if event.get("type") == "O" and len(open_) < DEEPEST:
            open_.append((numbers[frame], last))
        elif open_ and open_[-1][0] == numbers[frame]:
            _, start = open_.pop()
            slices.add(track, len(open_), start, last, numbers[frame])
        else:
            lone += 1
    if lone:
        sink.problem("event that is not understood, or an end without a begin", lone)
    if open_:
        sink.problem("slice that was still open at the end", len(open_))
    while open_:
        frame, start = open_.pop()
        slices.add(track, len(open_), start, last, frame)


def read_cpuprofile(data: bytes, sink: Sink, where: str) -> None:
    """Samples of V8: each lasts until the next."""
    value = json_object(data, where)
    old = isinstance(value.get("head"), dict)
    frames, nodes, parents = Frames(), {}, {}
    for node in _older_nodes(value["head"]) if old else as_list(value.get("nodes")):
        if not isinstance(node, dict) or type(node.get("id")) is not int:
            continue
        told = node.get("callFrame")
        call: dict[str, Any] = told if isinstance(told, dict) else {}
        line = int(number(call.get("lineNumber", -1))) + 1
        nodes[node["id"]] = frames.number(str(call.get("functionName") or ""), str(call.get("url") or ""), line)
        for child in as_list(node.get("children")):
            if type(child) is int:
                parents[child] = node["id"]
        if type(node.get("parent")) is int:
            parents[node["id"]] = node["parent"]
    slices = SliceList(frames)
    track = slices.thread(0, "main")
    unit = 10**9 if old else 1000
    span = nanoseconds(number(value.get("endTime")) - number(value.get("startTime")), unit)
    moments = list(zip(_sample_times(value, span), as_list(value.get("samples")), strict=True))
    moments.sort(key=lambda moment: moment[0])  # a difference may be negative
    samples, unknown = Samples(slices, track), 0
    for at, (start, node) in enumerate(moments):
        stack: list[int] = []
        node = node if type(node) is int else -1
        while node in nodes and len(stack) < DEEPEST:
            stack.append(nodes[node])
            node = parents.get(node, -1)
        unknown += not stack
        end = moments[at + 1][0] if at + 1 < len(moments) else max(start, span)
        samples.add(stack[::-1][1:] or stack, start, end)  # without V8's (root)
    samples.finish()
    if unknown:
        sink.problem("sample of a node that is not there", unknown)
    slices.append_to(sink)
    begun = number(value.get("startTime")) * (10**6 if old else 1)
    sink.describe(clocks={"unit": "profile", "start_us": begun}, frameworks={"v8": ""}, **SAMPLED)


def _sample_times(value: dict[str, Any], span: int) -> list[int]:
    """When each sample was taken: by differences, by times of older files, or evenly in those that have neither."""
    count = len(as_list(value.get("samples")))
    told = as_list(value.get("timestamps"))[:count]
    if told:
        times = [nanoseconds(number(one) - number(told[0]), 1000) for one in told]
        return times + times[-1:] * (count - len(times))
    deltas = as_list(value.get("timeDeltas"))[:count]
    if not deltas:
        return [span * at // count for at in range(count)]
    times = list(itertools.accumulate(nanoseconds(one, 1000) for one in deltas))
    return times + times[-1:] * (count - len(times))


def _older_nodes(head: dict[str, Any]) -> list[dict[str, Any]]:
    """The nodes of a file whose tree is nested, as newer ones list them; its lines begin at 1."""
    found: list[dict[str, Any]] = []
    waiting = [head]
    while waiting:
        node = waiting.pop()
        children = [child for child in as_list(node.get("children")) if isinstance(child, dict)]
        line = int(number(node.get("lineNumber"))) - 1
        call = {"functionName": node.get("functionName"), "url": node.get("url"), "lineNumber": line}
        found.append({"id": node.get("id"), "callFrame": call, "children": [child.get("id") for child in children]})
        waiting += children
    return found


def read_folded(data: bytes, sink: Sink, _where: str) -> None:
    """Stacks with how often they were seen: laid side by side, equal ones together, since their times are not known."""
    found: dict[tuple[str, ...], float] = {}
    wrong = nowhere = 0
    for line in data.decode("utf-8", "replace").splitlines():
        if not line.strip():
            continue
        told = _FOLDED.fullmatch(line)
        if told is None:
            wrong += 1
            continue
        stack, count = told["stack"].rstrip(), told["count"]
        if not stack:
            nowhere += round(float(count))
            continue
        key = tuple(stack.split(";")[:DEEPEST])
        found[key] = found.get(key, 0) + float(count)
    frames = Frames()
    slices = SliceList(frames)
    samples, time = Samples(slices, slices.thread(0, "samples")), 0
    for key in sorted(found):
        took = min(round(found[key] * _SAMPLE), FURTHEST)
        placed = (_PLACE.fullmatch(name) for name in key)
        stack_numbers = [
            frames.number(match["name"], match["file"], int(match["line"][:9])) if match else frames.number(name)
            for match, name in zip(placed, key, strict=True)
        ]
        samples.add(stack_numbers, time, time + took)
        time = min(time + took, FURTHEST)
    samples.finish()
    if wrong:
        sink.problem("line that is no stack with a number", wrong)
    if nowhere:
        sink.problem("sample without a stack", nowhere)
    slices.append_to(sink)
    sink.describe(clocks={"unit": "samples, shown as a millisecond each"}, **SAMPLED)


def read_perf(data: bytes, sink: Sink, _where: str) -> None:
    """Samples of threads with their times: each lasts until the thread's next, at most as long as usual."""
    frames = Frames()
    slices = SliceList(frames)
    found: dict[int, list[tuple[int, list[int]]]] = {}
    current: list[int] | None = None
    latest, wrong = "", 0
    for line in data.decode("utf-8", "replace").splitlines():
        if not line.strip():
            current = None
        elif line[0] in " \t" and current is not None:
            if match := _PERF_FRAME.fullmatch(line):
                latest = match["name"].strip() or "[unknown]"
                if len(current) < DEEPEST:
                    current.append(frames.number(latest, match["file"] or ""))
            elif (place := _PERF_PLACE.fullmatch(line)) and current:
                if place["file"]:
                    current[-1] = frames.number(latest, place["file"], int(place["line"]))
            else:
                wrong += 1
        elif head := _PERF_HEAD.fullmatch(line.strip()):
            tid = int((head["tid"] or head["pid"])[:10])
            pid = int(head["pid"][:10]) if head["tid"] else -1
            track = slices.thread(tid, f"{head['comm']} ({tid})", pid)
            time = int(head["s"][:9]) * 10**9 + int(head["f"][:9].ljust(9, "0"))
            current = []
            found.setdefault(track, []).append((time, current))
            if (alone := _PERF_ALONE.fullmatch(head["rest"])) and (match := _PERF_FRAME.fullmatch(alone["frame"])):
                current.append(frames.number(match["name"].strip() or "[unknown]", match["file"] or ""))
                current = None  # nothing of it is below
        elif not line.startswith("#"):
            wrong += 1
    first = min((time for rows in found.values() for time, _ in rows), default=0)
    for track, rows in found.items():
        rows.sort(key=lambda row: row[0])
        gaps = sorted(b[0] - a[0] for a, b in itertools.pairwise(rows))
        usual = gaps[len(gaps) // 2] if gaps else _SAMPLE
        samples = Samples(slices, track)
        for at, (time, stack) in enumerate(rows):
            following = rows[at + 1][0] if at + 1 < len(rows) else time + usual
            samples.add(stack[::-1], time - first, min(following, time + 2 * usual) - first)
        samples.finish()
    if wrong:
        sink.problem("line that is not understood", wrong)
    slices.append_to(sink)
    sink.describe(clocks={"unit": "boot", "first_ns": first}, frameworks={"perf": ""}, **SAMPLED)


READERS: Final[dict[str, Callable[[bytes, Sink, str], None]]] = {
    "speedscope": read_speedscope,
    "cpuprofile": read_cpuprofile,
    "folded": read_folded,
    "perf": read_perf,
    "pyinstrument": read_pyinstrument,
}
