"""Asks XLA for its dumps before JAX starts; they are read when the capture is sealed, also after a kill.

XLA reads XLA_FLAGS once, when its backend starts, and ends the program at a flag that it does not know. So a flag is
only given that the installed library has in it, and what the user has set stays and comes first.
"""

from __future__ import annotations

import mmap
import os
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from peephole.model.left_files import LEFT
from peephole.record import active

_FLAGS: Final = {"xla_dump_hlo_pass_re": ".*", "xla_dump_hlo_as_text": "true"}
_PLACE: Final = "xla_dump_to"
_LIBRARIES: Final = ("libjax_common.so", "xla_extension.so", "_jax.so")


def prepare() -> None:
    """Sets XLA_FLAGS; called before jax is imported."""
    recorder = active.recorder
    if recorder is None:
        return
    given = os.environ.get("XLA_FLAGS", "")
    folder = str(Path(recorder.path, LEFT, "xla", str(os.getpid())))
    own = [word for word in given.split() if not _is_ours(word, recorder.path)]
    if any(_name(word) == _PLACE for word in own):
        recorder.problem("XLA_FLAGS dump to a folder of the program's own, which `peephole import` reads")
        return
    wanted = {_PLACE: folder, **_FLAGS}
    wanted = {name: value for name, value in wanted.items() if name not in map(_name, own)}
    library = _library()
    if library is None:
        recorder.problem("jaxlib's library was not found, so XLA was not asked for its dumps")
        return
    known = _known(library, list(wanted))
    if len(known) < len(wanted):
        recorder.problem("this jaxlib does not know all flags of XLA's dumps: they are left out")
    if _PLACE not in known:
        return
    os.environ["XLA_FLAGS"] = " ".join([*own, *(f"--{name}={wanted[name]}" for name in known)])


def _is_ours(word: str, path: str) -> bool:
    """Whether a process that started this one, and is recorded too, has set that."""
    return _name(word) == _PLACE and word.partition("=")[2].startswith(str(Path(path, LEFT)))


def _name(word: str) -> str:
    return word.partition("=")[0].lstrip("-")


def _library() -> Path | None:
    """The file that XLA is in."""
    spec = find_spec("jaxlib")
    for folder in (spec.submodule_search_locations or ()) if spec is not None else ():
        for name in _LIBRARIES:
            path = Path(folder, name)
            if path.is_file() and path.stat().st_size > 1 << 20:
                return path
    return None


def _known(library: Path, names: list[str]) -> list[str]:
    """Those flags that the library has the names of."""
    with library.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        return [name for name in names if data.find(name.encode()) >= 0]
