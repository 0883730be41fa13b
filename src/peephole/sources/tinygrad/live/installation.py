"""Which tinygrad this is, and whether it has what is recorded: told by what is there. Standard library only.

People run it out of a checkout, beside an installed release that its version would be taken from.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from peephole.model.checkout import commit_of

_SHOWN: Final = 12

_REWRITES: Final = (
    ("uop.ops", "tracked_keys", list),
    ("uop.ops", "tracked_ctxs", list),
    ("uop.ops", "active_rewrites", list),
    ("uop.ops", "uop_fields", dict),
    ("uop.ops", "TRACK_MATCH_STATS.value", int),
    ("uop.ops", "TrackedPatternMatcher.rewrite", object),
    ("helpers", "VIZ.value", int),
)
"""Module, path of attributes and kind of what a recording of the rewrites reads."""
_PROFILE: Final = (
    ("helpers", "cpu_events", list),
    ("helpers", "PROFILE.value", int),
    ("device", "Compiled.profile_events", list),
    ("device", "Buffer.profile_events", list),
    ("device", "Device._opened_devices", object),
    ("device", "Compiled._at_profile_finalize", object),
)
"""The same of a recording of the run."""
_REWRITE_FIELDS: Final = {
    ("uop.ops", "TrackedGraphRewrite"): ("loc", "sink", "matches", "name", "depth"),
    ("helpers", "TracingKey"): ("display_name", "keys"),
}
_PROFILE_FIELDS: Final = {
    ("helpers", "ProfileRangeEvent"): ("device", "name", "st", "en"),
    ("helpers", "ProfilePointEvent"): ("device", "name", "key", "arg", "ts"),
    ("device", "ProfileGraphEvent"): ("ents", "deps", "sigs"),
    ("device", "ProfileGraphEntry"): ("device", "name", "st_id", "en_id"),
}
Modules = dict[str, ModuleType]
"""tinygrad's modules by their name below the package."""


def missing_of_rewrites(modules: Modules) -> list[str]:
    """What a recording of the rewrites needs and this tinygrad does not have."""
    return [*_missing(modules, _REWRITES), *_missing_fields(modules, _REWRITE_FIELDS)]


def missing_of_profile(modules: Modules) -> list[str]:
    """The same of a recording of the run."""
    return [*_missing(modules, _PROFILE), *_missing_fields(modules, _PROFILE_FIELDS)]


def origin(package: ModuleType, release: str) -> str:
    """The release that is installed; of a checkout its commit and its place, and the release whose ways it has."""
    folder = Path(package.__file__ or "").absolute().parent
    commit = commit_of(folder.parent)
    version = None if commit else _installed(folder)
    if version is not None:
        return version
    return f"git {commit[:_SHOWN]} in {folder.parent}, like {release}" if commit else f"{folder.parent}, like {release}"


def _installed(folder: Path) -> str | None:
    """The version of the installation that this package is part of, which lies beside it.

    Not by importlib.metadata: importing that while the program is interrupted changes what it exits with, since Python
    forgets the interrupt when a text is executed, as named tuples are.
    """
    with suppress(OSError):
        for found in sorted(folder.parent.glob("tinygrad-*.dist-info")):
            return found.name.removeprefix("tinygrad-").removesuffix(".dist-info")
    return None


def _missing(modules: Modules, wanted: tuple[tuple[str, str, type], ...]) -> Iterator[str]:
    for module, path, kind in wanted:
        value: Any = modules.get(module)
        for name in path.split("."):
            value = getattr(value, name, None)
        if value is None or not isinstance(value, kind):
            yield f"{module}.{path}"


def _missing_fields(modules: Modules, wanted: dict[tuple[str, str], tuple[str, ...]]) -> Iterator[str]:
    for (module, name), fields in wanted.items():
        found = getattr(getattr(modules.get(module), name, None), "__dataclass_fields__", {})
        yield from (f"{module}.{name}.{field}" for field in fields if field not in found)
