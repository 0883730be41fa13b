"""A program that clears tinygrad's lists, as tinygrad's own tests do, is recorded like any other."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from tests.sources.tinygrad.runs import ROOT, environment, run, under_peephole

from peephole.sources.tinygrad.live.lists import Reader
from peephole.store.capture import Capture, open_capture

EVENTS = """
from tinygrad import Tensor
from tinygrad.device import Buffer, Compiled
from tinygrad.helpers import cpu_events, profile_marker
held = [Tensor([1.0, 2, 3]).realize()]
for n in range(30):
    for events in (cpu_events, Buffer.profile_events, Compiled.profile_events): events.clear()
    profile_marker(f"run {n}")
    held.append((held[-1] + n).realize())
    assert any(event.name == "marker" for event in cpu_events)
assert held[-1].tolist() == [436, 437, 438]
"""

# as tinygrad's test_viz.py clears them: names begin at n1 again, so that contexts of one name come again and again
CONTEXTS = """
from tinygrad import Tensor
from tinygrad.device import Buffer
from tinygrad.helpers import NOOPT, Context, cpu_events
from tinygrad.uop.ops import tracked_keys, tracked_ctxs, active_rewrites, active_group, _name_cnt, uop_fields
SETUP
NOOPT.value = 1
made = []
for n in range(3, 43):
    for some in (tracked_keys, tracked_ctxs, active_rewrites, active_group, _name_cnt): some.clear()
    for some in (cpu_events, Buffer.profile_events): some.clear()
    if n % 3 == 0: uop_fields.clear()
    with Context(VIZ=-1, TRACK_MATCH_STATS=2, PROFILE=1): made.append((Tensor([1.0] * n) + 1).realize())
    assert len(tracked_keys) == len(tracked_ctxs) > 2, tracked_keys
    assert all(step.sink in uop_fields for steps in tracked_ctxs for step in steps) or n % 3 == 0
"""


def wrong_links(capture: Capture) -> list[tuple[str, str]]:
    """Slices that lead to a context of another kernel, or to one whose code is another's."""
    contexts, slices, artifacts = (capture.read(table) for table in ("contexts", "slices", "artifacts"))
    names = {int(contexts["id"][i]): contexts.texts("name")[i] or "" for i in range(len(contexts))}
    listed = {
        int(artifacts["context"][i]): (artifacts.blobs("content")[i] or b"").decode()
        for i in range(len(artifacts))
        if artifacts.texts("kind")[i] == "oplist"
    }
    wrong = []
    for i in range(len(slices)):
        context, title = int(slices["context"][i]), slices.texts("name")[i] or ""
        if context < 0:
            continue
        name = names[context]
        if title not in (name, f"do_to_program for {name}"):
            wrong.append((title, name))
        size = name.removeprefix("E_")
        if name.startswith("E_") and size.isdigit() and context in listed and f" {size}" not in listed[context]:
            wrong.append((title, listed[context]))
    return wrong


def kernels(capture: Capture) -> list[str]:
    """The names of the kernels that ran and lead to their context, in order."""
    slices, tracks = capture.read("slices"), capture.read("tracks")
    track = next(int(tracks["id"][i]) for i in range(len(tracks)) if tracks.texts("name")[i] == "PYTHON")
    found = [i for i in range(len(slices)) if slices["track"][i] == track and slices["context"][i] >= 0]
    return [slices.texts("name")[i] or "" for i in sorted(found, key=lambda i: int(slices["start"][i]))]


def test_contexts_that_a_program_clears_are_recorded(tmp_path: Path) -> None:
    capture = under_peephole(tmp_path / "live", CONTEXTS.replace("SETUP", ""), "PYTHON")
    assert capture.manifest.problems == []
    contexts, steps = capture.read("contexts"), capture.read("steps")
    assert Counter(contexts.texts("kind")) == {"callify": 40, "schedule": 40, "kernel": 40}
    assert (contexts["dur"] > 0).all() and len(set(contexts["id"].tolist())) == 120
    assert kernels(capture) == [f"E_{n}" for n in range(3, 43)]
    assert wrong_links(capture) == []
    known = set(capture.read("nodes")["id"].tolist())
    assert set(steps["root"].tolist()) <= known and (steps["dur"] >= 0).mean() > 0.8
    matches = capture.read("matches")
    assert set(matches["before"].tolist()) | set(matches["after"].tolist()) <= known


