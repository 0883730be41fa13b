"""From a kernel to the user's program and back, and from a line of its source to the op and rule that wrote it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from peephole.compilers import compiler_of, compilers_in
from peephole.compilers.answers import LineOrigin, LineOrigins, Origin
from peephole.model.tables import NONE
from peephole.replay.source_lines import artifact_lines, artifact_of

if TYPE_CHECKING:
    from peephole.store.capture import Capture


def origins(capture: Capture, context: int) -> list[Origin]:
    """Where the kernel of a context came from: one answer for each place in a schedule at which it runs."""
    return [origin for origin in compiler_of(capture, context).origins(capture) if origin.context == context]


def all_origins(capture: Capture) -> list[Origin]:
    """The origins of all kernels, schedule by schedule."""
    return [origin for compiler in compilers_in(capture) for origin in compiler.origins(capture)]


def kernels_of(capture: Capture, line: str) -> list[Origin]:
    """The kernels that compute something of a line, given as `file:line` or the end of it (`prog.py:4`)."""
    return [
        origin
        for origin in all_origins(capture)
        if any(is_line(operation.line, line) for operation in origin.operations) or is_line(origin.realized_at, line)
    ]


def computing(capture: Capture, name: str) -> list[Origin]:
    """The kernels that compute an operation (`softmax`), a buffer or a scheduler node of that name."""
    places = {place for compiler in compilers_in(capture) for place in compiler.computed_in(capture, name)}
    return [origin for origin in all_origins(capture) if (origin.schedule, origin.index) in places]


def is_line(line: str | None, wanted: str) -> bool:
    """Whether `file:line` is the one that is meant, which may be given without its folders."""
    return line is not None and (line == wanted or line.endswith("/" + wanted))


def line_origins(capture: Capture, context: int, *, operations: bool = False) -> LineOrigins:
    """The origin of every line of a kernel's source. With `operations` all schedules are read, which takes longer."""
    compiler = compiler_of(capture, context)
    found = compiler.line_origins(capture, context, operations)
    if found is None:
        row, lines = artifact_of(capture, context, "source")
        note = f"{compiler.name} does not say where the lines of a source come from."
        unknown = [LineOrigin(line, "none", [], NONE, NONE, "", 0, None, []) for line in range(1, len(lines) + 1)]
        found = LineOrigins(context, row, note, [] if operations else None, unknown)
    return found


def source_lines(capture: Capture, artifact: int) -> list[str]:
    """The lines of a source, by the row of its artifact: as many as `LineOrigins.lines`."""
    return artifact_lines(capture, artifact)
