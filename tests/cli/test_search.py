"""`peephole search`: what it prints, and what it says of a query that finds nothing or is none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.timeline_capture import write_timeline

from peephole.cli.main import main


@pytest.fixture
def steps(capture_dir: Path) -> Path:
    return write_timeline(capture_dir / "steps.peep")


def test_a_hit_has_its_kind_runs_and_time(capsys: pytest.CaptureFixture[str], steps: Path) -> None:
    assert main(["search", "E_16384", str(steps)]) == 0
    head, line = capsys.readouterr().out.splitlines()
    assert head.split() == ["kind", "name", "matches", "runs", "total", "in"]
    assert line.split() == ["slice", "E_16384_4", "480", "5.76", "ms", "timeline"]
    assert main(["search", "--json", "E_16384", str(steps)]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["kind"], found["name"], found["runs"], found["total_ns"]) == ("slice", "E_16384_4", 480, 5_760_000)


def test_the_number_of_hits_is_limited_and_zero_is_no_limit(capsys: pytest.CaptureFixture[str], steps: Path) -> None:
    assert main(["search", "-n", "0", "kind:slice", str(steps)]) == 0
    _, *every = capsys.readouterr().out.splitlines()
    assert len(every) > 3
    assert main(["search", "-n", "2", "kind:slice", str(steps)]) == 0
    _, *lines, more = capsys.readouterr().out.splitlines()
    assert lines == every[:2]
    assert more == f"{len(every) - 2} more; -n {len(every)} shows all"


@pytest.mark.parametrize("query", ["", "  ", "kind:", '""'])
def test_a_query_without_anything_to_look_for_is_refused(
    capsys: pytest.CaptureFixture[str], steps: Path, query: str
) -> None:
    assert main(["search", query, str(steps)]) == 2
    assert capsys.readouterr().err.startswith("peephole: There is nothing to look for")


def test_nothing_found_has_close_names_and_a_wrong_kind_the_right_ones(
    capsys: pytest.CaptureFixture[str], steps: Path
) -> None:
    assert main(["search", "E_16348_4", str(steps)]) == 1
    assert "Nothing is named E_16348_4. Close to it: E_16384_4" in capsys.readouterr().out
    assert main(["search", "kind:kernels", str(steps)]) == 2
    assert "There is no kind kernels; there are kernel," in capsys.readouterr().err
