"""Stacks of other profilers: the time of every call path equal to what the file says, by content, odd input."""

from __future__ import annotations

import importlib.metadata
import json
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.capture_rows import rows

from peephole import sources
from peephole.errors import CaptureError, PeepholeError
from peephole.ingest import import_files
from peephole.store.capture import Capture, open_capture

PERF = """# a comment
python  10/11 [001] 100.000100: 1 cycles:
\t    7f01 inner+0x10 (/lib/x.so)
\t    7f02 outer (/bin/python)

python  10/11 [001] 100.000200: 1 cycles:
\t    7f02 outer (/bin/python)

other 12 100.000150: cycles:
\t    7f03 [unknown] ([kernel.kallsyms])

"""


BUSY = """
import sys, time

def inner(until):
    while time.process_time() < until:
        sum(range(1000))

def outer():
    inner(time.process_time() + float(sys.argv[1]))

outer()
"""


PYINSTRUMENT = """
from pyinstrument import Profiler
from pyinstrument.renderers import SpeedscopeRenderer

profiler = Profiler()
with profiler:
    outer()
with open(sys.argv[2], "w") as file:
    file.write(profiler.output(SpeedscopeRenderer()))
"""


def distribution_files(name: str) -> list[Path]:
    """The files of an installed package; none when it is not there."""
    try:
        found = importlib.metadata.files(name) or []
    except importlib.metadata.PackageNotFoundError:
        return []
    return [Path(str(file.locate())) for file in found]


def imported(data: bytes | str, path: Path) -> Capture:
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return open_capture(import_files([path], path.parent / f"{path.name}.peep"))


def own_times(capture: Capture) -> Counter[tuple[str, ...]]:
    """Self time of every call path, over all tracks."""
    found: Counter[tuple[str, ...]] = Counter()
    by_track: dict[int, list[dict[str, Any]]] = {}
    for row in rows(capture, "slices"):
        by_track.setdefault(row["track"], []).append(row)
    for own in by_track.values():
        stack: list[dict[str, Any]] = []
        for row in sorted(own, key=lambda r: (r["start"], r["depth"], r["dur"])):
            while len(stack) > row["depth"]:
                stack.pop()
            assert len(stack) == row["depth"]
            stack.append(row)
            path = tuple(s["name"] for s in stack)
            found[path] += row["dur"]
            if len(path) > 1:
                found[path[:-1]] -= row["dur"]
    return Counter({path: time for path, time in found.items() if time})


def sampled(value: dict[str, Any]) -> Counter[tuple[str, ...]]:
    names = [frame["name"] for frame in value["shared"]["frames"]]
    truth: Counter[tuple[str, ...]] = Counter()
    for profile in value["profiles"]:
        for stack, weight in zip(profile["samples"], profile["weights"], strict=True):
            if stack:  # an empty one is a moment of nothing
                truth[tuple(names[f] for f in stack)] += round(weight * 1e9)
    return truth


@pytest.mark.parametrize("name", ["pyspy.speedscope.json", "x"])
def test_py_spy_as_speedscope(name: str, shared: Any, tmp_path: Path) -> None:
    data = shared("fixtures/formats/pyspy.speedscope.json").read_bytes()
    assert own_times(imported(data, tmp_path / name)) == sampled(json.loads(data))


def evented(value: dict[str, Any]) -> Counter[tuple[str, ...]]:
    """Self time of every call path of begins and ends."""
    names = [frame["name"] for frame in value["shared"]["frames"]]
    truth: Counter[tuple[str, ...]] = Counter()
    for profile in value["profiles"]:
        stack: list[str] = []
        last = 0
        for event in profile["events"]:
            now = max(last, round(event["at"] * 1e9))  # sums of decimals may go back by the last of them
            if stack:
                truth[tuple(stack)] += now - last
            last = now
            if event["type"] == "O":
                stack.append(names[event["frame"]])
            else:
                stack.pop()
    return Counter({path: time for path, time in truth.items() if time})


def folded(data: bytes) -> Counter[tuple[str, ...]]:
    """Self time of every call path of folded stacks, a sample a millisecond."""
    truth: Counter[tuple[str, ...]] = Counter()
    for line in data.decode().splitlines():
        stack, _, count = line.rpartition(" ")
        if not stack:  # a sample that saw nothing
            continue
        truth[tuple(frame.rpartition(" (")[0] or frame for frame in stack.split(";"))] += int(count) * 10**6
    return truth