def test_lists_that_others_had_first_lead_nowhere_wrong(tmp_path: Path) -> None:
    """tinygrad and its lists were there before the recording: what is cleared between two looks is not seen."""
    folder = tmp_path / "late"
    folder.mkdir()
    script, path = folder / "program.py", folder / "late.peep"
    late = f"import peephole, time; made = (Tensor([1.0] * 2) + 1).realize(); of = peephole.record({str(path)!r})"
    begin = late + "; of.__enter__()"
    slow = CONTEXTS.replace("SETUP", begin).replace(", tracked_keys\n", "\n    if n > 37: time.sleep(0.3)\n")
    script.write_text(slow + "of.__exit__(None, None, None)\n")
    run([sys.executable, script], environment(folder, "PYTHON"))
    capture = open_capture(path)
    assert wrong_links(capture) == []
    found = kernels(capture)
    assert found == sorted(found, key=lambda name: int(name[2:])) and len(set(found)) == len(found)
    assert {"E_38", "E_39", "E_40", "E_41", "E_42"} <= set(found)


def test_tinygrads_own_test_of_its_viewer(tmp_path: Path) -> None:
    """Out of a checkout of tinygrad, where there is one: TINYGRAD_CHECKOUT names it."""
    checkout = os.environ.get("TINYGRAD_CHECKOUT", "")
    if not Path(checkout, "test/null/test_viz.py").is_file():
        pytest.skip("TINYGRAD_CHECKOUT names no checkout of tinygrad")
    env = environment(tmp_path, "NULL") | {"PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{checkout}"}
    path = tmp_path / "viz.peep"
    words = [sys.executable, "-m", "peephole", "run", "-o", str(path), "-m", "pytest", "-q", "-n", "0"]
    subprocess.run([*words, "-p", "no:cacheprovider", "test/null/test_viz.py"], check=True, env=env, cwd=checkout)
    capture = open_capture(path)
    assert capture.manifest.problems == []
    assert len(capture.read("contexts")) > 150


def test_events_that_a_program_clears_are_recorded(tmp_path: Path) -> None:
    capture = under_peephole(tmp_path / "live", EVENTS, "PYTHON")
    assert capture.manifest.problems == []
    markers, slices, buffers, uses = (capture.read(table) for table in ("markers", "slices", "buffers", "uses"))
    assert [text for text in markers.texts("name") if text and text.startswith("run")] == [
        f"run {n}" for n in range(30)
    ]
    tracks = capture.read("tracks")
    track = next(int(tracks["id"][i]) for i in range(len(tracks)) if tracks.texts("name")[i] == "PYTHON")
    kernels = [i for i in range(len(slices)) if slices["track"][i] == track and slices["correlation"][i]]
    assert len(kernels) == 30
    # each run reads what the one before it wrote, although tinygrad would number its buffers from 0 again each time
    used: dict[int, dict[str, int]] = {}
    for i in range(len(uses)):
        used.setdefault(int(uses["slice"][i]), {})[uses.texts("mode")[i] or ""] = int(uses["buffer"][i])
    runs = sorted(kernels, key=lambda i: int(slices["start"][i]))
    chain = [used[int(slices["correlation"][i])] for i in runs]
    assert [one["read"] for one in chain[1:]] == [one["write"] for one in chain[:-1]]
    assert len({one["write"] for one in chain}) == 30 and len(set(buffers["id"].tolist())) == len(buffers)


def test_another_list_in_its_place_is_read_after_it() -> None:
    place = {"list": ["a"]}
    reader = Reader(lambda: place["list"], behind=False)
    place["list"] += ["b"]
    place["list"] = ["c"]
    end = reader.end()
    place["list"].append("d")
    assert reader.between(end) == reader.take(end) == ["a", "b", "c"]
    assert reader.take(reader.end()) == ["d"]
    assert reader.take(reader.end()) == []


def test_a_list_that_was_cleared_is_never_taken_for_what_it_was() -> None:
    plain: list[object] = [object(), object()]
    first = list(plain)
    reader = Reader(lambda: plain, behind=False)
    assert reader.take(reader.end()) == first
    plain.clear()
    plain += [object(), object(), object()]  # longer than it was
    assert reader.take(reader.end()) == plain
    plain.clear()
    plain.append(object())
    assert reader.take(reader.end()) == plain
    later = Reader(lambda: plain, behind=True)
    plain.append(object())
    assert later.take(later.end()) == plain[1:]
