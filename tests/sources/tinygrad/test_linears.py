"""What ran on which buffers, out of VIZ's files: kernels of one name, the planner's buffer, several devices."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.sources.tinygrad.runs import content, under_peephole, under_viz
from tests.sources.tinygrad.test_live import device_params

from peephole.ingest import import_files
from peephole.store.capture import Capture, open_capture

# Kernels of one name that do different things, in schedules, in a JIT and in another one; what lies between two kernels
# is a part of one buffer for all of it. Then two devices, and a part of a buffer that is the program's own.
PROGRAM = """
from tinygrad import Device, Tensor, TinyJit, Variable

x = Tensor([1.0, 2, 3, 4]).contiguous().realize()
y = Tensor([5.0, 6, 7, 8]).contiguous().realize()

def chain(a, b):
    c = (a + b).contiguous()
    d = (c * 2).contiguous()
    e = (d - a).contiguous()
    return (e * c).contiguous()

@TinyJit
def first(a, b):
    return chain(a, b).realize()

@TinyJit
def second(a, b):
    return (chain(b, a).contiguous() + chain(a, a)).realize()

for i in range(4):
    chain(x, y).realize()
    one = first(x, y)
    two = second(x, y)

devices = (Device.DEFAULT, Device.DEFAULT + ":1")
chain(x.shard(devices, axis=0), y.shard(devices, axis=0)).realize()
chain(x[:2], y[2:]).realize()
size = Variable("size", 1, 4).bind(3)
chain(x[:size], y[:size]).sum().realize()
if Device.DEFAULT != "NULL":
    assert one.tolist() == [66.0, 112.0, 170.0, 240.0]
"""


@pytest.mark.parametrize("device", device_params())
def test_runs_and_buffers_are_those_of_a_recording(tmp_path: Path, device: str) -> None:
    viz = under_viz(tmp_path / "viz", PROGRAM, device)
    live = under_peephole(tmp_path / "live", PROGRAM, device)
    ours, theirs = content(live, str(tmp_path / "live")), content(viz, str(tmp_path / "viz"))
    for table in ("buffers", "slices", "uses"):
        assert theirs[table] == ours[table], table
    if device != "NULL":  # there a JIT is one batch
        same_names_are_told_apart(viz, device)
    the_planners_buffer_is_shared(viz)


def same_names_are_told_apart(capture: Capture, device: str) -> None:
    tracks, slices = capture.read("tracks"), capture.read("slices")
    own = [int(tracks["id"][i]) for i in range(len(tracks)) if tracks.texts("name")[i] in (device, f"{device}:1")]
    contexts: dict[str | None, list[int]] = {}
    for i in range(len(slices)):
        if int(slices["track"][i]) in own and slices.texts("name")[i] != "E":  # the CPU device's own, when it starts
            contexts.setdefault(slices.texts("name")[i], []).append(int(slices["context"][i]))
    assert all(context >= 0 for found in contexts.values() for context in found), contexts
    assert max(len(set(found)) for found in contexts.values()) >= 3
    assert max(len(found) for found in contexts.values()) >= 16


def the_planners_buffer_is_shared(capture: Capture) -> None:
    buffers, uses = capture.read("buffers"), capture.read("uses")
    arenas = {int(buffers["id"][i]) for i in range(len(buffers)) if buffers.texts("dtype")[i] == "dtypes.char"}
    modes = {uses.texts("mode")[i] for i in range(len(uses)) if int(uses["buffer"][i]) in arenas}
    assert len(arenas) >= 3 and modes >= {"read", "write"}


def test_a_profile_alone_claims_no_buffer_that_it_cannot_know(tmp_path: Path) -> None:
    """Each use that it has is one that the whole capture has too."""
    whole = under_viz(tmp_path / "viz", PROGRAM, "PYTHON")
    profile = next((tmp_path / "viz").glob("profile.pkl.*"))
    alone = tmp_path / "alone" / "run"
    alone.parent.mkdir()
    alone.write_bytes(profile.read_bytes())  # by another name, so that its sibling is not found
    part = open_capture(import_files([alone], tmp_path / "alone.peep"))
    known, claimed = uses_of(whole), uses_of(part)
    assert claimed and claimed <= known
    assert len(claimed) < len(known)


def uses_of(capture: Capture) -> set[tuple[int, int, str | None, int]]:
    slices, uses = capture.read("slices"), capture.read("uses")
    starts = dict(zip(slices["correlation"].tolist(), slices["start"].tolist(), strict=True))
    return {
        (int(uses["buffer"][i]), starts[int(uses["slice"][i])], uses.texts("mode")[i], int(uses["position"][i]))
        for i in range(len(uses))
    }


@pytest.mark.parametrize("device", device_params())
def test_a_kernel_of_tinygrads_own_is_not_the_users_of_that_name(tmp_path: Path, device: str) -> None:
    program = """
from tinygrad import Tensor
Tensor.full((1,), 5.0).contiguous().realize()
"""
    viz = under_viz(tmp_path / "viz", program, device)
    live = under_peephole(tmp_path / "live", program, device)
    for capture in (viz, live):
        tracks, slices = capture.read("tracks"), capture.read("slices")
        own = tracks["id"][list(tracks.texts("name")).index(device)]
        ran = [int(slices["context"][i]) for i in range(len(slices)) if slices["track"][i] == own]
        assert [context >= 0 for context in ran] == ([True, False] if device == "CPU" else [True]), ran
    ours, theirs = content(live, str(tmp_path / "live")), content(viz, str(tmp_path / "viz"))
    assert theirs["slices"] == ours["slices"]
