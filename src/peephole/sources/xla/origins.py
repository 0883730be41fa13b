"""Where an instruction came from, as one text: `jit(f)/mul@prog.py:9 norm < prog.py:24 block`.

The compiler's folder reads it again (`compilers/xla/origin.py`).
"""

from __future__ import annotations

from typing import Final

from peephole.sources.xla.instructions import Frame, Instruction

MOST_FRAMES: Final = 32
"""Calls of a stack that are kept, the innermost first."""


class OriginTexts:
    """The origins of a module's instructions under the frames of one dump."""

    def __init__(self) -> None:
        self.frames: dict[int, Frame] = {}
        self._stacks: dict[int, str] = {}

    def use(self, frames: dict[int, Frame]) -> bool:
        """Takes another dump's frames; whether a number means something else than before."""
        if frames is self.frames:
            return False
        old = self.frames
        self.frames = frames
        if all(frames.get(number) == frame for number, frame in old.items()):
            return False
        self._stacks.clear()
        return True

    def of(self, one: Instruction) -> str | None:
        """The origin of an instruction; None when nothing is known."""
        place = self.stack(one.frame) if one.frame else one.place
        if not one.op_name and not place:
            return None
        return f"{one.op_name}@{place}" if place else one.op_name

    def stack(self, number: int) -> str:
        """`prog.py:9 norm < prog.py:24 block`: the calls from a frame outwards."""
        found = self._stacks.get(number)
        if found is None:
            calls: list[str] = []
            at = number
            while at in self.frames and len(calls) < MOST_FRAMES:
                frame = self.frames[at]
                calls.append(f"{frame.file}:{frame.line} {frame.function}")
                at = frame.parent
            found = self._stacks[number] = " < ".join(calls)
        return found
