"""A stock tinygrad recorded live: the same content as its own pickles, streamed, and there after SIGKILL."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from tests.sources.tinygrad.runs import PROGRAM, content, environment, run, under_peephole, under_viz

from peephole.store.capture import Capture, open_capture


def device_params() -> list[object]:
    no_clang = pytest.mark.skipif(shutil.which("clang") is None, reason="needs clang")
    return ["PYTHON", "NULL", pytest.param("CPU", marks=no_clang)]


@pytest.mark.parametrize("device", device_params())
def test_live_and_pickles_say_the_same(tmp_path: Path, device: str) -> None:
    viz = under_viz(tmp_path / "viz", PROGRAM, device)
    live = under_peephole(tmp_path / "live", PROGRAM, device)
    ours, theirs = content(live, str(tmp_path / "live")), content(viz, str(tmp_path / "viz"))
    assert {table: len(rows) for table, rows in ours.items()} == {table: len(rows) for table, rows in theirs.items()}
    for table, rows in theirs.items():
        assert rows, table
        assert ours[table] == rows, table
    assert live.manifest.problems == viz.manifest.problems == []
    assert live.manifest.frameworks == viz.manifest.frameworks == {"tinygrad": "0.14.0"}
    every_kernel_is_timed(live, device)
    every_copy_is_timed(live, device)
    times_are_nested(live)


def every_kernel_is_timed(capture: Capture, device: str) -> None:
    """On CPU and PYTHON too, inside the captured JIT as well."""
    tracks, slices = capture.read("tracks"), capture.read("slices")
    track = next(int(tracks["id"][i]) for i in range(len(tracks)) if tracks.texts("name")[i] == device)
    kernels = [
        i
        for i in range(len(slices))
        if slices["track"][i] == track
        and slices["context"][i] >= 0
        and not (slices.texts("name")[i] or "").startswith("copy")
    ]
    names = Counter(slices.texts("name")[i] for i in kernels)
    assert len(kernels) >= 8 and max(names.values()) >= 3  # two kernels, four steps
    assert all(slices["dur"][i] > 0 for i in kernels)
    assert all("flops" in json.loads(slices.texts("args")[i] or "{}") for i in kernels)


def every_copy_is_timed(capture: Capture, device: str) -> None:
    """With its bytes and the buffers that it read and wrote; only within a batch does nobody say them."""
    tracks, slices, uses = capture.read("tracks"), capture.read("slices"), capture.read("uses")
    copying = {int(tracks["id"][i]) for i in range(len(tracks)) if tracks.texts("kind")[i] == "copy"}
    found: Counter[int] = Counter()
    for i in range(len(slices)):
        if int(slices["track"][i]) not in copying:
            continue
        assert slices["dur"][i] > 0, slices.texts("name")[i]
        args = json.loads(slices.texts("args")[i] or "{}")
        if slices["correlation"][i]:
            assert args["bytes_per_s"] == pytest.approx(args["bytes"] * 1e9 / int(slices["dur"][i]), abs=1)
            used = uses["slice"] == slices["correlation"][i]
            assert {uses.texts("mode")[at] for at in np.flatnonzero(used).tolist()} <= {"read", "write"} and used.any()
            found[args["bytes"]] += 1
        else:
            assert device == "NULL", slices.texts("name")[i]
    assert found[24] >= (4 if device == "NULL" else 7)  # six floats: over and back, each step of the JIT


def times_are_nested(capture: Capture) -> None:
    contexts, steps = capture.read("contexts"), capture.read("steps")
    begin = dict(zip(contexts["id"].tolist(), contexts["start"].tolist(), strict=True))
    dur = dict(zip(contexts["id"].tolist(), contexts["dur"].tolist(), strict=True))
    kinds = dict(zip(contexts["id"].tolist(), contexts.texts("kind"), strict=True))
    assert all(value > 0 for context, value in dur.items() if kinds[context] != "rewrites")
    timed = steps["dur"] >= 0
    assert timed.mean() > 0.8
    for i in np.flatnonzero(timed).tolist():
        context = int(steps["context"][i])
        assert begin[context] <= steps["start"][i]
        assert steps["start"][i] + steps["dur"][i] <= begin[context] + dur[context]


def test_metadata_has_the_users_line(tmp_path: Path) -> None:
    capture = under_peephole(
        tmp_path / "live", "from tinygrad import Tensor\nx = Tensor([1.0])\nx.exp().realize()\n", "PYTHON"
    )
    texts = {text for text in capture.read("nodes").texts("metadata") if text}
    assert any(text.startswith("exp@") and text.endswith("program.py:3") for text in texts)


def test_symbolic_values_are_in_the_estimates(tmp_path: Path) -> None:
    program = """