@pytest.mark.parametrize("name", ["pyinstrument.speedscope.json", "x"])
def test_pyinstrument_as_speedscope(name: str, shared: Any, tmp_path: Path) -> None:
    data = shared("fixtures/formats/pyinstrument.speedscope.json").read_bytes()
    assert own_times(imported(data, tmp_path / name)) == evented(json.loads(data))


def test_what_pyinstrument_writes_now(tmp_path: Path) -> None:
    pytest.importorskip("pyinstrument", reason="needs pyinstrument, which writes begins and ends")
    # not by its command: that shows only what ran first where a sample falls into the loading of the script
    program = BUSY.replace("\nouter()\n", PYINSTRUMENT)
    assert program != BUSY
    (tmp_path / "busy.py").write_text(program)
    out = tmp_path / "profile"
    command = [sys.executable, str(tmp_path / "busy.py"), "0.3", str(out)]
    subprocess.run(command, check=True, capture_output=True, timeout=120)
    found = own_times(open_capture(import_files([out], tmp_path / "c.peep")))
    assert found == evented(json.loads(out.read_text()))
    assert any("inner" in path for path in found)


@pytest.mark.parametrize("form", ["speedscope", "raw"])
def test_what_py_spy_writes_now(form: str, tmp_path: Path) -> None:
    package = next((p for p in distribution_files("py-spy") if p.name == "py-spy"), None)
    if package is None:
        pytest.skip("needs py-spy, which samples stacks")
    (tmp_path / "busy.py").write_text(BUSY)
    out = tmp_path / "profile"
    command = [str(package), "record", "--format", form, "-r", "50", "-o", str(out), "--", sys.executable]
    ran = subprocess.run([*command, tmp_path / "busy.py", "1"], check=False, capture_output=True, timeout=120)
    if not out.exists():
        pytest.skip(f"py-spy may not read another process here: {ran.stderr.decode()[-200:]}")
    data = out.read_bytes()
    capture = open_capture(import_files([out], tmp_path / "c.peep"))
    assert own_times(capture) == (sampled(json.loads(data)) if form == "speedscope" else folded(data))
    assert any("inner" in path[-1] for path in own_times(capture))


