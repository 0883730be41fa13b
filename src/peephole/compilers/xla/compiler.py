"""XLA, as the protocol of compilers asks about it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from peephole.compilers.labels import Look, NodeText
from peephole.compilers.protocol import AST, Compiler
from peephole.compilers.xla import labels
from peephole.model.tables import NONE

if TYPE_CHECKING:
    from peephole.compilers.answers import Origin, Schedule, Why
    from peephole.store.capture import Capture

NAME = "xla"
KERNEL_STEP = "fused computation"


class Xla(Compiler):
    """What is known about HLO."""

    track = "XLA"

    def look(self, text: NodeText) -> Look:
        """See `labels`."""
        return labels.look(text)

    def constants(self, texts: Sequence[NodeText], src: Sequence[Sequence[int]], root: int) -> list[str | None]:
        """See `labels`."""
        return labels.constants(texts, src, root)

    def argument(self, text: NodeText, constants: tuple[str | None, ...]) -> str:
        """See `labels`."""
        return labels.argument(text, constants)

    def role(self, step: str) -> str:
        """The graph that a kernel computes."""
        return AST if step == KERNEL_STEP else ""

    def called_context(self, capture: Capture, step: int, node: int) -> int:
        """The kernel that a fusion of the final graph became."""
        from peephole.compilers.traces import trace_of
        from peephole.compilers.xla.kernels import kernel_contexts

        trace = trace_of(capture)
        module = trace.number("context", trace.step_row(step))
        row = int(trace.table.rows([node])[0])
        name = trace.instructions().name(row) if row >= 0 else None
        for kernel in kernel_contexts(capture):
            if kernel.module == module and kernel.name == name and name is not None:
                return kernel.context
        return NONE

    def is_schedule(self, kind: str) -> bool:
        """A module is: its final graph says what runs."""
        return kind == "module"

    def schedule(self, capture: Capture, context: int) -> Schedule:
        """See `schedule`."""
        from peephole.compilers.xla.schedule import module_schedule

        return module_schedule(capture, context)

    def why(self, capture: Capture, schedule_a: int, a: int, schedule_b: int, b: int) -> Why:
        """See `fusion`."""
        from peephole.compilers.xla.fusion import why_kernels

        return why_kernels(capture, schedule_a, a, schedule_b, b)

    def origins(self, capture: Capture) -> list[Origin]:
        """See `origin`."""
        from peephole.compilers.xla.origin import all_origins

        return all_origins(capture)


compiler = Xla(NAME)