from tinygrad import Tensor, Variable
for n in (2, 50):
    size = Variable("size", 1, 100).bind(n)
    (Tensor.empty(100, 8)[:size] + 1).contiguous().realize()
"""
    capture = under_peephole(tmp_path / "live", program, "NULL")
    slices = capture.read("slices")
    work = {}
    for i in range(len(slices)):
        args = json.loads(slices.texts("args")[i] or "{}")
        if "flops" in args and "variables" in args:
            work[args["variables"]["size"]] = args["flops"] * int(slices["dur"][i]) / 1e9
    assert set(work) == {2, 50}
    assert work[50] / work[2] == pytest.approx(25, rel=0.01)  # one addition for each of size * 8 elements
    assert work[2] == pytest.approx(16, rel=0.01)


@pytest.mark.skipif(shutil.which("clang") is None, reason="needs clang")
def test_a_kernel_that_does_not_compile(tmp_path: Path) -> None:
    """What went wrong, and the source that the compiler refused."""
    program = """
from tinygrad import Device, Tensor
renderer = type(Device["CPU"].renderer)
render = renderer.render
renderer.render = lambda self, uops: render(self, uops) + "nonsense"
try:
    (Tensor([1.0, 2]).contiguous() + 1).realize()
except Exception:
    renderer.render = render
"""
    captures = (
        under_viz(tmp_path / "viz", program, "CPU"),
        under_peephole(tmp_path / "live", program, "CPU"),
    )
    for capture in captures:
        found = capture.read("artifacts")
        kinds = {found.texts("kind")[i]: (found.blobs("content")[i] or b"").decode() for i in range(len(found))}
        assert "clang" in kinds["error"] and kinds["source"].endswith("nonsense") and "STORE" in kinds["oplist"]
        assert sum(error is not None for error in capture.read("steps").texts("error")) == 1


def test_what_a_program_does_not_profile_is_not_timed(tmp_path: Path) -> None:
    program = """
from tinygrad import Tensor
from tinygrad.helpers import Context
with Context(PROFILE=0):
    assert (Tensor([1.0, 2]) + 1).tolist() == [2, 3]
assert (Tensor([1.0, 2, 3]) * 3).tolist() == [3, 6, 9]
with Context(TRACK_MATCH_STATS=0):
    assert (Tensor([1.0, 2, 3, 4]) * 5).tolist() == [5, 10, 15, 20]
"""
    viz = content(under_viz(tmp_path / "viz", program, "PYTHON"), str(tmp_path / "viz"))
    live = content(under_peephole(tmp_path / "live", program, "PYTHON"), str(tmp_path / "live"))
    assert [row[1] for row in live["slices"] if row[0] == "PYTHON"] == ["E_3", "E_4"]
    assert live == viz


def test_a_copy_that_fails_is_none(tmp_path: Path) -> None:
    script = tmp_path / "fails.py"
    script.write_text(
        """
from pathlib import Path
from tinygrad import Device, Tensor, dtypes
Path("data").write_bytes(bytes(64))
whole, closed = Tensor(Path("data")).to("CPU"), Tensor.empty(64, dtype=dtypes.uint8, device="DISK:other")
whole.realize()
closed.uop.buffer.ensure_allocated()
Device["DISK:other"].mem.close()
try:
    closed.to("CPU").realize()
except ValueError as error:
    assert "closed" in str(error)
else:
    raise AssertionError("it should have failed")
"""
    )
    env = environment(tmp_path, "CPU")
    command = [sys.executable, "-m", "peephole", "run", "-o", str(tmp_path / "x"), str(script)]
    done = subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    capture = open_capture(tmp_path / "x.peep")
    tracks, slices = capture.read("tracks"), capture.read("slices")
    names = dict(zip(tracks["id"].tolist(), tracks.texts("name"), strict=True))
    copies = [i for i in range(len(slices)) if names[int(slices["track"][i])] == "CPU:COPY"]
    assert len(copies) == 1, [slices.texts("name")[i] for i in copies]


def test_counts_of_matches_are_still_printed(tmp_path: Path) -> None:
    """tinygrad's own table of its rules, which a compiler developer asks for; nothing of it when nobody does."""
    script = tmp_path / "program.py"
    script.write_text("from tinygrad import Tensor\n(Tensor.empty(4).sum() + 1).realize()\n")
    command: list[str | Path] = [sys.executable, "-m", "peephole", "run", "-o", tmp_path / "stats", "--force", script]
    for asked in ({}, {"TRACK_MATCH_STATS": "1"}, {"TRACK_MATCH_STATS": "1", "PRINT_MATCH_STATS": "1"}):
        alone = run([sys.executable, script], environment(tmp_path, "NULL", **asked)).stdout
        stats = run(command, environment(tmp_path, "NULL", **asked)).stdout
        assert alone.endswith(" matched once\n") == stats.endswith(" matched once\n") == ("PRINT_MATCH_STATS" in asked)
        assert stats or not alone
        capture = open_capture(tmp_path / "stats.peep")
        assert capture.count("matches") > 20 and capture.manifest.problems == []
        assert not list(tmp_path.glob("*.pkl*"))


