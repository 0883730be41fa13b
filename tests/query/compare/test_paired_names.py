"""Phases and calls that name a kernel meet those of the other side, where it is called otherwise."""

from __future__ import annotations

from pathlib import Path

from tests.query.compare.generated import Kernel, write_kernels

from peephole.query.compare.comparison import compared
from peephole.query.compare.curves import call_rows
from peephole.query.compare.paired_names import PairedNames, paired_names
from peephole.query.compare.recorded import recorded
from peephole.store.capture import Capture, open_capture
from peephole.store.writer import CaptureWriter

OLD = [Kernel(0, "r_4", 1, "  x = 1;", 3), Kernel(1, "E_8", 2, "  y = 2;", 4), Kernel(2, "E_9", 3, "  z = 3;", 5)]
NEW = [Kernel(0, "r_32", 1, "  x = 7;", 3), Kernel(1, "E_8", 2, "  y = 2;", 4), Kernel(2, "E_9", 3, "  z = 3;", 5)]


def recording(path: Path, kernels: list[Kernel]) -> Capture:
    """Kernels, and a host that compiled each of them."""

    def host(writer: CaptureWriter) -> None:
        writer.append("tracks", {"id": [7], "name": ["main"], "kind": ["thread"]})
        rows = range(len(kernels))
        writer.append(
            "slices",
            {
                "track": [7] * 2 * len(kernels),
                "start": [start for at in rows for start in (at * 1000, at * 1000 + 10)],
                "dur": [dur for at in rows for dur in (900, 100 * (at + 1))],
                "name": [name for kernel in kernels for name in (f"compile {kernel.name}", "render")],
                "depth": [0, 1] * len(kernels),
            },
        )

    return open_capture(write_kernels(path, kernels, {}, more=host))


def test_a_phase_is_compared_with_that_of_the_kernel_it_is_about(tmp_path: Path) -> None:
    a, b = recording(tmp_path / "a.peep", OLD), recording(tmp_path / "b.peep", NEW)
    found = compared([recorded(a)], [recorded(b)])
    host = {row.name: row for row in found.comparison.times if row.group == "host"}
    assert (host["compile r_4"].count_a, host["compile r_4"].count_b) == (1, 1)
    assert host["compile r_4"].name_b == "compile r_32" and "compile r_32" not in host
    called = paired_names(found.a.compiled, found.b.compiled, found.pairs.pairs)
    rows = {(row.name, row.name_b, row.depth): row for row in call_rows(a, b, called).rows}
    assert rows["compile r_4", "compile r_32", 0].total_b == 900
    by_name = call_rows(a, b, PairedNames()).rows
    assert {row.name: (row.calls_a, row.calls_b) for row in by_name if "r_" in row.name} == {
        "compile r_4": (1, 0),
        "compile r_32": (0, 1),
    }


def test_a_name_that_stands_for_several_is_left_alone(tmp_path: Path) -> None:
    """B calls two kernels r_32 that A calls r_4 and r_5: what `compile r_32` is about is not known."""
    old = [Kernel(0, "r_4", 1, "  x = 1;", 3), Kernel(1, "r_5", 2, "  y = 2;", 4)]
    new = [Kernel(0, "r_32", 1, "  x = 7;", 3), Kernel(1, "r_32", 2, "  y = 8;", 4)]
    a, b = recording(tmp_path / "a.peep", old), recording(tmp_path / "b.peep", new)
    found = compared([recorded(a)], [recorded(b)])
    assert {row.how for row in found.comparison.kernels} == {"input"}
    assert paired_names(found.a.compiled, found.b.compiled, found.pairs.pairs) == PairedNames({}, {})
