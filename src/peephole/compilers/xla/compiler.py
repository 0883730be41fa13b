"""XLA, as the protocol of compilers asks about it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from peephole.compilers.labels import Look, NodeText
from peephole.compilers.protocol import AST, Compiler
from peephole.compilers.xla import labels
from peephole.model.tables import NONE

if TYPE_CHECKING:
    from peephole.compilers.answers import FoundProblem, Link, Origin, ProblemWords, Schedule, Why
    from peephole.store.capture import Capture

NAME = "xla"
KERNEL_STEP = "fused computation"
_PHASES = {
    "trace": "JAX traces the function",
    "lower": "JAX writes it as StableHLO",
    "compile": "XLA compiles it",
}


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

    def counted_name(self, name: str) -> str:
        """A module's name without its number, which counts the modules of the process."""
        return re.sub(r"^module_[0-9]+\.", "", name)

    def comparable_code(self, text: str) -> tuple[str, str]:
        """See `llvm_text`."""
        from peephole.compilers.xla.llvm_text import ARGUMENT_ORDER, without_order

        found, away = without_order(text)
        return found, ARGUMENT_ORDER if away else ""

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

    tells_problems = True

    def problem(self, kind: str, reason: str) -> ProblemWords | None:
        """See `problems`."""
        from peephole.compilers.xla.problems import recompiled

        return recompiled(reason) if kind == "recompile" else super().problem(kind, reason)

    def found_problems(self, capture: Capture) -> list[FoundProblem]:
        """See `problems`."""
        from peephole.compilers.xla.problems import found_problems

        return found_problems(capture)

    def phase(self, name: str) -> str:
        """What JAX does in a phase of its own."""
        return _PHASES.get(name.partition(" ")[0], "")

    def origins(self, capture: Capture) -> list[Origin]:
        """See `origin`."""
        from peephole.compilers.xla.origin import all_origins

        return all_origins(capture)

    def chain(self, capture: Capture, step: int, node: int) -> list[Link]:
        """See `chain`."""
        from peephole.compilers.xla.chain import chain

        return chain(capture, step, node)

    def named(self, capture: Capture, name: str) -> list[tuple[int, int]]:
        """See `chain`."""
        from peephole.compilers.xla.chain import named

        return named(capture, name)


compiler = Xla(NAME)
