"""Each tutorial, word for word: programs written, commands typed, and what it says they print is printed."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
import tutorials

LESSONS = sorted(page for page in tutorials.PAGES.glob("*.md") if page.stem != "index")


@pytest.mark.slow
@pytest.mark.parametrize("page", LESSONS, ids=lambda page: page.stem)
def test_what_the_page_says_is_so(page: Path, tmp_path: Path) -> None:
    if shutil.which("clang") is None:
        pytest.skip("the tutorials run on tinygrad's CPU device, which needs clang")
    if not tutorials.prepare(page, tmp_path):
        pytest.skip(f"{tutorials.SAMPLES[page.stem][0]} is a reader's own; the sample for it is not here (../shared)")
    typed = 0
    for step in tutorials.steps(page):
        if isinstance(step, tutorials.Picture):
            assert (tutorials.PAGES.parent / "pictures" / f"{step.name}.png").exists(), "run `make pictures`"
            continue
        printed = tutorials.do(step, tmp_path)
        if isinstance(step, tutorials.Typed):
            typed += 1
            lost = tutorials.missing(step, printed)
            assert lost is None, f"$ {step.command}\nsays nothing like\n{lost}\nbut\n{printed}"
    assert typed > 2


def test_a_figure_stands_for_any_and_a_number_for_itself() -> None:
    pattern = tutorials.pattern_of("CPU    E_4   1.18 ms  30.4%   1  …end")
    assert pattern.search("CPU  E_4  2 s  7.1%  1  anything end")
    assert not pattern.search("CPU  E_4  2 s  7.1%  2  anything end")
    assert not pattern.search("CPU  E_5  2 s  7.1%  1  anything end")


def test_lines_are_looked_for_in_their_order() -> None:
    typed = tutorials.Typed("x", ("b", "a"))
    assert tutorials.missing(typed, "b\nc\na") is None
    assert tutorials.missing(typed, "a\nb") == "a"


def test_every_lesson_is_in_the_list() -> None:
    listed = set(re.findall(r"\]\((\w+)\.md\)", (tutorials.PAGES / "index.md").read_text("utf-8")))
    assert listed == {page.stem for page in LESSONS}
