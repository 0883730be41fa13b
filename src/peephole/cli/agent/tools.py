"""The tools by name: what each is for, what it takes, and that a call has what it takes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from peephole.errors import PeepholeError

if TYPE_CHECKING:
    from peephole.cli.agent.session import Session

Arguments = dict[str, Any]

_TYPES: Final[dict[str, type]] = {"string": str, "integer": int, "boolean": bool, "array": list}


@dataclass(frozen=True, slots=True)
class Tool:
    """One question that an agent can ask."""

    name: str
    description: str
    answer: Callable[[Session, Arguments], Arguments]
    takes: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Type and meaning of each argument."""
    needs: tuple[str, ...] = ()
    command: str = ""
    """The command that it stands on; the tool is not offered where there is none."""
    reads_only: bool = True

    def described(self) -> dict[str, Any]:
        """What tools/list says about it."""
        properties = {
            name: {"type": kind, "description": text, **({"items": {"type": "string"}} if kind == "array" else {})}
            for name, (kind, text) in self.takes.items()
        }
        return {
            "name": self.name,
            "description": self.description,
            "inputSchema": {"type": "object", "properties": properties, "required": list(self.needs)},
            "outputSchema": {"type": "object"},
            "annotations": {
                "readOnlyHint": self.reads_only,
                "destructiveHint": not self.reads_only,
                "openWorldHint": not self.reads_only,
            },
        }

    def checked(self, given: Arguments) -> Arguments:
        """The arguments, when they are such; PeepholeError with what is wrong."""
        for name in self.needs:
            if name not in given:
                raise PeepholeError(f"{self.name} needs {name}: {self.takes[name][1]}.")
        for name, value in given.items():
            if name not in self.takes:
                raise PeepholeError(
                    f"{self.name} takes no {name[:40]!r}; it takes {', '.join(self.takes) or 'nothing'}."
                )
            kind = self.takes[name][0]
            if not isinstance(value, _TYPES[kind]) or (kind == "integer" and isinstance(value, bool)):
                article = "an" if kind[0] in "ai" else "a"
                raise PeepholeError(f"{name} of {self.name} is {article} {kind}: {self.takes[name][1]}.")
            if isinstance(value, str) and value.startswith("-") and name != "sql":
                raise PeepholeError(f"{name} of {self.name} begins with a dash, which no name does.")
            if isinstance(value, list) and not all(isinstance(item, str) for item in value):
                raise PeepholeError(f"{name} of {self.name} is a list of texts: {self.takes[name][1]}.")
        return given
