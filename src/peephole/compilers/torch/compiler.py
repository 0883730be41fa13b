"""torch.compile, as the protocol of compilers asks about it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from peephole.compilers.protocol import Compiler

if TYPE_CHECKING:
    from peephole.compilers.answers import ProblemWords

NAME = "torch"


class Torch(Compiler):
    """What is known about FX graphs and what Inductor makes of them."""

    track = "torch.compile"
    tells_problems = True

    def problem(self, kind: str, reason: str) -> ProblemWords | None:
        """See `problems`."""
        from peephole.compilers.torch.problems import problem_words

        return problem_words(kind, reason)

    def phase(self, name: str) -> str:
        """See `problems`."""
        from peephole.compilers.torch.problems import phase_words

        return phase_words(name)


compiler = Torch(NAME)
