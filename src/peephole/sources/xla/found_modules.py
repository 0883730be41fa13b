"""The modules that were read, as profiles and traces name them."""

from __future__ import annotations

from peephole.model.tables import NONE
from peephole.sources.xla.modules import ReadModule


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

    def has(self, number: int, name: str) -> bool:
        """Whether there is one of that number and name."""
        return any(one.name == name for one in self._by_number.get(number, ()))

    def is_alone(self, module: ReadModule) -> bool:
        """Whether no other process had one of its number."""
        return len({one.folder for one in self._by_number[module.number]}) == 1

    def context_of(self, program: int, module: str, instruction: str) -> int:
        """The kernel, or else the module, that a program of that number ran."""
        known = self._by_number.get(program)
        named = [one for one in known or () if one.name == module or not module]
        if known is None:
            named = self._by_name.get(module, [])
        if not module:
            named = named[:1] if named and self.is_alone(named[0]) else []
        return named[0].kernels.get(instruction, named[0].context) if len(named) == 1 else NONE

    def only_context_of(self, module: str, instruction: str) -> int:
        """What a kernel of a trace without the numbers of modules ran, where its names leave no choice."""
        named = self._by_name.get(module, [])
        if len(named) > 1:
            named = [one for one in named if instruction in one.names]
        return named[0].kernels.get(instruction, named[0].context) if len(named) == 1 else NONE
