"""tinygrad out of a checkout: recorded like a release, named by what it is, and told what it lacks."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.sources.tinygrad.runs import ROOT, environment

from peephole.ingest import import_files
from peephole.model.checkout import commit_of
from peephole.store.capture import Capture, open_capture

PROGRAM = """
import tinygrad
from tinygrad import Tensor
print(tinygrad.__file__, (Tensor([1.0, 2]) + 1).tolist())
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """The installed tinygrad once more, somewhere else, with nothing that says its version."""
    found = importlib.util.find_spec("tinygrad")
    assert found is not None and found.origin is not None
    home = tmp_path / "checkout"
    leave = shutil.ignore_patterns("__pycache__", "autogen", "viz")
    package = Path(found.origin).parent
    shutil.copytree(package, home / "tinygrad", ignore=leave, copy_function=os.link)
    (home / "tinygrad/runtime/autogen").symlink_to(package / "runtime/autogen")
    (home / "tinygrad/viz").symlink_to(package / "viz")
    return home


def record(folder: Path, checkout: Path) -> tuple[Capture, subprocess.CompletedProcess[str]]:
    script, capture = folder / "program.py", folder / "run.peep"
    script.write_text(PROGRAM)
    env = environment(folder, "PYTHON") | {"PYTHONPATH": os.pathsep.join((str(ROOT / "src"), str(checkout)))}
    words = [sys.executable, "-m", "peephole", "run", "--force", "-o", str(capture), str(script)]
    done = subprocess.run(words, check=True, env=env, capture_output=True, text=True, timeout=240)
    assert done.stdout == f"{checkout / 'tinygrad' / '__init__.py'} [2.0, 3.0]\n"
    return open_capture(capture), done


def edit(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert re.search(old, text)
    file.unlink()  # it is a link to the installed one
    file.write_text(re.sub(old, new, text))


def test_a_checkout_is_named_by_its_commit(tmp_path: Path, checkout: Path) -> None:
    git = ["git", "-C", str(checkout), "-c", "user.name=a", "-c", "user.email=a@b"]
    for words in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "one"]):
        subprocess.run([*git, *words], check=True)
    commit = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()
    capture, done = record(tmp_path, checkout)
    assert capture.manifest.frameworks == {"tinygrad": f"git {commit[:12]} in {checkout}, like 0.14.0"}
    assert capture.manifest.problems == [] and len(capture.read("contexts")) == 3
    assert done.stderr.count("peephole:") == 1  # where the capture is
    # as git keeps it after a while, and in another worktree
    subprocess.run([*git, "pack-refs", "--all"], check=True)
    assert commit_of(checkout) == commit
    subprocess.run([*git, "worktree", "add", "-q", str(tmp_path / "tree")], check=True)
    assert commit_of(tmp_path / "tree") == commit
    subprocess.run([*git, "checkout", "-q", "--detach"], check=True)
    assert commit_of(checkout) == commit
    assert commit_of(tmp_path) is None


def test_a_copy_without_git_is_named_by_its_place(tmp_path: Path, checkout: Path) -> None:
    capture, _ = record(tmp_path, checkout)
    assert capture.manifest.frameworks == {"tinygrad": f"{checkout}, like 0.14.0"}


def test_what_is_missing_is_said_and_the_rest_is_recorded(tmp_path: Path, checkout: Path) -> None:
    edit(checkout / "tinygrad/uop/ops.py", r"\btracked_ctxs\b", "tracked_groups")
    capture, done = record(tmp_path, checkout)
    why = "the rewrites of this tinygrad are not recorded: it has no uop.ops.tracked_ctxs"
    assert f"peephole: {why}; the program runs on.\n" in done.stderr
    assert [problem["reason"] for problem in capture.manifest.problems] == [why]
    assert len(capture.read("contexts")) == 0 and len(capture.read("slices")) > 3
    edit(checkout / "tinygrad/helpers.py", r"\bcpu_events\b", "host_events")
    for file in ("device.py", "engine/realize.py", "runtime/ops_null.py"):
        edit(checkout / "tinygrad" / file, r"\bcpu_events\b", "host_events")
    capture, done = record(tmp_path, checkout)
    assert "it has no helpers.cpu_events; the program runs on.\n" in done.stderr
    assert len(capture.manifest.problems) == 2


def test_ops_that_a_checkout_numbers_otherwise_are_not_named_in_silence(tmp_path: Path, checkout: Path) -> None:
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    reason = "operations are numbered otherwise than in tinygrad 0.14.0"
    for told, numbers in ((False, r"\g<0>"), (True, r"\g<0>; WAIT = auto()")):
        edit(checkout / "tinygrad/uop/__init__.py", r"\bENDIF = auto\(\)", numbers)
        env = environment(tmp_path, "PYTHON") | {"PYTHONPATH": str(checkout), "TMPDIR": str(tmp_path), "VIZ": "-1"}
        subprocess.run([sys.executable, str(script)], check=True, env=env, capture_output=True, timeout=240)
        (pickled,) = tmp_path.glob("rewrites.pkl*")
        capture = open_capture(import_files([pickled], tmp_path / f"{told}.peep"))
        assert [problem["reason"].startswith(reason) for problem in capture.manifest.problems] == [True] * told
    live, _ = record(tmp_path, checkout)  # where names are there to be asked
    assert "CONST" in set(live.read("nodes", ["op"]).texts("op")) and live.manifest.problems == []
