"""A shared copy answers what the server answers: the same requests, asked of both, over random windows and ranges."""

from __future__ import annotations

import base64
import json
import random
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.timeline_capture import write_timeline

from peephole.share.asking import Asking
from peephole.share.making import make_copy
from peephole.store.capture import open_capture
from peephole.store.writer import CaptureWriter

WEB = Path(__file__).resolve().parent.parent.parent / "web"
HERE = Path(__file__).resolve().parent
ORIGIN = 1_700_000_000_123_456_789


def write_busy(path: Path) -> Path:
    """Lanes of thousands of slices, nested calls, slices that only overlap, counters, buffers."""
    chance = np.random.default_rng(7)
    with CaptureWriter(path) as writer:
        writer.append("tracks", {"id": [0, 1, 2, 3, 4], "name": ["CPU", "main", "other", "temperature", "CPU:1"],
                                 "kind": ["device", "thread", "thread", "counter", "device"]})  # fmt: skip
        for track, many in ((0, 9000), (4, 3000)):
            gap = chance.integers(0, 900, many) * (chance.random(many) < 0.8)
            dur = chance.integers(0, 5000, many)
            start = ORIGIN + np.cumsum(gap + np.append(0, dur[:-1]))
            names = [f"kernel {code}" for code in chance.integers(0, 30, many)]
            args = [json.dumps({"flops": int(code)}) if code % 3 else None for code in chance.integers(1, 40, many)]
            writer.append("slices", {"track": [track] * many, "start": start, "dur": dur, "name": names, "args": args})
        outer = ORIGIN + np.arange(400) * 60_000
        writer.append("slices", {"track": [1] * 400, "start": outer, "dur": [50_000] * 400, "name": ["step"] * 400})
        inner = np.repeat(outer, 4) + np.tile(np.arange(4) * 12_000, 400) + chance.integers(0, 3000, 1600)
        length, calls = chance.integers(1, 11_000, 1600), [f"f{code}" for code in chance.integers(0, 9, 1600)]
        writer.append(
            "slices", {"track": [1] * 1600, "depth": [1] * 1600, "start": inner, "dur": length, "name": calls}
        )
        deep = {"track": [1] * 1600, "depth": [2] * 1600, "start": inner + length // 4, "dur": length // 2}
        writer.append("slices", {**deep, "name": calls[::-1]})
        # reaches over the end of what is above it: no call, it stands beside
        writer.append("slices", {"track": [2, 2], "depth": [0, 1], "start": [ORIGIN, ORIGIN + 500], "dur": [1000, 1000],
                                 "name": ["first", "second"]})  # fmt: skip
        time = ORIGIN + np.sort(chance.integers(0, 20_000_000, 900))
        writer.append("counters", {"track": [3] * 900, "time": time, "value": chance.random(900) * 90})
        alloc = ORIGIN + np.sort(chance.integers(0, 20_000_000, 300))
        free = np.where(chance.random(300) < 0.2, -1, alloc + chance.integers(1, 6_000_000, 300))
        size = chance.integers(16, 1 << 20, 300)
        writer.append("buffers", {"id": np.arange(300), "device": ["CPU"] * 300, "alloc": alloc, "free": free,
                                  "bytes": size, "dtype": ["float"] * 300})  # fmt: skip
        writer.append("markers", {"time": [ORIGIN + 5, ORIGIN + 9_000_000], "name": ["begin", "middle"]})
    return path


def requests(asking: Asking, chance: random.Random) -> list[str]:
    """What a reader may ask who looks around."""
    whole = json.loads(asking.get("timeline") or b"")
    span, tracks = whole["span"], whole["tracks"]
    lanes = [(track, depth) for track, own in zip(tracks["id"], tracks["depths"], strict=True) for depth in own]
    counters = [str(id) for id, kind in zip(tracks["id"], tracks["kind"], strict=True) if kind == "counter"]
    devices = [one["name"] for one in json.loads(asking.get("memory") or b'{"devices":[]}')["devices"]]
    names = json.loads(asking.get("timeline/names?first=0") or b"")["text"]
    found = ["timeline/gaps", "timeline/range", "timeline/overview?px=700", "calls", "calls?thread=*&mode=inverted",
             "calls?thread=*&place=1", "timeline/flows"]  # fmt: skip
    groups = ("kernels", "copies", "host", "messages")
    found += [f"top?group={group}" for group in groups]
    for _ in range(25):
        a, b = sorted(chance.randrange(-span // 10, span + span // 10) for _ in range(2))
        if chance.random() < 0.5:
            b = a + max(1, (b - a) // chance.choice((10, 1000, 100_000)))
        times, px = f"t0={a}&t1={b}", chance.choice((1, 37, 512, 1600))
        wanted = ",".join(f"{track}:{depth}" for track, depth in lanes)
        found.append(f"timeline/window?{times}&px={px}&lanes={wanted}")
        found.append(f"timeline/series?{times}&px={px}&counters={','.join(counters)}")
        found += [f"timeline/series?{times}&px={px}&counters=&memory={device}" for device in devices]
        found += [f"memory/window?device={device}&{times}&px={px}&v0={a}&v1={b}" for device in devices]
        found += [f"memory/alive?device={device}&time={a}" for device in devices]
        row = chance.randrange(whole["slices"])
        found += [f"timeline/slice?row={row}", f"timeline/links?row={row}"]
        track, depth = chance.choice(lanes)
        found.append(f"timeline/at?track={track}&depth={depth}&time={a}")
    for _ in range(6):
        a, b = sorted(chance.randrange(span) for _ in range(2))
        times, group, name = f"t0={a}&t1={b}", chance.choice(groups[::2]), chance.randrange(len(names))
        found += [f"timeline/range?{times}", f"timeline/gaps?{times}", f"timeline/flows?{times}"]
        found += [f"top?group={group}&{times}", f"top/runs?name={name}&group={group}&{times}"]
        found += [f"calls?{times}", f"calls?mode=inverted&{times}", f"calls?q={names[name].split()[0]}&thread=*"]
        found += [f"calls/slices?name={name}&{times}&thread=*", f"timeline/search?q={names[name].split()[0]}&time={a}"]
        found.append(f"timeline/search?group={group}&name={name}&place={chance.randrange(9)}")
    found += [f"memory/buffers/{chance.randrange(8)}" for _ in range(4 if devices else 0)]
    return found


def answers(copy: Path, paths: list[str]) -> list[tuple[int, bytes]]:
    node = shutil.which("node")
    if node is None or not (WEB / "node_modules").is_dir():
        pytest.skip("needs Node and web/node_modules; `make test` installs them")
    command = [node, str(HERE / "ask_copy.mjs"), str(WEB), str(copy)]
    done = subprocess.run(command, input=json.dumps(paths).encode(), capture_output=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr.decode()[-2000:]
    return [(status, base64.b64decode(body)) for status, body in json.loads(done.stdout)]


def value(body: bytes) -> Any:
    """A reply as it is read: JSON, or a head and its arrays."""
    if body[:1] in (b"{", b"["):
        return json.loads(body)
    size = int.from_bytes(body[:4], "little")
    head = json.loads(body[4 : 4 + size])
    head.pop("generation", None)
    return head, body[4 + size :]


def rounded(found: Any) -> Any:
    """Without the last bit of figures that are sums of floats, which depend on the order of adding."""
    if isinstance(found, dict):
        return {key: rounded(one) for key, one in found.items()}
    if isinstance(found, list):
        return [rounded(one) for one in found]
    return float(f"{found:.9g}") if isinstance(found, float) else found


def same(path: str, ours: bytes, theirs: bytes) -> bool:
    a, b = value(ours), value(theirs)
    if isinstance(a, tuple):
        if rounded(a[0]) != rounded(b[0]) or len(a[1]) != len(b[1]):
            return False
        if a[1] == b[1]:
            return True
        # means and shares: f64 or f32, equal but for the last bits
        kind = "<f4" if path.startswith("timeline/overview") else "<f8"
        return bool(np.allclose(np.frombuffer(a[1], kind), np.frombuffer(b[1], kind), rtol=1e-6, atol=1e-6))
    if path.startswith("timeline/search"):
        b.pop("near"), a.pop("near")  # near names are not looked for in a copy
    if path.startswith("timeline/gaps"):  # of equally long gaps, either shows those that it came to first
        return bool(a["tracks"] == b["tracks"] and [g["dur"] for g in a["gaps"]] == [g["dur"] for g in b["gaps"]])
    return bool(rounded(a) == rounded(b))


@pytest.mark.parametrize("make", [write_timeline, write_busy], ids=["by hand", "by chance"])
def test_a_copy_answers_like_the_server(tmp_path: Path, make: Any) -> None:
    capture = open_capture(make(tmp_path / "it.peep"))
    made = make_copy(capture, tmp_path / "it.html", None, None, 20_000_000)
    assert {"timeline", "calls", "top", "memory"} <= set(made.views)
    with Asking(capture.path, "it") as asking:
        paths = requests(asking, random.Random(11))
        expected = [asking.get(path) for path in paths]
    found = answers(tmp_path / "it.html", paths)
    wrong = [
        f"{path}: {body[:600]!r} is not {(wanted or b'a refusal')[:600]!r}"
        for path, (status, body), wanted in zip(paths, found, expected, strict=True)
        if (status == 200) != (wanted is not None) or (wanted is not None and not same(path, body, wanted))
    ]
    assert not wrong, f"{len(wrong)} of {len(paths)}: " + "\n".join(wrong[:20])
