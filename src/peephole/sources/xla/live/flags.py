"""XLA_FLAGS for a recording: what the user has set, and after it those flags that every XLA of the program knows.

XLA reads them once, when its first backend starts, and ends the program at a flag that it does not know. A flag is
registered by its name, which the library has in it as a text of its own: that is looked for before one is given.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Final

PLACE: Final = "xla_dump_to"
PASSES: Final = {"xla_dump_hlo_pass_re": ".*", "xla_dump_hlo_as_text": "true"}
EMITTERS: Final = "xla_dump_emitter_re"
FULL: Final = {"xla_dump_fusion_visualization": "true", EMITTERS: ".*"}
"""What makes compiling many times slower."""
_JAXLIB: Final = ("libjax_common.so", "xla_extension.so", "_jax.so")
_PLUGINS: Final = {
    "jax_plugins": "*/xla_*_plugin.so",
    "jax_cuda12_plugin": "*.so",
    "jax_cuda13_plugin": "*.so",
    "jax_rocm60_plugin": "*.so",
    "libtpu": "libtpu.so",
}
"""Packages with an XLA of their own, which reads the same flags."""
_LIBRARY: Final = 16 << 20
"""Bytes that a library with an XLA in it has at least."""


def name_of(word: str) -> str:
    """The flag that a word of XLA_FLAGS sets."""
    return word.partition("=")[0].lstrip("-")


def libraries() -> list[Path]:
    """The files that XLAs are in; empty when jaxlib's own is not found."""
    found = [path for folder in _folders("jaxlib") for name in _JAXLIB if _is_library(path := folder / name)]
    if not found:
        return []
    for package, pattern in _PLUGINS.items():
        for folder in _folders(package):
            found += [path for path in sorted(folder.glob(pattern)) if _is_library(path)]
    return found


def known(paths: Iterable[Path], names: Iterable[str]) -> list[str]:
    """Those flags that all these libraries know."""
    left = list(names)
    for path in paths:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            left = [name for name in left if data.find(b"\0%s\0" % name.encode()) >= 0]
    return left


def with_flags(given: str, added: Mapping[str, str]) -> str:
    """XLA_FLAGS with further ones behind those that are given."""
    return " ".join([*given.split(), *(f"--{name}={value}" for name, value in added.items())])


def _folders(package: str) -> list[Path]:
    try:
        spec = find_spec(package)
    except (ImportError, ValueError):
        return []
    return [Path(folder) for folder in (spec.submodule_search_locations or ())] if spec is not None else []


def _is_library(path: Path) -> bool:
    try:
        return path.stat().st_size >= _LIBRARY
    except OSError:
        return False
