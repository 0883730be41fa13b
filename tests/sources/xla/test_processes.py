"""Dumps in several folders: of several processes they are kept apart, of one run they stay together."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.recorded_jax import JaxRun
from tests.sources.xla.test_bad_input import BODY, HEAD, reasons

from peephole.ingest import import_files
from peephole.query.capture.contexts import Context, contexts, steps
from peephole.query.rewrites.step_graphs import graph_at
from peephole.store.capture import Capture, open_capture

OTHER = BODY.replace("add", "multiply")
PAGE = 'const frames = [[0, "Not fusing |x.1| into |{}.1| as it is cheap ; more", ""]];\n'


def dumped(folder: Path, body: str, number: int = 1, name: str = "jit_f") -> Path:
    """A module's dumps in a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"module_{number:04d}.{name}.before_optimizations.txt").write_text(HEAD + body)
    (folder / f"module_{number:04d}.{name}.0000.simplify.after_algsimp.before_dce.txt").write_text(HEAD + body)
    return folder


def read(folder: Path) -> Capture:
    return open_capture(import_files([folder], folder.with_name(f"{folder.name}.peep")))


def modules(capture: Capture) -> dict[tuple[str, str], Context]:
    """By process and name."""
    found = contexts(capture)
    processes = {one.id: one.name for one in found if one.kind == "process"}
    return {(processes.get(one.parent, ""), one.name): one for one in found if one.kind == "module"}


def operations(capture: Capture, module: Context) -> set[str]:
    return {op for step in steps(capture, module.id) for op in graph_at(capture, step.id, 0).nodes.op}


def refused(capture: Capture) -> list[int]:
    """The contexts whose fusion refused something."""
    owner = dict(
        zip(*(capture.read("steps", ["id", "context"])[name].tolist() for name in ("id", "context")), strict=True)
    )
    return sorted(owner[step] for step in capture.read("decisions", ["step"])["step"].tolist())


def test_processes_in_folders_of_their_own_are_kept_apart(jax_run: JaxRun, tmp_path: Path) -> None:
    top = tmp_path / "dumps"
    for rank, body in (("rank0", BODY), ("rank1", OTHER)):
        place = dumped(top / rank, body)
        dumped(place, BODY, 2, "jit_same")
        (place / "module_0001.jit_f.fusion_kernel_module.ir-with-opt.ll").write_text(f"; {rank}")
        for kind in ("*train_step*buffer-assignment.txt", "*train_step*live-range.txt"):
            for path in jax_run.dump.glob(kind):
                shutil.copy(path, place)
        for path in jax_run.dump.glob("*train_step*before_optimizations.txt"):
            shutil.copy(path, place)
    capture = read(top)
    assert reasons(capture) == {}
    own = modules(capture)
    assert [key for key in own if key[1] == "module_0001.jit_f"] == [
        ("rank0", "module_0001.jit_f"),
        ("rank1", "module_0001.jit_f"),
    ]
    assert ("rank0", "module_0002.jit_same") in own and ("rank1", "module_0002.jit_same") in own
    first, second = (own[rank, "module_0001.jit_f"] for rank in ("rank0", "rank1"))
    assert "add" in operations(capture, first) and "multiply" not in operations(capture, first)
    assert "multiply" in operations(capture, second) and "add" not in operations(capture, second)
    kernels = [one.parent for one in contexts(capture) if one.kind == "kernel" and one.name == "fusion"]
    assert kernels == [first.id, second.id]
    devices = set(capture.read("buffers", ["device"]).texts("device"))
    assert {str(name).rpartition(" in ")[2] for name in devices} == {"rank0", "rank1"}
    assert not any(process for process, _ in modules(read(top / "rank0")))


def test_the_same_dumps_in_two_folders_are_one_process(tmp_path: Path) -> None:
    dumped(tmp_path / "dumps" / "rank0", BODY)
    dumped(tmp_path / "dumps" / "rank1", BODY)
    assert list(modules(read(tmp_path / "dumps"))) == [("", "module_0001.jit_f")]


def test_another_module_of_the_same_number_is_of_another_process(tmp_path: Path) -> None:
    dumped(tmp_path / "dumps" / "a", BODY)
    dumped(tmp_path / "dumps" / "b", BODY, name="jit_g")
    dumped(tmp_path / "dumps" / "c", BODY, 3, "jit_h")
    assert list(modules(read(tmp_path / "dumps"))) == [
        ("a", "module_0001.jit_f"),
        ("b", "module_0001.jit_g"),
        ("c", "module_0003.jit_h"),
    ]


