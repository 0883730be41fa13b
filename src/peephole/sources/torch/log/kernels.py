"""The kernels that stand in the wrapper module that Inductor writes, cut out of it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

_BEGIN: Final = re.compile(r"^(\w+)\s*=\s*async_compile\.(\w+)\(", re.MULTILINE)
_QUOTE: Final = re.compile(r"(r?)('''|\"\"\")")
_PROFILE: Final = re.compile(r'"(graph_\d+_\w+)"')
_LANGUAGES: Final = {"cpp": "cpp", "cpp_pybinding": "cpp", "cuda": "cpp", "rocm": "cpp", "sycl": "cpp"}
_NUMBER: Final = re.compile(r"^# AOT ID: \['(\d+)_", re.MULTILINE)
_LOOK_AHEAD: Final = 1 << 20


@dataclass(slots=True)
class Kernel:
    """One kernel: its name, language and source."""

    name: str
    language: str
    source: str
    keys: list[str] = field(default_factory=list)
    """What slices of it are called."""


def kernels_of(wrapper: str) -> list[Kernel]:
    """The kernels of a wrapper module, in order; each name once."""
    found: dict[str, Kernel] = {}
    number = _NUMBER.search(wrapper, 0, 4096)
    for begin in _BEGIN.finditer(wrapper):
        name, how = begin[1], begin[2]
        quote = _QUOTE.search(wrapper, begin.end(), begin.end() + _LOOK_AHEAD)
        if quote is None or name in found:
            continue
        end = wrapper.find(quote[2], quote.end())
        while end > 0 and not quote[1] and wrapper[end - 1] == "\\":
            end = wrapper.find(quote[2], end + 1)
        if end < 0:
            end = len(wrapper)
        source = wrapper[quote.end() : end].lstrip("\n")
        if not quote[1]:
            source = source.replace("\\'\\'\\'", "'''")
        told = list(dict.fromkeys(key for key in _PROFILE.findall(source) if key.endswith(name)))
        if not told and number:
            told = [f"graph_{number[1]}_{name}"]
        found[name] = Kernel(name, _LANGUAGES.get(how, "python"), source, [name, *told])
    return list(found.values())
