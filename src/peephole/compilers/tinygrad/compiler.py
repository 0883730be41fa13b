"""tinygrad, as the protocol of compilers asks about it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from peephole.compilers.labels import Facts, Look, NodeText
from peephole.compilers.protocol import AST, KERNELS, Compiler
from peephole.compilers.tinygrad import counters, expressions, labels, passes

if TYPE_CHECKING:
    from peephole.compilers.answers import LineOrigins, Origin, Schedule, Why
    from peephole.compilers.hardware import Instruction
    from peephole.replay.rules import Rules
    from peephole.store.capture import Capture

NAME = "tinygrad"
_CALLED: Final = re.compile(r"(?:\w+ for |codegen@)(.+)")


class Tinygrad(Compiler):
    """What is known about tinygrad's UOps."""

    track = "TINY"
    kernel_graph = "AST"

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._facts = expressions.KnownFacts()

    def rules(self, frameworks: Mapping[str, str]) -> Rules:
        """Those of the release that was recorded."""
        from peephole.compilers.tinygrad.rules import TinygradRules

        return TinygradRules(frameworks.get(NAME, ""))

    def look(self, text: NodeText) -> Look:
        """See `labels`."""
        return labels.look(text)

    def constants(self, texts: Sequence[NodeText], src: Sequence[Sequence[int]], root: int) -> list[str | None]:
        """See `labels`."""
        return labels.constants(texts, src, root)

    def argument(self, text: NodeText, constants: tuple[str | None, ...]) -> str:
        """See `labels`."""
        return labels.argument(text, constants)

    def facts(self, texts: Sequence[NodeText], src: Sequence[Sequence[int]]) -> Facts:
        """See `expressions`."""
        return self._facts.of(texts, src)

    def python_text(
        self, texts: Sequence[NodeText], tags: Sequence[str | None], src: Sequence[Sequence[int]], root: int
    ) -> str:
        """See `notation`."""
        from peephole.compilers.tinygrad.notation import python_text

        return python_text(texts, tags, src, root)

    def type_name(self, dtype: str) -> str:
        """`float` for `dtypes.float`."""
        return labels.type_name(dtype)

    def context_name(self, name: str) -> str:
        """`E_3` for `do_to_program for E_3`, as its slice is named, and for `codegen@E_3`, as VIZ labels a call."""
        found = _CALLED.fullmatch(name)
        return found[1] if found else name

    def artifact_kind(self, step: str) -> str:
        """VIZ lists a kernel's code among its steps."""
        return {"View UOp List": "oplist", "View Source": "source", "View Disassembly": "assembly"}.get(step, "")

    def counted_name(self, name: str) -> str:
        """See `counters`."""
        return counters.counted_name(name)

    def comparable(self, op: str, arg: str) -> tuple[str, int]:
        """See `counters`."""
        return counters.comparable(op, arg)

    def role(self, step: str) -> str:
        """The steps that tinygrad adds for a viewer's sake."""
        return {passes.AST: AST, passes.KERNELS: KERNELS}.get(step, "")

    def called_context(self, capture: Capture, step: int, node: int) -> int:
        """See `calls`."""
        from peephole.compilers.tinygrad.calls import called_context

        return called_context(capture, step, node)

    def is_schedule(self, kind: str) -> bool:
        """Contexts of that kind, and no others."""
        return kind == "schedule"

    def schedule(self, capture: Capture, context: int) -> Schedule:
        """See `schedule`."""
        from peephole.compilers.tinygrad.schedule import split

        return split(capture, context).schedule

    def why(self, capture: Capture, schedule_a: int, a: int, schedule_b: int, b: int) -> Why:
        """See `fusion`."""
        from peephole.compilers.tinygrad.fusion import why_kernels

        return why_kernels(capture, schedule_a, a, schedule_b, b)

    def origins(self, capture: Capture) -> list[Origin]:
        """See `origin`."""
        from peephole.compilers.tinygrad.origin import all_origins

        return all_origins(capture)

    def line_origins(self, capture: Capture, context: int, operations: bool) -> LineOrigins:
        """See `line_origin`."""
        from peephole.compilers.tinygrad.line_origin import line_origins

        return line_origins(capture, context, operations=operations)

    def instructions(self, code: bytes, arch: str) -> list[Instruction]:
        """See `disassembly`."""
        from peephole.compilers.tinygrad.disassembly import instructions

        return instructions(code, arch)


compiler = Tinygrad(NAME)
