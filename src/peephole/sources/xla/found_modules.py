"""The modules that were read, as profiles and traces name them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from peephole.model.tables import NONE
from peephole.sources.xla.modules import ReadModule

_LOADED: Final = 2
"""A module out of JAX's cache gets a number when it is loaded, which its kernels are called by, and then, within so
many numbers, the one that the profile has it under (seen with jaxlib 0.10.2)."""


class FoundModules:
    """Leads to a module where what is said of it leaves no choice, else nowhere."""

    def __init__(self) -> None:
        self.all: list[ReadModule] = []
        self._by_number: dict[int, list[ReadModule]] = {}
        self._by_name: dict[str, list[ReadModule]] = {}

    def add(self, module: ReadModule | None) -> None:
        """One more, if it could be read."""
        if module is not None:
            self.all.append(module)
            self._by_number.setdefault(module.number, []).append(module)
            self._by_name.setdefault(module.name, []).append(module)

    def has(self, process: str, number: int, name: str) -> bool:
        """Whether a process has one of that number and name."""
        return any(one.name == name for one in _of(process, self._by_number.get(number, ())))

    def context_of(self, process: str, program: int, module: str, instruction: str) -> int:
        """The kernel, or else the module, that a process ran as the program of that number."""
        numbered = _of(process, self._by_number.get(program, ()))
        named = [one for one in numbered if one.name == module or not module]
        if not numbered:
            named = _of(process, self._by_name.get(module, ()))
            if len(named) > 1:
                named = [one for one in named if one.is_loaded and 0 < one.number - program <= _LOADED]
        is_known = len({one.process for one in named}) == 1 and (bool(numbered) or len(named) == 1)
        return named[0].kernels.get(instruction, named[0].context) if is_known else NONE

    def only_context_of(self, module: str, instruction: str) -> int:
        """What a kernel of a trace without the numbers of modules ran, where its names leave no choice."""
        named = self._by_name.get(module, [])
        if len(named) > 1:
            named = [one for one in named if instruction in one.names]
        return named[0].kernels.get(instruction, named[0].context) if len(named) == 1 else NONE


def _of(process: str, modules: Iterable[ReadModule]) -> list[ReadModule]:
    """Those of a process; all of them when it is not known."""
    return [one for one in modules if one.process == process or not process]