def test_what_a_run_left_in_several_folders_stays_together(jax_run: JaxRun, tmp_path: Path) -> None:
    parts = {"dump": "*.txt", "proto": "*.hlo.pb", "fusion": "*_fusion.html", "code": "*.ll"}
    for name, pattern in parts.items():
        place = tmp_path / "run" / name
        place.mkdir(parents=True)
        for path in jax_run.dump.glob(pattern):
            shutil.copy(path, place)
    shutil.copytree(jax_run.ir, tmp_path / "run" / "ir")
    together = tmp_path / "flat"
    together.mkdir()
    for path in (tmp_path / "run").rglob("*"):
        if path.is_file():
            shutil.copy(path, together)
    found, whole = read(tmp_path / "run"), open_capture(import_files([together], tmp_path / "flat.peep"))
    for table, column in (("contexts", "name"), ("decisions", "reason"), ("artifacts", "name"), ("steps", "name")):
        texts = [sorted(map(str, one.read(table, [column]).texts(column))) for one in (found, whole)]
        assert texts[0] == texts[1] and len(texts[0]) > 20
    assert len(refused(found)) > 20 and reasons(found) == reasons(whole)
    assert not any(one.kind == "process" for one in contexts(found))


def test_each_run_has_the_explanations_beside_its_dumps(tmp_path: Path) -> None:
    for run, body in (("run1", BODY), ("run2", OTHER)):
        dumped(tmp_path / "runs" / run / "dump", body)
        explained = tmp_path / "runs" / run / "fusion" / "main.1.module_0001.jit_f._fusion.html"
        explained.parent.mkdir()
        explained.write_text(PAGE.format("add" if body is BODY else "multiply"))
    capture = read(tmp_path / "runs")
    assert reasons(capture) == {}
    own = modules(capture)
    assert list(own) == [("run1", "module_0001.jit_f"), ("run2", "module_0001.jit_f")]
    assert refused(capture) == [one.id for one in own.values()]


def test_an_older_run_in_a_folder_of_the_dumps_and_whose_explanation_nobody_can_say(tmp_path: Path) -> None:
    top = dumped(tmp_path / "dumps", BODY)
    dumped(top / "old", OTHER)
    for folder in ("fusion", "old"):
        (top / folder).mkdir(exist_ok=True)
        (top / folder / "main.1.module_0001.jit_f._fusion.html").write_text(PAGE.format("add"))
    capture = read(top)
    own = modules(capture)
    assert list(own) == [("dumps", "module_0001.jit_f"), ("dumps/old", "module_0001.jit_f")]
    assert refused(capture) == [one.id for one in own.values()] and reasons(capture) == {}
    for rank, body in (("a", BODY), ("b", OTHER)):
        dumped(tmp_path / "ranks" / rank, body)
    dumped(tmp_path / "ranks" / "b", BODY, 5, "jit_b")
    (tmp_path / "ranks" / "main.1.module_0001.jit_f._fusion.html").write_text(PAGE.format("add"))
    (tmp_path / "ranks" / "main.1.module_0005.jit_b._fusion.html").write_text(PAGE.format("add"))
    capture = read(tmp_path / "ranks")
    said = "files of which it is not known to which process's modules they belong, left out"
    assert reasons(capture) == {said: 1}
    assert refused(capture) == [modules(capture)["b", "module_0005.jit_b"].id]


def test_a_profile_beside_the_dumps_of_its_process_leads_to_its_modules(jax_run: JaxRun, tmp_path: Path) -> None:
    names = [path.name for path in jax_run.dump.iterdir() if "jit_block" in path.name and path.suffix == ".txt"]
    for rank in ("rank0", "rank1"):
        place = tmp_path / "dumps" / rank
        place.mkdir(parents=True)
        for name in names:
            text = (jax_run.dump / name).read_text()
            (place / name).write_text(text if rank == "rank1" else text.replace("op_name=", "op_name= "))
    shutil.copytree(jax_run.folder / "profile", tmp_path / "dumps" / "rank1" / "profile")
    capture = read(tmp_path / "dumps")
    own = {one.id: process for (process, name), one in modules(capture).items() if name.endswith("jit_block")}
    parents = {one.id: one.parent for one in contexts(capture) if one.kind == "kernel"}
    ran = {parents.get(id) for id in capture.read("slices", ["context"])["context"].tolist()}
    assert {own[one] for one in ran if one in own} == {"rank1"}
