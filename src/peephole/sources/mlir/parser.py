"""A printed state as operations in each other, by its lines. Generic and custom forms, of any dialect.

An operation begins on a line of its own; a region opens with a brace at the end of a line and is closed by one at the
beginning of a line. Lines that begin no operation (the bindings of a dispatch, a head that goes on) belong to the
operation before them, or around them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from peephole.sources.mlir.operations import LONG_STRING, START, OperationText, digest, read_operation

_ALIAS: Final = re.compile(r"([#!][\w$.-]+) = (.*)")
_ALIAS_USE: Final = re.compile(r'"(?:[^"\\]|\\.)*"|[#!][A-Za-z_$][\w$.-]*')
_LABEL: Final = re.compile(r"\^([\w$.-]+)(?:\((.*)\))?:")
_LABEL_ARG: Final = re.compile(r"%([\w$.-]+)\s*:\s*((?:[^,<>()\[\]]|<[^%]*?>|\([^()]*\))+)")
_COMMENT: Final = re.compile(r"\s+// [^\"]*$")
_DEEPEST: Final = 400
MOST_ALIAS: Final = 160


@dataclass(slots=True)
class Region:
    """Operations of a region, and the arguments of its blocks: name and type."""

    arguments: list[tuple[str, str]] = field(default_factory=list)
    operations: list[Operation] = field(default_factory=list)


@dataclass(slots=True)
class Operation:
    """An operation with its regions."""

    lines: list[str]
    regions: list[Region] = field(default_factory=list)
    told: OperationText | None = None

    @property
    def text(self) -> OperationText:
        """Its parts, read when all its lines are there."""
        assert self.told is not None
        return self.told


class Parser:
    """Parses states; texts of operations that were read are not read again."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, bool], OperationText] = {}
        self.locations: dict[str, str] = {}
        """Of the last state, locations by their alias."""
        self.cut = False
        """Whether the last state ended before its operations did."""

    def parse(self, text: str) -> list[Operation]:
        """The operations at the top of a state."""
        aliases: dict[str, str] = {}
        lines = self._without_aliases(text, aliases)
        top = Region()
        stack: list[tuple[Operation, Region]] = []
        self.cut = False
        for line in lines:
            if line.startswith("}"):
                self._close(line, stack, aliases)
                continue
            region = stack[-1][1] if stack else top
            if line.startswith("^") and (label := _LABEL.match(line)):
                region.arguments += [(one[1], one[2].strip()) for one in _LABEL_ARG.finditer(label[2] or "")]
                continue
            if START.match(line):
                operation = Operation([_resolved(line, aliases)])
                region.operations.append(operation)
            elif region.operations or stack:
                operation = region.operations[-1] if region.operations else stack[-1][0]
                operation.lines.append(_resolved(line, aliases))
            else:
                continue  # what other parts of the tool said
            if line.endswith("{") and len(stack) < _DEEPEST:
                if stack and operation is stack[-1][0]:
                    continue
                operation.regions.append(Region())
                stack.append((operation, operation.regions[-1]))
        self.cut = bool(stack)
        self.locations = {name: value for name, value in aliases.items() if name.startswith("#loc")}
        self._finish(top)
        if len(self._known) > 200_000:
            self._known.clear()
        return top.operations

    def _without_aliases(self, text: str, aliases: dict[str, str]) -> list[str]:
        """Lines without blanks, comments, resources and aliases, which are kept apart."""
        found: list[str] = []
        lines = iter(text.splitlines())
        for raw in lines:
            line = raw.strip()
            if not line or line.startswith("//"):
                continue
            if line.startswith("{-#"):
                for rest in lines:
                    if rest.rstrip().endswith("#-}"):
                        break
                continue
            if line[0] in "#!" and (alias := _ALIAS.match(line)):
                value = alias[2]
                aliases[alias[1]] = value if value.startswith("loc(") else _resolved(value, aliases)
                continue
            if " // " in line:
                line = _COMMENT.sub("", line)
            found.append(line)
        return found

    def _close(self, line: str, stack: list[tuple[Operation, Region]], aliases: dict[str, str]) -> None:
        if not stack:
            return
        operation, _ = stack.pop()
        rest = line[1:].strip()
        if rest:
            operation.lines.append(_resolved(rest, aliases))
        if rest.endswith("{"):
            operation.regions.append(Region())
            stack.append((operation, operation.regions[-1]))

    def _finish(self, region: Region) -> None:
        """Reads the texts, now that all lines are there."""
        pending = [region]
        while pending:
            for operation in pending.pop().operations:
                operation.regions = [one for one in operation.regions if one.operations or one.arguments]
                pending += operation.regions
                text = " ".join(operation.lines)
                key = text, bool(operation.regions)
                told = self._known.get(key)
                if told is None:
                    told = read_operation(*key)
                    if len(text) < 1 << 14:
                        self._known[key] = told
                operation.told = told


def _resolved(line: str, aliases: dict[str, str]) -> str:
    """A line with its aliases put in: their numbers are dealt out anew at every print."""
    if not aliases or ("#" not in line and "!" not in line):
        return line

    def value(token: re.Match[str]) -> str:
        found = aliases.get(token[0])
        if found is None or found.startswith("loc("):
            return token[0]
        return found if len(found) <= MOST_ALIAS else f"{token[0].rstrip('0123456789')}<{digest(found)}>"

    if len(line) > 1 << 16 and max(map(len, line.split('"'))) > 16 * LONG_STRING:
        return line  # a constant of megabytes has no aliases that are worth the time
    return _ALIAS_USE.sub(value, line)
