"""Real recordings of tinygrad: what is equal is said to be, and where they part is where a plain walk finds it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from peephole.query.compare.comparison import compare
from peephole.query.compare.recorded import recorded
from peephole.query.compare.results import Comparison
from peephole.store.capture import Capture, open_capture

PROGRAM = """
import os
from tinygrad import Tensor
a, b = Tensor.empty(4, 8), Tensor.empty(8, 5)
(a @ b).realize()
(a + 1).sum().realize()
(a.relu().max(axis=1) * float(os.environ.get("FACTOR", "2"))).realize()
b.exp().realize()
"""
Record = Callable[..., Capture]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Record:
    """Records the program with these variables, once for each set of them."""
    folder = tmp_path_factory.mktemp("compared")
    program = folder / "program.py"
    program.write_text(PROGRAM)
    known: dict[str, Capture] = {}

    def call(again: str = "", **env: str) -> Capture:
        key = again + repr(sorted(env.items()))
        if key not in known:
            out = folder / f"run{len(known)}.peep"
            settings = {"DEV": "NULL", "CACHELEVEL": "0", "PARALLEL": "0", **env}
            done = subprocess.run(
                [sys.executable, "-m", "peephole", "run", "-o", out, program],
                env={**os.environ, **settings}, capture_output=True, text=True, timeout=200, check=False,
            )  # fmt: skip
            assert done.returncode == 0, done.stderr
            known[key] = open_capture(out)
        return known[key]

    return call


@dataclass(frozen=True)
class Gated:
    """What the recipe in the docs made of a pull request that edits one rule of tinygrad."""

    base: Capture
    new: Capture
    line: int
    """Lines above the rule, before the one that the edit puts there."""
    failed: bool
    posted: tuple[list[str], str]
    """The words that `gh` was called with, and the file that it was to post."""


@pytest.fixture(scope="module")
def gated(tmp_path_factory: pytest.TempPathFactory) -> Gated:
    """Runs the steps of docs/compare.md on two commits, as GitHub does; only `gh` is not the real one."""
    import tinygrad

    yaml = pytest.importorskip("yaml")
    folder = tmp_path_factory.mktemp("pull")
    repository, tools = folder / "repository", folder / "tools"
    tools.mkdir()
    keep = f'#!/bin/sh\nprintf "%s\\n" "$@" > {folder}/words\nfor last; do :; done\ncat "$last" > {folder}/body\n'
    (tools / "gh").write_text(keep)
    (tools / "peephole").write_text(f'#!/bin/sh\nexec {sys.executable} -m peephole "$@"\n')
    for tool in tools.iterdir():
        tool.chmod(0o755)
    env = {
        **os.environ, "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}", "CACHELEVEL": "0", "PARALLEL": "0",
        **{f"GIT_{who}_{what}": "none" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
    }  # fmt: skip

    def shell(text: str) -> int:
        done = subprocess.run(
            ["bash", "-e", "-c", text],
            cwd=repository,
            env=env,
            capture_output=True,
            text=True,
            timeout=200,
            check=False,
        )
        assert done.returncode in (0, 1), done.stderr
        return done.returncode

    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(Path(tinygrad.__file__).parent, repository / "tinygrad", ignore=ignored)
    commit = "git add -A && git -c core.compression=0 commit -qm"
    assert shell(f"git init -q && git config core.compression 0 && {commit} base") == 0
    rules = repository / "tinygrad" / "uop" / "symbolic.py"
    lines = rules.read_text().splitlines(keepends=True)
    at = next(i for i, line in enumerate(lines) if "# x*1 -> x" in line)
    assert "lambda x: x)," in lines[at]
    lines[at] = lines[at].replace(
        "lambda x: x),", "lambda x: x.alu(Ops.ADD, x.const_like(0)) if x.op is Ops.RANGE else x),"
    )
    lines.insert(at, "  # a line more, so that all rules behind it have moved\n")
    rules.write_text("".join(lines))
    (repository / "model.py").write_text(PROGRAM)
    assert shell(f"{commit} new") == 0

    text = (Path(__file__).parents[3] / "docs" / "compare.md").read_text("utf-8")
    workflow = yaml.safe_load(text.partition("```yaml\n")[2].partition("```")[0])
    env.update(workflow["env"])
    failed = False
    for step in workflow["jobs"]["compare"]["steps"]:
        if "run" in step and (not failed or step.get("if") == "always()"):
            words = step["run"].replace("${{ github.event.pull_request.base.sha }}", "HEAD~1")
            failed = shell(words.replace("${{ github.event.number }}", "7")) != 0 or failed
    base, new = (open_capture(folder / f"{name}.peep") for name in ("base", "new"))
    posted = (folder / "words").read_text().splitlines(), (folder / "body").read_text("utf-8")
    return Gated(base, new, at, failed, posted)


def diff(a: Capture, b: Capture) -> Comparison:
    return compare([recorded(a)], [recorded(b)])


class Log:
    """A rewrite log as plain Python: contexts, each a list of (pass, root, matches); graphs as numbers in `shared`."""

    def __init__(self, capture: Capture, shared: dict[Any, int]) -> None:
        nodes = capture.read("nodes")
        columns = [list(nodes.texts(name)) for name in ("op", "dtype", "arg", "tag")]
        sources = nodes.lists("src")
        self.graph: dict[int, int] = {}
        for row, number in enumerate(nodes["id"].tolist()):
            key = (*(column[row] for column in columns), tuple(self.graph[s] for s in sources[row]))
            self.graph[number] = shared.setdefault(key, len(shared))
        matches: dict[int, list[tuple[Any, ...]]] = {}
        rows = capture.read("matches")
        for step, before, after, file, line in zip(
            *(rows[name].tolist() for name in ("step", "before", "after")), rows.texts("file"), rows["line"].tolist(),
            strict=True,
        ):  # fmt: skip
            place = (str(file).rpartition("/tinygrad/")[2], line)
            matches.setdefault(step, []).append((place, self.graph[before], self.graph.get(after, -1)))
        contexts = capture.read("contexts", ["id", "name", "start"])
        self.names = dict(zip(contexts["id"].tolist(), contexts.texts("name"), strict=True))
        self.order = [
            number for _, number in sorted(zip(contexts["start"].tolist(), contexts["id"].tolist(), strict=True))
        ]
        self.steps: dict[int, list[tuple[str | None, int, list[tuple[Any, ...]]]]] = {n: [] for n in self.order}
        steps = capture.read("steps")
        for number, context, root, name in zip(
            *(steps[column].tolist() for column in ("id", "context", "root")), steps.texts("name"), strict=True
        ):
            self.steps[context].append((name, self.graph[root], matches.get(number, [])))


def walk(a: Capture, b: Capture, moved: Callable[[Any], Any] = lambda place: place) -> dict[str, tuple[int, int, str]]:
    """For each context, in order, where it differs first: ordinal of the step, match from 1, and what."""
    shared: dict[Any, int] = {}
    one, two = Log(a, shared), Log(b, shared)
    found: dict[str, tuple[int, int, str]] = {}
    seen: dict[str, int] = {}
    for x, y in zip(one.order, two.order, strict=True):
        bare = str(one.names[x])
        seen[bare] = seen.get(bare, 0) + 1
        name = bare if seen[bare] == 1 else f"{bare}#{seen[bare]}"
        mine, other = one.steps[x], two.steps[y]
        for at in range(max(len(mine), len(other))):
            if at >= len(mine) or at >= len(other) or mine[at][0] != other[at][0]:
                found[name] = (at, 0, "pass")
            elif mine[at][1] != other[at][1]:
                found[name] = (at, 0, "input")
            else:
                left = [(moved(place), *rest) for place, *rest in mine[at][2]]
                right = [tuple(match) for match in other[at][2]]
                if left == right:
                    continue
                pairs = zip(left, right, strict=False)
                first = next((i for i, (m, o) in enumerate(pairs) if m != o), min(len(left), len(right)))
                found[name] = (at, first + 1, "match")
            break
    return found


def parted(found: Comparison) -> dict[str, tuple[int, int, str]]:
    return {
        row.context_a: (row.parting.ordinal, row.parting.match, row.parting.what)
        for row in found.divergence
        if row.parting
    }


def test_the_same_program_recorded_twice_is_the_same(run: Record) -> None:
    found = diff(run(), run("again"))
    assert found.same, found.verdict
    assert not found.divergence and not found.rules and {row.state for row in found.kernels} == {"same"}
    assert walk(run(), run("again")) == {}
    assert found.verdict.startswith("The same: the same ")


def test_one_constant_changed_differs_in_three_contexts(run: Record) -> None:
    found = diff(run(), run(FACTOR="3"))
    expected = walk(run(), run(FACTOR="3"))
    assert parted(found) == expected
    assert [row.kind for row in found.divergence] == ["callify", "schedule", "kernel"]
    assert {row.parting.what for row in found.divergence if row.parting} == {"input"}
    assert [len(row.follows) for row in found.divergence] == [0, 1, 1], "the first is the cause of the others"
    assert found.divergence[1].follows == (found.divergence[0].context,)
    assert [row.state for row in found.kernels].count("changed") == 1 and not found.rules


@pytest.mark.parametrize("env", [{"NOOPT": "1"}, {"DEV": "PYTHON"}], ids=["NOOPT", "DEV"])
def test_other_settings_part_where_a_plain_walk_finds_it(run: Record, env: dict[str, str]) -> None:
    found = diff(run(), run(**env))
    expected = walk(run(), run(**env))
    assert expected and parted(found) == expected
    assert not found.same and any(row.a != row.b for row in found.rules) == (env == {"NOOPT": "1"} or bool(found.rules))


def test_beam_parts_where_a_plain_walk_finds_it(run: Record) -> None:
    if shutil.which("clang") is None:
        pytest.skip("needs clang for tinygrad's CPU device")
    a, b = run(DEV="CPU"), run(DEV="CPU", BEAM="1", IGNORE_BEAM_CACHE="1")
    found = diff(a, b)
    kernels = [row for row in found.divergence if row.kind == "kernel" and row.parting and row.parting.what != "input"]
    shared: dict[Any, int] = {}
    one, two = Log(a, shared), Log(b, shared)
    by_input = {log.steps[n][0][1]: log.steps[n] for log in (two,) for n in log.order if log.steps[n]}
    for row in kernels:
        mine = one.steps[row.unit_a]
        other = by_input[mine[0][1]]
        at = next(i for i in range(len(mine)) if i >= len(other) or mine[i] != other[i])
        assert row.parting is not None and row.parting.ordinal == at
    counts = [sum(log.names[n] is not None for n in log.order) for log in (one, two)]
    assert found.kernels and (found.a.contexts, found.b.contexts) == tuple(counts)


def test_an_edited_rule_is_found_behind_moved_lines(gated: Gated) -> None:
    found = diff(gated.base, gated.new)

    def moved(place: tuple[str, int]) -> tuple[str, int]:
        return (place[0], place[1] + 1) if place[0] == "uop/symbolic.py" and place[1] > gated.line else place

    assert parted(found) == walk(gated.base, gated.new, moved)
    assert "line numbers of rules" in found.normalised
    assert [row.rule for row in found.rules if row.edited] == [f"symbolic.py:{gated.line + 1}"]
    first = found.divergence[0]
    assert first.parting is not None and first.parting.rule_a is not None and first.parting.rule_b is not None
    assert first.parting.rule_a.line + 1 == first.parting.rule_b.line


def test_the_recipe_for_ci_posts_the_table_of_two_commits(gated: Gated) -> None:
    verdict = diff(gated.base, gated.new).verdict
    code = any(row.state == "changed" for row in diff(gated.base, gated.new).kernels)
    assert gated.failed == code, "it fails where code differs"
    words, body = gated.posted
    assert words == ["pr", "comment", "7", "--body-file", "diff.md"]
    assert body.startswith(f"### {verdict.split(';')[0]}") and f"symbolic.py:{gated.line + 1}" in body.replace("\\", "")