def test_rewrites_that_are_switched_off_are_missed(tmp_path: Path) -> None:
    script = tmp_path / "program.py"
    script.write_text("from tinygrad import Tensor\n(Tensor.empty(4).sum() + 1).realize()\n")
    env = environment(tmp_path, "NULL", TRACK_MATCH_STATS="0")
    run([sys.executable, "-m", "peephole", "run", "-o", tmp_path / "off", script], env)
    capture = open_capture(tmp_path / "off.peep")
    assert capture.count("matches") == 0 and capture.count("slices") > 3
    assert [p["reason"] for p in capture.manifest.problems] == ["no rewrites were recorded: TRACK_MATCH_STATS is 0"]


def test_nothing_heavy_runs_inside_the_program() -> None:
    code = (
        "import sys; import peephole.sources.tinygrad.live.attach\n"
        "assert not {'numpy', 'pyarrow', 'numba', 'asyncio', 'tinygrad'} & set(sys.modules), sorted(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_each_half_alone(tmp_path: Path) -> None:
    program = "from tinygrad import Tensor\n(Tensor([1.0]) + 1).realize()\n"
    profile = under_peephole(tmp_path / "profile", program, "NULL", "--profile-only")
    assert profile.count("nodes") == profile.count("steps") == profile.count("contexts") == 0
    assert profile.count("slices") > 3 and profile.count("buffers") > 0 and profile.count("uses") > 0
    rewrites = under_peephole(tmp_path / "rewrites", program, "NULL", "--rewrites-only")
    assert rewrites.count("slices") == rewrites.count("buffers") == 0
    assert rewrites.count("nodes") > 50 and rewrites.count("matches") > 10 and rewrites.count("artifacts") >= 3


def test_a_unit_test_that_rewrites_directly(tmp_path: Path) -> None:
    """`PEEPHOLE=1 pytest some_test.py`, outside any tracked function."""
    script = tmp_path / "test_rule.py"
    script.write_text(
        """
from tinygrad.uop.ops import UOp, UPat, Ops, PatternMatcher, graph_rewrite
from tinygrad import dtypes

def test_rule():
    matcher = PatternMatcher([(UPat(Ops.ADD, src=(UPat.var("x"), UPat(Ops.CONST))), lambda x: x)])
    variable = UOp.variable("i", 0, 7)
    assert graph_rewrite(variable + 3, matcher, name="drop the constant") is variable
"""
    )
    env = environment(tmp_path, "NULL", PEEPHOLE="1", PEEPHOLE_DIR=str(tmp_path / "captures"))
    done = run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", script], env)
    assert "1 passed" in done.stdout
    captures = list((tmp_path / "captures").glob("*.peep"))
    assert len(captures) == 1
    capture = open_capture(captures[0])
    steps = capture.read("steps")
    assert list(steps.texts("name")) == ["drop the constant"]
    assert steps.texts("file")[0] == str(script) and steps["matches"].tolist() == [1]
    assert list(capture.read("contexts").texts("kind")) == ["rewrites"]
    assert capture.count("matches") == 1


def test_a_tinygrad_without_the_modules_that_we_know_runs_unrecorded(tmp_path: Path) -> None:
    """Before 0.11 its parts were elsewhere: VIZ would have been switched on, and its server with it."""
    (tmp_path / "tinygrad").mkdir()
    (tmp_path / "tinygrad" / "__init__.py").write_text("import os\nprint(os.environ.get('VIZ'))\n")
    (tmp_path / "program.py").write_text("import tinygrad\n")
    command: list[str | Path] = [sys.executable, "-m", "peephole", "run", "-o", tmp_path / "x", tmp_path / "program.py"]
    done = run(command, environment(tmp_path, "NULL"))
    assert done.stdout == "None\n"
    assert done.stderr.startswith("peephole: this tinygrad is older than 0.12, which is not recorded")
    (problem,) = open_capture(tmp_path / "x.peep").manifest.problems
    assert problem["reason"] == "tinygrad is older than 0.12 and was not recorded"


def test_attaching_late(tmp_path: Path) -> None:
    script = tmp_path / "late.py"
    script.write_text(
        f"""
from tinygrad import Tensor
(Tensor([1.0]) + 1).realize()
import peephole
with peephole.record({str(tmp_path / "late.peep")!r}):
    (Tensor([1.0, 2.0]) * 3).realize()
"""
    )
    run([sys.executable, script], environment(tmp_path, "PYTHON"))
    capture = open_capture(tmp_path / "late.peep")
    assert capture.count("matches") > 5 and capture.count("nodes") > 20
    assert "kernel" in set(capture.read("contexts").texts("kind"))
    assert not list(tmp_path.glob("*.pkl*"))


def test_several_recordings_of_one_program(tmp_path: Path) -> None:
    """As in a notebook: each has its own, and what runs between them costs and leaves nothing."""
    script = tmp_path / "several.py"
    script.write_text(
        f"""
import os
import peephole
os.chdir({str(tmp_path)!r})
with peephole.record("one.peep"):
    from tinygrad import Tensor
    (Tensor.empty(2, 4).sum(axis=0) * 3).realize()
from tinygrad.uop import ops
from tinygrad.helpers import cpu_events
tracked = len(ops.tracked_keys), len(cpu_events)
(Tensor.empty(3, 4).sum(axis=0) * 3).realize()
assert (len(ops.tracked_keys), len(cpu_events)) == tracked
for name, size in (("two", 5), ("three", 7)):
    with peephole.record(name + ".peep"):
        (Tensor.empty(size, 4).sum(axis=0) * 3).realize()
"""
    )
    run([sys.executable, script], environment(tmp_path, "NULL"))
    for name, kernel in (("one", "r_4_2"), ("two", "r_4_5"), ("three", "r_4_7")):
        capture = open_capture(tmp_path / f"{name}.peep")
        contexts = capture.read("contexts")
        kinds, names = list(contexts.texts("kind")), list(contexts.texts("name"))
        assert [n for n, kind in zip(names, kinds, strict=True) if kind == "kernel"] == [kernel]
        assert list(capture.read("slices").texts("name")).count(kernel) == 1
        assert capture.count("matches") > 5 and capture.count("uses") == 2
        assert not capture.manifest.problems
        consistent(capture)


def test_killed_in_the_middle(tmp_path: Path) -> None:
    """What opens is a consistent prefix: everything that is named is there."""
    script = tmp_path / "forever.py"
    script.write_text(
        """
import itertools
from tinygrad import Tensor
for n in itertools.count(2):
    (Tensor.empty(n, 4).sum(axis=0) * 2 + n).realize()
    print(n, flush=True)
"""
    )
    capture = tmp_path / "killed.peep"
    command = [sys.executable, "-m", "peephole", "run", "-o", str(capture), str(script)]
    process = subprocess.Popen(
        command, env=environment(tmp_path, "NULL"), stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        assert process.stdout is not None
        for _ in range(6):
            assert process.stdout.readline()
        live = open_capture(capture)  # while it runs, by another process
        deadline = time.monotonic() + 90
        while (live.count("contexts") < 4 or live.count("matches") <= 50) and time.monotonic() < deadline:
            time.sleep(0.1)
            live.refresh()
        assert live.count("contexts") >= 4 and live.count("slices") > 10
        consistent(live)
        live.close()
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
    killed = open_capture(capture)
    assert not list(tmp_path.glob("*.pkl*"))
    assert killed.count("contexts") >= 4 and killed.count("matches") > 50
    consistent(killed)
    killed.close()


def test_what_was_compiled_just_before_a_sudden_end_is_there(tmp_path: Path) -> None:
    """os._exit calls nobody: the rounds that were still to come are made first, in a forked child too."""
    script = tmp_path / "sudden.py"
    script.write_text(
        """
import os
from tinygrad import Tensor
(Tensor.empty(7, 4).sum(axis=0) * 2).realize()
child = os.fork()
if not child:
    (Tensor.empty(9, 4).sum(axis=0) * 3).realize()
    os._exit(4)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 4
os._exit(status=3)
"""
    )
    command = [sys.executable, "-m", "peephole", "run", "-o", str(tmp_path / "x"), str(script)]
    done = subprocess.run(command, env=environment(tmp_path, "NULL"), capture_output=True, text=True, check=False)
    assert done.returncode == 3, done.stderr
    capture = open_capture(tmp_path / "x.peep")
    assert list(capture.read("artifacts").texts("kind")).count("source") == 2
    assert not capture.manifest.clean and not capture.manifest.problems
    consistent(capture)


def consistent(capture: Capture) -> None:
    nodes, matches, steps = capture.read("nodes"), capture.read("matches"), capture.read("steps")
    ids = set(nodes["id"].tolist())
    assert ids.issuperset(matches["before"].tolist()) and ids.issuperset(matches["after"].tolist())
    assert ids.issuperset(nodes.lists("src").values.tolist()) and ids.issuperset(steps["root"].tolist())
    assert set(steps["id"].tolist()).issuperset(matches["step"].tolist())
    assert set(capture.read("contexts")["id"].tolist()).issuperset(steps["context"].tolist())
