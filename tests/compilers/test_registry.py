"""Which compiler a context belongs to, and that none is loaded before it is asked about."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from peephole.compilers import COMPILERS, compiler_named, compiler_of, compilers_in
from peephole.compilers.labels import LONGEST, cut_kernel
from peephole.compilers.protocol import Compiler
from peephole.store.capture import open_capture
from peephole.store.writer import CaptureWriter


@pytest.mark.parametrize(
    ("facts", "compiler", "expected"),
    [
        ({"source": "tinygrad"}, None, "tinygrad"),
        ({"frameworks": {"tinygrad": "0.14.0"}}, None, "tinygrad"),
        ({"source": "record"}, None, "track_rewrites"),
        ({"frameworks": {"tinygrad": "0.14.0"}}, "track_rewrites", "track_rewrites"),
        ({"source": "record"}, "tinygrad", "tinygrad"),
        ({"source": "record"}, "somebody", "somebody"),
    ],
)
def test_the_capture_says_it_and_older_ones_by_their_manifest(
    tmp_path: Path, facts: dict[str, object], compiler: str | None, expected: str
) -> None:
    with CaptureWriter(tmp_path / "a.peep") as writer:
        writer.describe(**facts)
        writer.append("contexts", {"id": [7], "name": ["x"], "kind": ["schedule"], "compiler": [compiler]})
    capture = open_capture(tmp_path / "a.peep")
    assert compiler_of(capture, 7).name == expected
    assert [one.name for one in compilers_in(capture)] == [expected]


def test_every_compiler_of_the_table_is_there() -> None:
    for name in COMPILERS:
        found = compiler_named(name)
        assert found.name == name and type(found) is not Compiler and compiler_named(name) is found
    assert type(compiler_named("")) is Compiler


def test_the_table_loads_nothing() -> None:
    loaded = (
        "import sys, peephole.compilers; print({'numpy', 'tinygrad', 'peephole.compilers.tinygrad'} & {*sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", loaded], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "set()"


def test_the_name_of_a_kernel_keeps_both_ends() -> None:
    """Names of one start are told apart by their end, in the boxes of every compiler's schedule."""
    name = "cpp_fused_add_mse_loss_mul_native_layer_norm_view_3"
    assert cut_kernel("r_16_4") == "r_16_4"
    assert cut_kernel(name).startswith("cpp_fused_add_mse") and cut_kernel(name).endswith("_view_3")
    assert len(cut_kernel(name)) <= LONGEST
