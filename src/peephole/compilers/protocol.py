"""What a compiler may fill in. Every method has an answer for a compiler that fills in nothing.

A compiler lives in a folder of this room and has one line in the table of `peephole.compilers`;
docs/develop/compilers.md says how to add one. Methods are asked about contexts of this compiler alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, Final

from peephole.compilers.labels import Facts, Look, NodeText, plain_look
from peephole.errors import PeepholeError
from peephole.model.tables import NONE

if TYPE_CHECKING:
    from peephole.compilers.answers import FoundProblem, LineOrigins, Link, Origin, ProblemWords, Schedule, Why
    from peephole.compilers.hardware import Instruction
    from peephole.replay.rules import Rules
    from peephole.store.capture import Capture

AST: Final = "ast"
KERNELS: Final = "kernels"
"""Roles of steps: the graph that a kernel is compiled from, and the kernels that a schedule became."""

PROBLEMS: Final = ("break", "recompile", "specialization", "fallback", "copy", "memory", "buffer", "slow")
"""Kinds of problems, in the order in which they are listed."""


class Compiler:
    """A compiler that nothing is known about but its name: what it recorded is shown as it is."""

    track: ClassVar[str] = "COMPILER"
    """What its work is listed under in a capture that has no track of it."""
    kernel_graph: ClassVar[str] = "Graph"
    """What the graph that a kernel is compiled from is called."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.looks: dict[NodeText, Look] = {}
        self.insides: dict[tuple[NodeText, tuple[str | None, ...]], str] = {}
        """Looks and arguments that were made; `labels` keeps them."""

    # the engine

    def rules(self, frameworks: Mapping[str, str]) -> Rules:
        """What a replay has to know about the IR; `frameworks` are the releases that a capture was recorded with."""
        from peephole.replay.rules import Rules

        return Rules()

    # labels

    def look(self, text: NodeText) -> Look:
        """How a node looks: its label, its family (colour), what may be folded away."""
        return plain_look(text)

    def constants(self, texts: Sequence[NodeText], src: Sequence[Sequence[int]], root: int) -> list[str | None]:
        """For each node of a graph, the value that it stands as in its users' labels; None for a box of its own."""
        return [None] * len(texts)

    def argument(self, text: NodeText, constants: tuple[str | None, ...]) -> str:
        """The argument in a box's label with the values of its constant sources (None: not a constant)."""
        return self.look(text).arg

    def facts(self, texts: Sequence[NodeText], src: Sequence[Sequence[int]]) -> Facts | None:
        """What the graph around its nodes says about them; None for nothing."""
        return None

    def type_name(self, dtype: str) -> str:
        """An element type as a user reads it."""
        return dtype

    def python_text(
        self, texts: Sequence[NodeText], tags: Sequence[str | None], src: Sequence[Sequence[int]], root: int
    ) -> str:
        """A graph in the notation that the compiler's own users know; empty when there is none."""
        return ""

    # names

    def context_name(self, name: str) -> str:
        """A context's own name in what its slices or the compiler's other tools call it; the same when it is that."""
        return name

    def artifact_kind(self, step: str) -> str:
        """The kind of artifact that the compiler's own viewer lists as a step of that name; empty for none."""
        return ""

    # comparing two recordings

    def counted_name(self, name: str) -> str:
        """A name without the counter that tells it from others of its process; the same when it has none."""
        return name

    def comparable(self, op: str, arg: str) -> tuple[str, int]:
        """An argument without what differs from run to run, and the number that was taken out of it, -1 for none.

        Numbers are compared by their order among those of one context: `7` and `9` are to one what `3` and `4` are to
        another. A number that the program chose is no such number.
        """
        return arg, NONE

    def comparable_code(self, text: str) -> tuple[str, str]:
        """Code of a kernel without what differs from run to run, and what that was in words, empty for nothing."""
        return text, ""

    # steps and calls

    def role(self, step: str) -> str:
        """What a step of that name is there to show: AST, KERNELS, or empty for a pass like any other."""
        return ""

    def called_context(self, capture: Capture, step: int, node: int) -> int:
        """The context that a node of a step's graphs, by its id, was compiled in; -1 for none."""
        return NONE

    # schedules

    def is_schedule(self, kind: str) -> bool:
        """Whether a context of that kind is a schedule: one that `schedule` can be asked about."""
        return False

    def schedule(self, capture: Capture, context: int) -> Schedule:
        """The kernels and buffers that a schedule became."""
        raise PeepholeError(f"{self.name} records no schedules, so the kernels of context {context} are not known.")

    def why(self, capture: Capture, schedule_a: int, a: int, schedule_b: int, b: int) -> Why:
        """Why two kernels, by schedule and place in it, are two."""
        raise PeepholeError(f"{self.name} records no schedules, so why two kernels are two is not known.")

    def computed_in(self, capture: Capture, name: str) -> list[tuple[int, int]]:
        """Schedule and place of the kernels that compute an instruction of that name; none when it is not known."""
        return []

    def in_words(self, reason: str) -> str:
        """A reason of a decision in words of somebody who does not know the compiler; empty when there are none."""
        return ""

    def tried_in_vain(self, capture: Capture) -> dict[tuple[str | None, int], tuple[int, int]]:
        """Rules that matched and changed nothing, by file and line: how often, and how long in ns."""
        return {}

    # where code comes from

    def origins(self, capture: Capture) -> list[Origin]:
        """Where every kernel of every schedule came from."""
        return []

    def chain(self, capture: Capture, step: int, node: int) -> list[Link]:
        """From the program's line over a node of a step's graphs to the kernels that compute it; none when unknown."""
        return []

    def named(self, capture: Capture, name: str) -> list[tuple[int, int]]:
        """Step and node of the instructions of that name that `chain` can be asked about."""
        return []

    def line_origins(self, capture: Capture, context: int, operations: bool) -> LineOrigins | None:
        """Where each line of a kernel's source came from; None when that is not known."""
        return None

    # problems

    tells_problems: ClassVar[bool] = False
    """Whether a capture without problems is worth saying so, and slow phases are looked for."""

    def problem(self, kind: str, reason: str) -> ProblemWords | None:
        """A decision's kind and reason in parts; None when a decision of that kind is no problem."""
        from peephole.compilers.answers import ProblemWords

        if kind not in PROBLEMS:
            return None
        title, _, rest = reason.strip().partition("\n")
        return ProblemWords(kind, title or kind, " ".join(rest.split()) or title)

    def found_problems(self, capture: Capture) -> list[FoundProblem]:
        """Problems that are in what was recorded, beside those that passes decided."""
        return []

    def phase(self, name: str) -> str:
        """What happens in a phase of that name; empty when it is not known."""
        return ""

    # machine code

    def instructions(self, code: bytes, arch: str) -> list[Instruction]:
        """A GPU's machine code as instructions; Undecodable when they are not known here."""
        from peephole.compilers.hardware import NoDecoder

        raise NoDecoder(f"{self.name} does not know the instructions of {arch}.")
