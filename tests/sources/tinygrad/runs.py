"""Runs a small tinygrad program under VIZ and under Peephole, and puts a capture into comparable form."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from peephole.ingest import import_files
from peephole.store.capture import Capture, open_capture

ROOT = Path(__file__).resolve().parents[3]

PROGRAM = """
from pathlib import Path
from tinygrad import Device, Tensor, TinyJit
from tinygrad.helpers import profile_marker

@TinyJit
def step(x):
    return ((x + 1).sum(axis=0).contiguous() * 2).realize()

data = Tensor([[1.0, 2, 3], [4, 5, 6]]).realize()
for i in range(4):
    profile_marker(f"step {i}", "red")
    step(data)

# copies: from the host, from a file, to another device, from there back, inside a captured JIT, to several devices
other = Device.DEFAULT + ":1"

@TinyJit
def over(x):
    return (x.to(other) * 3).realize()

for i in range(4):
    over(data)
away = data.to(other).realize()
away.to(Device.DEFAULT).realize()
Tensor(Path(__file__)).to(Device.DEFAULT).realize()
Tensor([1.0, 2, 3, 4]).shard((Device.DEFAULT, other)).realize()
if Device.DEFAULT != "NULL":
    assert away.tolist() == [[1, 2, 3], [4, 5, 6]]
"""


def environment(folder: Path, device: str, **more: str) -> dict[str, str]:
    """What a program is run with: its own folders, none of the caller's settings."""
    drop = ("VIZ", "PROFILE", "PEEPHOLE", "PEEPHOLE_CAPTURE", "PEEPHOLE_ONLY", "TRACEMETA", "DEBUG")
    kept = {name: value for name, value in os.environ.items() if name not in drop}
    return {
        **kept,
        "DEV": device,
        "TMPDIR": str(folder),
        "CACHEDB": str(folder / "cache.db"),
        "PYTHONPATH": str(ROOT / "src"),
        "PYTHONHASHSEED": "0",  # tinygrad synchronizes its devices in the order of a set, and allocates on the way
        **more,
    }


def run(command: list[str | Path], env: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """The finished program; its output in the failure when it failed."""
    parts = [str(part) for part in command]
    done = subprocess.run(parts, check=False, env=env, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stdout + done.stderr
    return done


def under_viz(folder: Path, program: str, device: str) -> Capture:
    """The capture made of the pickles that VIZ leaves."""
    folder.mkdir()
    script = folder / "program.py"
    script.write_text(program)
    run([sys.executable, script], environment(folder, device, VIZ="-1"))
    files = sorted(folder.glob("*.pkl.*"))
    assert len(files) == 2
    return open_capture(import_files(files[:1], folder / "viz.peep"))


def under_peephole(folder: Path, program: str, device: str, *options: str) -> Capture:
    """The capture recorded live; no pickle of tinygrad's appears."""
    folder.mkdir()
    script = folder / "program.py"
    script.write_text(program)
    capture = folder / "live.peep"
    run([sys.executable, "-m", "peephole", "run", *options, "-o", capture, script], environment(folder, device))
    assert not list(folder.glob("*.pkl*"))
    return open_capture(capture)


def low(number: Any) -> int:
    """An id without the process that it was recorded in."""
    return int(number) & ((1 << 40) - 1) if number >= 0 else -1


def content(capture: Capture, program: str) -> dict[str, list[Any]]:
    """What a capture says, without times and addresses; files named as if all runs had been in one folder."""

    def name(text: str | None) -> str | None:
        return re.sub(r"slot=-\d{9,}", "slot=ADDRESS", text.replace(program, "PROGRAM")) if text else text

    found: dict[str, list[Any]] = {}
    f = capture.read("contexts", ["id", "name", "kind", "parent", "function", "keys", "stack"])
    found["contexts"] = [
        (low(f["id"][i]), f.texts("name")[i], f.texts("kind")[i], low(f["parent"][i]), f.texts("function")[i],
         f.texts("keys")[i], name(f.texts("stack")[i]))
        for i in range(len(f))
    ]  # fmt: skip
    f = capture.read("steps")
    flags = ("ordinal", "depth", "line", "matches", "bottom_up", "walk", "enter_calls")
    found["steps"] = [
        (low(f["context"][i]), low(f["root"][i]), f.texts("name")[i], f.texts("file")[i], f.texts("error")[i],
         *(int(f[flag][i]) for flag in flags))
        for i in range(len(f))
    ]  # fmt: skip
    step = {int(f["id"][i]): (low(f["context"][i]), int(f["ordinal"][i])) for i in range(len(f))}
    f = capture.read("matches")
    found["matches"] = sorted(
        (step[int(f["step"][i])], int(f["ordinal"][i]), low(f["before"][i]), low(f["after"][i]), f.texts("file")[i],
         int(f["line"][i]))
        for i in range(len(f))
    )  # fmt: skip
    f = capture.read("nodes")
    found["nodes"] = [
        (low(f["id"][i]), f.texts("op")[i], f.texts("dtype")[i], name(f.texts("arg")[i]), f.texts("tag")[i],
         [low(source) for source in f.lists("src")[i]])
        for i in range(len(f))
    ]  # fmt: skip
    found |= _run(capture, name)
    return found


def _run(capture: Capture, name: Any) -> dict[str, list[Any]]:
    tracks = capture.read("tracks")
    titles = {int(tracks["id"][i]): tracks.texts("name")[i] for i in range(len(tracks))}
    f = capture.read("slices")
    rows = []
    carriers = {}
    for i in range(len(f)):
        args = {k: v for k, v in json.loads(f.texts("args")[i] or "{}").items() if "per_s" not in k and k != "flops"}
        track, title = titles[int(f["track"][i])], f.texts("name")[i]
        rows.append((track, title, low(f["context"][i]), name(json.dumps(args, sort_keys=True))))
        if f["correlation"][i]:
            carriers[int(f["correlation"][i])] = (track, title)
    b, u, m = capture.read("buffers"), capture.read("uses"), capture.read("markers")
    # a running program's buffers are numbered by tinygrad's own numbers, those of a file in their order
    turn = {low(b["id"][i]): turn for turn, i in enumerate(sorted(range(len(b)), key=lambda i: int(b["id"][i])))}
    a = capture.read("artifacts")
    return {
        "tracks": sorted(
            (name(tracks.texts("name")[i]), tracks.texts("kind")[i], int(tracks["order"][i]))
            for i in range(len(tracks))
        ),
        "slices": sorted(rows),
        "buffers": sorted(
            (
                turn[low(b["id"][i])],
                name(b.texts("device")[i]),
                int(b["bytes"][i]),
                b.texts("dtype")[i],
                bool(b["free"][i] >= 0),
            )
            for i in range(len(b))
        ),
        "uses": sorted(
            (turn[low(u["buffer"][i])], carriers[int(u["slice"][i])], u.texts("mode")[i], int(u["position"][i]))
            for i in range(len(u))
        ),
        "markers": [(m.texts("name")[i], m.texts("colour")[i]) for i in range(len(m))],
        "artifacts": sorted(
            (low(a["context"][i]), a.texts("kind")[i], a.texts("language")[i], a.blobs("content")[i])
            for i in range(len(a))
        ),
    }
