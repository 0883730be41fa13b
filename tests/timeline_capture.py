"""A small capture of a run on two devices, made by hand: every number in it is known to the tests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from peephole.store.writer import CaptureWriter

ORIGIN = 1_700_000_000_000_000_000
"""An epoch in ns: larger than what a JavaScript number holds exactly."""
MS = 1_000_000
KERNELS = ("r_16_32_2_4_4_512_128_4", "r_16_384_2_4_64_64_16_4", "E_16384_4")
STEPS = 6


def rows() -> dict[str, list[Any]]:
    """The slices, in no special order."""
    out: dict[str, list[Any]] = {
        name: [] for name in ("track", "depth", "start", "dur", "name", "context", "correlation", "args")
    }

    def add(track: int, depth: int, start: int, dur: int, name: str, **more: Any) -> None:
        values = {"context": -1, "correlation": 0, "args": None, **more}
        for column, value in zip(
            ("track", "depth", "start", "dur", "name"), (track, depth, ORIGIN + start, dur, name), strict=True
        ):
            out[column].append(value)
        for column, value in values.items():
            out[column].append(value)

    number = 1
    for step in range(STEPS):
        begin = step * 20 * MS
        add(1, 0, begin, 19 * MS, "train step")
        add(2, 0, begin, 10 * MS, "do_to_program for r_512_16_4")
        add(2, 1, begin + MS, 2 * MS, "simplify ranges")
        add(2, 1, begin + 4 * MS, 3 * MS, "linearize/render")
        for device in (0, 1):
            args = json.dumps({"flops": 1.36e12, "bytes_per_s": 0.16e9})
            more = {"context": 0, "correlation": number, "args": args}
            add(3 + device, 0, begin + device * 1000, 6 * MS + step, KERNELS[0], **more)
            add(3 + device, 0, begin + 7 * MS, 5 * MS, KERNELS[1], context=1, correlation=number + 1)
            for small in range(40):
                add(3 + device, 0, begin + 13 * MS + small * 20_000, 12_000, KERNELS[2])
            size = json.dumps({"bytes": 1000})
            add(5 + device, 0, begin + 6 * MS + 200_000, 300_000, "copy", correlation=number + 2, args=size)
            number += 3
    return out


def write_timeline(path: Path) -> Path:
    """Two devices with a copy queue each, USER and TINY, markers, flows, buffers and a counter."""
    with CaptureWriter(path) as writer:
        writer.describe(name="steps", source="test", program="train.py", frameworks={"tinygrad": "0.14.0"})
        names = ["GC", "USER", "TINY", "CPU", "CPU:1", "CPU:COPY", "CPU:1:COPY", "watts"]
        kinds = ["gc", "user", "tiny", "device", "device", "copy", "copy", "counter"]
        tracks = {"id": list(range(8)), "name": names, "kind": kinds, "order": list(range(8))}
        writer.append("tracks", {**tracks, "unit": [None] * 7 + ["W"]})
        writer.append("slices", rows())
        writer.append(
            "markers",
            {
                "time": [ORIGIN + step * 20 * MS for step in range(STEPS)],
                "name": [f"train @ {step}" for step in range(STEPS)],
                "kind": ["marker"] * STEPS,
                "track": [-1] * STEPS,
            },
        )
        # each large kernel sends a copy to the other device's next kernel
        flows: dict[str, list[int]] = {"from": [], "to": []}
        uses: dict[str, list[Any]] = {"buffer": [], "slice": [], "mode": [], "position": []}
        for step in range(STEPS):
            one, two = 6 * step + 1, 6 * step + 4
            flows["from"] += [one + 2, two + 2]
            flows["to"] += [two + 1, one + 1]
            uses["buffer"] += [1, 2]
            uses["slice"] += [one, one]
            uses["mode"] += ["write", "read"]
            uses["position"] += [0, 1]
        writer.append("flows", {**flows, "bytes": [1000] * 12, "kind": ["transfer"] * 12})
        writer.append("uses", uses)
        writer.append(
            "buffers",
            {
                "id": [1, 2, 3],
                "device": ["CPU", "CPU", "CPU:1"],
                "alloc": [ORIGIN, ORIGIN + 5 * MS, ORIGIN + 10 * MS],
                "free": [-1, ORIGIN + 60 * MS, ORIGIN + 100 * MS],
                "bytes": [196_600, 787_700, 32_800],
                "dtype": ["float"] * 3,
                "name": ["", "", ""],
            },
        )
        writer.append(
            "counters",
            {"track": [7] * 4, "time": [ORIGIN + at * 20 * MS for at in range(4)], "value": [10.0, 80.0, 40.0, 20.0]},
        )
        stack = json.dumps([["/prog/train.py", 35, "step", "loss.backward()"]])
        contexts = {"id": [0, 1], "name": list(KERNELS[:2]), "kind": ["kernel"] * 2, "parent": [-1, -1]}
        writer.append("contexts", {**contexts, "function": [""] * 2, "keys": ["[]"] * 2, "stack": [stack, "[]"]})
        code = {"context": [0], "step": [-1], "kind": ["source"], "language": ["c"], "name": [KERNELS[0]]}
        writer.append("artifacts", {**code, "content": [b"void kernel(float* a) {}"]})
    return path
