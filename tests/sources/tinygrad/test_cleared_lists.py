"""A program that clears tinygrad's lists, as tinygrad's own tests do, is recorded like any other."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path

from tests.sources.tinygrad.runs import under_peephole

from peephole.sources.tinygrad.live.kept import KeptList, Reader

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


def test_a_kept_list_is_the_list_that_it_stands_for() -> None:
    kept = KeptList([1, 2])
    kept.append(3)
    kept += [4]
    assert kept == [1, 2, 3, 4] and repr(kept) == "[1, 2, 3, 4]"
    for other in (pickle.loads(pickle.dumps(kept)), copy.copy(kept), copy.deepcopy(kept), kept.copy(), kept[:]):
        assert type(other) is list and other == [1, 2, 3, 4]
    assert kept.pop() == 4 and kept.pop(0) == 1 and kept == [2, 3]


def test_everything_that_was_ever_in_a_list_is_read_once() -> None:
    kept = KeptList(["a", "b"])
    reader = Reader(lambda: kept, behind=False)
    assert reader.take(reader.end()) == ["a", "b"]
    kept.append("c")
    kept.clear()
    kept += ["d", "e"]
    end = reader.end()
    kept.clear()  # after it was looked at, before it is read
    kept.append("f")
    assert reader.between(end) == reader.take(end) == ["c", "d", "e"]
    kept.append("g")
    assert kept.pop() == "g" and kept.pop(0) == "f"
    kept.append("h")
    kept[:] = [one for one in kept if one != "x"]
    kept.extend("ij")
    kept.sort(reverse=True)
    del kept[0]
    assert kept == ["i", "h"]
    assert reader.take(reader.end()) == ["f", "g", "h", "i", "j"]
    assert reader.take(reader.end()) == []


def test_another_list_in_its_place_is_read_after_it() -> None:
    place = {"list": KeptList(["a"])}
    reader = Reader(lambda: place["list"], behind=False)
    place["list"].clear()
    place["list"] += ["b"]
    place["list"] = KeptList(["c"])
    end = reader.end()
    place["list"].clear()
    place["list"].append("d")
    assert reader.take(end) == ["a", "b", "c"]
    assert reader.take(reader.end()) == ["d"]


def test_a_list_that_cannot_be_kept_is_never_taken_for_what_it_was() -> None:
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