def test_our_own_speedscope_and_folded_come_back(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from peephole.cli.main import main
    from peephole.render.collapsed import write_collapsed
    from peephole.render.speedscope import write_speedscope

    frames = [{"name": n, "file": "a.py", "line": 3} for n in "abc"]
    schema = "https://www.speedscope.app/file-format-schema.json"
    value = {"$schema": schema, "shared": {"frames": frames}, "profiles": [
        {"type": "sampled", "name": "t", "unit": "milliseconds", "startValue": 0, "endValue": 9,
         "samples": [[0, 1], [0, 1, 2], [0]], "weights": [2, 3, 4]}]}  # fmt: skip
    capture = imported(json.dumps(value), tmp_path / "s")
    assert own_times(capture) == {("a", "b"): 2_000_000, ("a", "b", "c"): 3_000_000, ("a",): 4_000_000}
    assert json.loads(rows(capture, "slices")[0]["args"]) == {"location": "a.py:3"}
    for write, name in ((write_speedscope, "again"), (write_collapsed, "folded")):
        with (tmp_path / name).open("wb") as file:
            write(capture, file)
        assert sources.find(tmp_path / name).name == "stacks"
        again = open_capture(import_files([tmp_path / name], tmp_path / f"{name}.again.peep"))
        # begins and ends are as exact as what was recorded; counts of stacks never are
        assert ("sampled_stacks" in again.manifest.extra) == (write is write_collapsed)
    main(["show", "--calls", str(capture.path)])
    assert "sampled: what is shorter than a sample is not there" in capsys.readouterr().out


@pytest.mark.parametrize("first", [" 3\n", ""])
def test_samples_without_a_stack_are_counted(first: str, tmp_path: Path) -> None:
    """py-spy writes one before the program's first line ran, also as the first of the file."""
    capture = imported(f"{first}a;b 2\n 1\na 4\n", tmp_path / "x")
    assert own_times(capture) == {("a", "b"): 2_000_000, ("a",): 4_000_000}
    (problem,) = capture.manifest.problems
    assert (problem["reason"], problem["count"]) == ("sample without a stack", 4 if first else 1)


@pytest.mark.parametrize("name", ["pyspy.folded.txt", "x"])
def test_folded_stacks(name: str, shared: Any, tmp_path: Path) -> None:
    data = shared("fixtures/formats/pyspy.folded.txt").read_bytes()
    assert own_times(imported(data, tmp_path / name)) == folded(data)


def test_a_cpuprofile(tmp_path: Path) -> None:
    call = [{"functionName": n, "url": "a.js", "lineNumber": 4} for n in ("(root)", "f", "g")]
    value = {"nodes": [{"id": 1, "callFrame": call[0], "children": [2]},
                       {"id": 2, "callFrame": call[1], "children": [3]},
                       {"id": 3, "callFrame": call[2]}],
             "startTime": 1000, "endTime": 1100, "samples": [2, 3, 2], "timeDeltas": [10, 30, 40]}  # fmt: skip
    capture = imported(json.dumps(value), tmp_path / "x")
    assert own_times(capture) == {("f",): 30_000 + 20_000, ("f", "g"): 40_000}
    assert json.loads(rows(capture, "slices")[0]["args"]) == {"location": "a.js:5"}


def test_perf_script(tmp_path: Path) -> None:
    capture = imported(PERF, tmp_path / "x")
    assert own_times(capture) == {("outer", "inner"): 100_000, ("outer",): 100_000, ("[unknown]",): 1_000_000}
    assert {t["name"] for t in rows(capture, "tracks")} == {"python (11)", "other (12)"}
    assert not capture.manifest.problems


FLAT = """          python    10  100.000100:    2000000 cpu-clock:ppp:      7f01 inner+0x10 (/lib/x.so)
              dd    12  100.000150:    2000000 cpu-clock:ppp:  ffffffff81 list_del([a]) ([kernel.kallsyms])
          python    10  100.000200:    2000000 cpu-clock:ppp:      7f02 outer+0x2 (/bin/python)
"""
LINES = """python  10/11 [001] 100.000100:  1 cycles:
\t    7f01 inner+0x10 (/lib/x.so)
  x.c:12
\t    7f02 outer+0x1 (/bin/python)
  python[7f02]

python  10/11 [001] 100.000200:  1 cycles:
\t    7f02 outer+0x3 (/bin/python)
  python[7f02]

"""


def test_perf_without_callers_has_its_frame_in_the_line_of_the_sample(tmp_path: Path) -> None:
    capture = imported(FLAT, tmp_path / "x")
    found = {(s["start"], s["dur"], s["depth"], s["name"]) for s in rows(capture, "slices")}
    assert found == {
        (0, 100_000, 0, "inner"), (100_000, 100_000, 0, "outer"), (50_000, 1_000_000, 0, "list_del([a])")
    }  # fmt: skip
    assert {t["name"] for t in rows(capture, "tracks")} == {"python (10)", "dd (12)"}
    assert not capture.manifest.problems


def test_perf_with_lines_of_the_source(tmp_path: Path) -> None:
    capture = imported(LINES, tmp_path / "x")
    places = {s["name"]: json.loads(s["args"])["location"] for s in rows(capture, "slices")}
    assert places == {"inner": "x.c:12", "outer": "/bin/python"}
    assert not capture.manifest.problems


def test_memray_says_what_its_own_reader_says(tmp_path: Path) -> None:
    memray = pytest.importorskip("memray")
    path = tmp_path / "x"
    with memray.Tracker(str(path)):
        kept = [bytearray(100_000) for _ in range(20)]
    assert sources.find(path).name == "stacks"
    capture = open_capture(import_files([path], tmp_path / "m.peep"))
    records = list(memray.FileReader(str(path)).get_high_watermark_allocation_records(merge_threads=True))
    peak = sum(record.size for record in records)
    assert sum(own_times(capture).values()) == peak * 1000 and len(kept) == 20


@pytest.mark.parametrize(
    "data",
    [
        '{"$schema": "speedscope", "shared": 5, "profiles": [7, {"samples": [[9], 3], "weights": [""]}]}',
        '{"$schema": "speedscope", "profiles": [{"type": "evented", "events": [{"type": "C", "frame": 0}, 5]}]}',
        '{"nodes": [{"id": 1, "callFrame": {}, "children": [1]}], "samples": [1, 9], "timeDeltas": [-5, 1e99]}',
        "a;b 99999999999999\na;c 3\n",
    ],
)
def test_odd_values_are_no_trap(data: str, tmp_path: Path) -> None:
    imported(data, tmp_path / "x")


def test_damaged_files_are_refused_in_one_sentence(tmp_path: Path) -> None:
    for at, data in enumerate((b'{"$schema": "speedscope", "profiles": [', b"memray\x00 no", b"\x04\x22\x4d\x18junk")):
        with pytest.raises(PeepholeError) as error:
            imported(data, tmp_path / f"d{at}")
        assert "\n" not in str(error.value)
    with pytest.raises(CaptureError, match="neither a capture"):
        imported(b"just some words\nand more\n", tmp_path / "text")


@pytest.mark.parametrize("form", ["session", "json"])
def test_pyinstruments_own_files(form: str, tmp_path: Path) -> None:
    pytest.importorskip("pyinstrument")
    from pyinstrument import Profiler
    from pyinstrument.renderers import JSONRenderer, SessionRenderer
    from pyinstrument.session import Session

    def inner(until: float) -> None:
        while time.process_time() < until:
            sum(range(1000))

    def outer() -> None:
        inner(time.process_time() + 0.1)

    profiler = Profiler(interval=0.001)
    with profiler:
        outer()
    written = profiler.output(SessionRenderer() if form == "session" else JSONRenderer())
    capture = imported(written, tmp_path / "x")
    assert not capture.manifest.problems
    read = json.loads(written)
    assert capture.manifest.clocks["base_ns"] == round(read["start_time"] * 1e9)
    assert {track["name"] for track in rows(capture, "tracks")} == ({"MainThread"} if form == "session" else {"main"})
    truth: Counter[str] = Counter()
    if form == "session":  # pyinstrument's own tree of it
        waiting = [Session.from_json(read).root_frame(trim_stem=False)]
        while waiting and waiting[0] is not None:
            frame = waiting.pop()
            # what a call took itself is a frame of its own in that tree
            if not frame.is_synthetic and frame.file_path != "<thread>":
                truth[frame.function] += round(frame.time * 1e9)
            waiting += frame.children
    else:
        found = [read["root_frame"]]
        while found:
            truth[found[0]["function"]] += round(found[0]["time"] * 1e9)
            found += found.pop(0)["children"]
    ours: Counter[str] = Counter()
    for row in rows(capture, "slices"):
        ours[row["name"].rpartition(".")[2]] += row["dur"]
    assert set(ours) == {name.rpartition(".")[2] for name in truth}
    assert abs(ours["inner"] - truth["inner"]) < 1000 < ours["inner"]


def test_a_cpuprofile_of_old_has_its_tree_nested(tmp_path: Path) -> None:
    inner = {"functionName": "inner", "url": "a.js", "lineNumber": 9, "id": 3, "children": []}
    main = {"functionName": "main", "url": "a.js", "lineNumber": 3, "id": 2, "children": [inner]}
    value: dict[str, Any] = {
        "head": {"functionName": "(root)", "url": "", "lineNumber": 0, "id": 1, "children": [main]},
        "startTime": 100.5, "endTime": 100.6, "samples": [2, 3, 2, 2],
    }  # fmt: skip

    def found(path: str) -> list[tuple[Any, ...]]:
        capture = imported(json.dumps(value), tmp_path / path)
        return sorted((r["start"] // 1000, r["dur"] // 1000, r["name"], r["args"]) for r in rows(capture, "slices"))

    places = '{"location": "a.js:3"}', '{"location": "a.js:9"}'
    assert found("even") == [(0, 100_000, "main", places[0]), (25_000, 25_000, "inner", places[1])]
    value["timestamps"] = [7_000_000, 7_010_000, 7_040_000, 7_080_000]
    assert found("told") == [(0, 100_000, "main", places[0]), (10_000, 30_000, "inner", places[1])]


def test_folded_counts_may_stand_behind_a_tab(tmp_path: Path) -> None:
    capture = imported("a;b\t2\na;c d 3 \r\n\n", tmp_path / "x")
    assert own_times(capture) == Counter({("a", "b"): 2_000_000, ("a", "c d"): 3_000_000})


def test_a_deleted_object_of_perf_is_a_file(tmp_path: Path) -> None:
    text = "x 1/1 5.000001: 10 cycles:\n\t 55aa main+0x4 (/usr/bin/x 1 (deleted))\n\t 55ab go (/a b)\n\n"
    told = {row["name"]: row["args"] for row in rows(imported(text, tmp_path / "x"), "slices")}
    assert told == {"main": '{"location": "/usr/bin/x 1 (deleted)"}', "go": '{"location": "/a b"}'}
