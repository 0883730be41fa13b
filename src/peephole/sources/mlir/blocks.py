"""The states that were printed, with the pass that each is before or after: out of a log, or a tree of files."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from peephole.sources.mlir import TREE_FILE

_DUMP: Final = re.compile(
    r"^[ \t]*// -----// IR Dump (?P<when>After|Before) (?P<pass>[^\n]*?) //----- //[^\n]*$", re.MULTILINE
)
_PASS: Final = re.compile(
    r"(?P<class>[^\s({:]+(?:::[^\s({:]+)*)(?P<early>\s+Failed)?(?::\s*(?P<argument>[\w.-]+)|\s+\((?P<older>[\w.-]*)[^)]*\))?.*?"
    r"(?P<failed>\s+Failed)?(?:\s*\('(?P<op>[^']*)' operation(?::\s*(?P<symbol>@.*?))?\))?\s*",
    re.DOTALL,
)
_EMITTED: Final = ".mlir-passes.log"
"""In the name of a log of XLA's emitters."""


@dataclass(frozen=True, slots=True)
class Block:
    """One state as text."""

    pass_name: str
    """Empty for a state that no pass is named for."""
    after: bool
    failed: bool
    text: str
    where: str
    """The file, and in a tree the folders in it: what is printed there is one operation."""
    in_tree: bool = False


def pass_of(text: str) -> tuple[str, bool]:
    """The name of a pass as its line tells it, and whether it failed: the argument that tools take, else the class."""
    found = _PASS.fullmatch(text.strip())
    if found is None:
        return text.strip()[:200], False
    name = found["argument"] or found["older"] or found["class"].rpartition("::")[2]
    return name[:200], bool(found["early"] or found["failed"])


def log_blocks(text: str, where: str) -> Iterator[Block]:
    """The states of a log in order; a text without such lines is one state."""
    heads = list(_DUMP.finditer(text))
    if not heads:
        yield Block("", True, False, text, where)
        return
    starts = [head.start() for head in heads]
    texts = [text[at:past] for at, past in zip(starts, [*starts[1:], len(text)], strict=True)]
    # XLA prints each state of some kernels twice: no pass ran twice there
    twice = _EMITTED in where and len(texts) % 2 == 0 and _alike(texts[::2], texts[1::2])
    for head, state in list(zip(heads, texts, strict=True))[:: 2 if twice else 1]:
        name, failed = pass_of(head["pass"])
        yield Block(name, head["when"] == "After", failed, state[head.end() - head.start() :], where)


def _alike(texts: Sequence[str], others: Sequence[str]) -> bool:
    """Whether these states are those, but for empty lines around them."""
    return all(one.strip() == other.strip() for one, other in zip(texts, others, strict=True))


def tree_order(paths: Sequence[Path]) -> list[Path]:
    """The files of a tree in the order in which their passes ran."""

    def numbers(path: Path) -> tuple[list[int], str]:
        found = TREE_FILE.fullmatch(path.name)
        return [int(one[:12]) for one in found[1].split("_")] if found else [], str(path)

    return sorted(paths, key=numbers)
