"""torch.compile, as the protocol of compilers asks about it."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from peephole.compilers.labels import Look, NodeText
from peephole.compilers.protocol import KERNELS, Compiler
from peephole.compilers.torch import labels
from peephole.model.tables import NONE

if TYPE_CHECKING:
    from peephole.compilers.answers import Link, Origin, ProblemWords, Schedule, Why
    from peephole.store.capture import Capture

NAME = "torch"
_VAIN: Final = "rules tried in vain"
_GRAPH_NUMBER: Final = re.compile(r"^(# AOT ID: \[')\d+(?=_)", re.MULTILINE)
_GRAPH_NUMBERS: Final = "numbers of graphs in the code of torch"


class Torch(Compiler):
    """What is known about FX graphs and what Inductor makes of them."""

    track = "torch.compile"
    tells_problems = True

    def look(self, text: NodeText) -> Look:
        """See `labels`."""
        return labels.look(text)

    def type_name(self, dtype: str) -> str:
        """`f32` for `float32`."""
        return labels.type_name(dtype)

    def python_text(
        self, texts: Sequence[NodeText], tags: Sequence[str | None], src: Sequence[Sequence[int]], root: int
    ) -> str:
        """Nothing: the listing by name is the notation that FX users know."""
        return ""

    def comparable_code(self, text: str) -> tuple[str, str]:
        """Without the number of a graph among all that the process compiled."""
        found = _GRAPH_NUMBER.sub(r"\1", text)
        return found, _GRAPH_NUMBERS if found != text else ""

    def role(self, step: str) -> str:
        """The step whose graph is the kernels."""
        return KERNELS if step == "codegen" else ""

    def called_context(self, capture: Capture, step: int, node: int) -> int:
        """The context of a kernel by its call in the graph after codegen."""
        from peephole.compilers.torch.halves import half_of
        from peephole.compilers.traces import trace_of

        trace = trace_of(capture)
        half = half_of(capture, trace.number("context", trace.step_row(step)))
        for call in half.calls:
            if call.id == node:
                return half.kernels.get(call.name, half.kernels.get(call.name.rpartition(".")[0], NONE))
        return NONE

    def is_schedule(self, kind: str) -> bool:
        """A half is one: what Inductor compiles at once."""
        return kind == "half"

    def schedule(self, capture: Capture, context: int) -> Schedule:
        """See `schedule`."""
        from peephole.compilers.torch.schedule import schedule

        return schedule(capture, context)

    def computed_in(self, capture: Capture, name: str) -> list[tuple[int, int]]:
        """See `why`."""
        from peephole.compilers.torch.why import computed_in

        return computed_in(capture, name)

    def why(self, capture: Capture, schedule_a: int, a: int, schedule_b: int, b: int) -> Why:
        """See `why`."""
        from peephole.compilers.torch.why import why_kernels

        return why_kernels(capture, schedule_a, a, schedule_b, b)

    def in_words(self, reason: str) -> str:
        """See `words`."""
        from peephole.compilers.torch.words import in_words

        return in_words(reason)

    def origins(self, capture: Capture) -> list[Origin]:
        """See `origin`."""
        from peephole.compilers.torch.origin import all_origins

        return all_origins(capture)

    def chain(self, capture: Capture, step: int, node: int) -> list[Link]:
        """See `chain`."""
        from peephole.compilers.torch.chain import chain

        return chain(capture, step, node)

    def named(self, capture: Capture, name: str) -> list[tuple[int, int]]:
        """See `chain`."""
        from peephole.compilers.torch.chain import named

        return named(capture, name)

    def problem(self, kind: str, reason: str) -> ProblemWords | None:
        """See `problems`."""
        from peephole.compilers.torch.problems import problem_words

        return problem_words(kind, reason)

    def phase(self, name: str) -> str:
        """See `problems`."""
        from peephole.compilers.torch.problems import phase_words

        return phase_words(name)

    def tried_in_vain(self, capture: Capture) -> dict[tuple[str | None, int], tuple[int, int]]:
        """What the recording counted: rules that matched, looked closer and left the graph as it was."""
        frame = capture.read("artifacts", ["name"])
        names = frame.texts("name")
        found: dict[tuple[str | None, int], tuple[int, int]] = {}
        for row, code in enumerate(names.codes.tolist()):
            if code != names.code(_VAIN):
                continue
            content = capture.read("artifacts", ["content"], slice(row, row + 1)).blobs("content")[0] or b"[]"
            for file, line, count, dur in _rows(content):
                known = found.get((file, line), (0, 0))
                found[file, line] = (known[0] + count, known[1] + dur)
        return found


def _rows(content: bytes) -> list[tuple[str | None, int, int, int]]:
    """The rows of the artifact; a damaged one has none."""
    try:
        rows = json.loads(content)
        return [(file if isinstance(file, str) else None, int(a), int(b), int(c)) for file, a, b, c in rows]
    except (ValueError, TypeError):
        return []


compiler = Torch(NAME)
