"""tinygrad's compile workers are recorded, and the program stays parallel."""

from __future__ import annotations

import shutil
import sys
from collections import Counter
from pathlib import Path

import pytest
from tests.sources.tinygrad.runs import environment, run

from peephole.store.capture import Capture, open_capture

PROGRAM = """
from tinygrad import Tensor
from tinygrad.engine.worker import PARALLEL
x = Tensor([[float(i * j) for i in range(6)] for j in range(4)]).realize()
out = [(x + 1).sum(axis=0).contiguous(), (x * 3).exp().contiguous(), x.max(axis=1).contiguous(), (x @ x.T).contiguous()]
Tensor.realize(*out)
print(PARALLEL.value, round(sum(y.float().sum().item() for y in out), 1) > 0)
"""
OUTSIDE = ("precompile kernels", "optimize local size")
"""Steps of no context: tinygrad puts them into whichever was opened last, in a serial program that of a kernel."""


def recorded(folder: Path, device: str, **env: str) -> tuple[Capture, str]:
    folder.mkdir()
    script = folder.parent / "program.py"
    script.write_text(PROGRAM)
    command: list[str | Path] = [sys.executable, "-m", "peephole", "run", "-o", folder / "live.peep", script]
    done = run(command, environment(folder, device, **env))
    return open_capture(folder / "live.peep"), done.stdout


def said(capture: Capture, *, nested: bool) -> dict[str, Counter[object]]:
    """Contexts, steps and artifacts without numbers; nested steps are remembered per process."""
    c, s, a = capture.read("contexts"), capture.read("steps"), capture.read("artifacts")
    names = {int(c["id"][i]): c.texts("name")[i] for i in range(len(c))}
    return {
        "contexts": Counter((names[int(c["id"][i])], c.texts("kind")[i], c.texts("stack")[i]) for i in range(len(c))),
        "steps": Counter(
            (
                None if s.texts("name")[i] in OUTSIDE else names[int(s["context"][i])],
                s.texts("name")[i],
                int(s["matches"][i]),
            )
            for i in range(len(s))
            if nested or s["depth"][i] == 0
        ),
        "artifacts": Counter(
            (names[int(a["context"][i])], a.texts("kind")[i], a.blobs("content")[i]) for i in range(len(a))
        ),
    }


def passes(capture: Capture) -> dict[int, Counter[object]]:
    """By depth, what each step did: context, name, and each match with the ops before and after and its rule."""
    c, s, m, n = (capture.read(table) for table in ("contexts", "steps", "matches", "nodes"))
    names = dict(zip(c["id"].tolist(), c.texts("name"), strict=True))
    ops = dict(zip(n["id"].tolist(), n.texts("op"), strict=True))
    did: dict[int, list[object]] = {number: [] for number in s["id"].tolist()}
    columns = (m["step"].tolist(), m["before"].tolist(), m["after"].tolist(), m.texts("file"), m["line"].tolist())
    for step, before, after, file, line in zip(*columns, strict=True):
        did[step].append((ops[before], ops[after], file, line))
    found: dict[int, Counter[object]] = {}
    steps = (s["id"].tolist(), s["context"].tolist(), s.texts("name"), s["depth"].tolist(), s["root"].tolist())
    for step, context, name, depth, root in zip(*steps, strict=True):
        home = None if depth or name in OUTSIDE else names[context]
        found.setdefault(depth, Counter())[home, name, ops[root], tuple(did[step])] += 1
    return found


def kernels(capture: Capture, device: str) -> Counter[tuple[str | None, str | None]]:
    """What ran, with the name and kind of the context that each is linked to."""
    c, s, t = capture.read("contexts"), capture.read("slices"), capture.read("tracks")
    names = {int(c["id"][i]): c.texts("name")[i] for i in range(len(c))}
    lanes = {int(t["id"][i]) for i in range(len(t)) if t.texts("name")[i] == device}
    return Counter(
        (s.texts("name")[i], names.get(int(s["context"][i]))) for i in range(len(s)) if int(s["track"][i]) in lanes
    )


def test_the_same_as_a_serial_recording(tmp_path: Path) -> None:
    device = "CPU" if shutil.which("clang") else "PYTHON"
    parallel, out = recorded(tmp_path / "parallel", device, PARALLEL="2")
    serial, _ = recorded(tmp_path / "serial", device, PARALLEL="0")
    assert out.startswith("2 True")
    ours, theirs = said(parallel, nested=False), said(serial, nested=False)
    for table in ours:
        assert ours[table] == theirs[table], table
    assert kernels(parallel, device) == kernels(serial, device)
    ours_did, theirs_did = passes(parallel), passes(serial)
    assert ours_did.keys() == theirs_did.keys() and theirs_did[0].total() > 100
    assert ours_did[0] == theirs_did[0]
    for depth in theirs_did:  # a process remembers the nested ones: several do them once each
        assert ours_did[depth].keys() == theirs_did[depth].keys()
    assert sum(context is not None for _, context in kernels(parallel, device)) >= 4
    processes = {int(p["pid"]) for p in parallel.manifest.processes}
    assert len(processes) > 1
    tracks = parallel.read("tracks")
    workers = [i for i in range(len(tracks)) if (tracks.texts("name")[i] or "").startswith("compile worker ")]
    assert workers and all(tracks["process"][i] in processes for i in workers)
    assert parallel.manifest.problems == []


def test_a_program_is_as_parallel_as_unrecorded(tmp_path: Path) -> None:
    script = tmp_path / "p.py"
    script.write_text("from tinygrad.helpers import PARALLEL\nprint(PARALLEL.value)\n")
    env = environment(tmp_path, "NULL")
    del env["PARALLEL"]
    env.pop("PYTEST_XDIST_WORKER_COUNT", None)  # tinygrad divides the machine by it
    unrecorded = run([sys.executable, script], env).stdout
    capture = tmp_path / "a.peep"
    assert run([sys.executable, "-m", "peephole", "run", "-o", capture, script], env).stdout == unrecorded
    assert int(unrecorded) > 0


@pytest.mark.skipif(shutil.which("clang") is None, reason="needs clang")
def test_the_workers_of_a_search(tmp_path: Path) -> None:
    more = {"BEAM": "1", "CACHELEVEL": "0", "IGNORE_BEAM_CACHE": "1"}
    script = "x = __import__('tinygrad').Tensor.ones(32, 32).contiguous().realize(); (x @ x).realize()\n"
    found = {}
    for way in ("2", "0"):
        folder = tmp_path / way
        folder.mkdir()
        program = folder / "p.py"
        program.write_text(script)
        env = environment(folder, "CPU", PARALLEL=way, **more)
        run([sys.executable, "-m", "peephole", "run", "-o", folder / "a.peep", program], env)
        found[way] = open_capture(folder / "a.peep")
    contexts = {way: found[way].read("contexts") for way in found}
    kinds = {way: Counter(contexts[way].texts("kind")) for way in found}
    assert kinds["2"]["kernel"] > 4 and kinds["0"]["kernel"] > 4
    assert len(found["2"].manifest.processes) > 1
    slices = found["2"].read("slices")
    tried = [i for i in range(len(slices)) if slices.texts("name")[i] == "test"]
    assert tried and all(slices["context"][i] >= 0 for i in tried)
