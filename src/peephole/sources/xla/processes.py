"""Whose files are whose, when processes left their dumps in folders of their own: each numbers its modules from 0.

Folders of one run, such as text in one and protos or explanations in another, stay together: only what one process
cannot have written parts them, which is two files for one state of one module.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from hashlib import blake2b
from itertools import combinations
from pathlib import Path

from peephole.sources.context_rows import content_of
from peephole.sources.xla.files import Files, StateName, find_files, is_known, owner_name, state_name


def find_all(paths: Sequence[Path], problem: Callable[[str, str], None]) -> Files:
    """What these files are, each module with its process."""
    found = Files()
    for process, own in by_process(paths, problem).items():
        files = find_files(own, problem)
        for module in files.modules:
            module.process = process
        found.process_of |= dict.fromkeys(files.profiles, process)
        found.modules += files.modules
        found.profiles += files.profiles
        found.traces += files.traces
        found.plain += files.plain
    return found


def by_process(paths: Sequence[Path], problem: Callable[[str, str], None]) -> dict[str, list[Path]]:
    """The files of each process by the name of its folder; those of none, and of one alone, have none."""
    states = {path: name for path in paths if (name := state_name(path)) is not None}
    roots = _roots(states)
    if not roots:
        return {"": list(paths)}
    above = Path(os.path.commonpath(roots))
    above = above.parent if above in roots else above
    names = {root: root.relative_to(above).as_posix() for root in roots}
    found: dict[str, list[Path]] = {name: [] for name in (*(names[root] for root in sorted(roots)), "")}
    homes: dict[tuple[int, str], set[Path]] = {}
    for path, name in states.items():
        homes.setdefault((name.number, name.module), set()).add(_folder(path))
    everywhere = {folder for folders in homes.values() for folder in folders}
    for path in paths:
        owner = None if path in states else owner_name(path)
        known = (folders for key, folders in homes.items() if owner is not None and _is_of(owner, key))
        near = {_root(folder, roots) for folder in _nearest(_folder(path), set().union(*known) or everywhere)}
        if len(near) == 1:
            found[names[near.pop()]].append(path)
        elif owner is None and (path.name.endswith(".xplane.pb") or not is_known(path)):
            found[""].append(path)
        else:
            problem("files of which it is not known to which process's modules they belong, left out", path.name)
    return found


def _folder(path: Path) -> Path:
    return path.absolute().parent


def _is_of(owner: tuple[int, str], module: tuple[int, str]) -> bool:
    return owner[0] == module[0] and f"{owner[1]}.".startswith(f"{module[1]}.")


def _nearest(folder: Path, homes: set[Path]) -> list[Path]:
    """The folders with the fewest steps to them."""

    def steps(home: Path) -> int:
        return len(folder.parts) + len(home.parts) - 2 * len(Path(os.path.commonpath((folder, home))).parts)

    least = min(map(steps, homes))
    return [home for home in homes if steps(home) == least]


def _root(folder: Path, roots: Iterable[Path]) -> Path:
    """The innermost folder of a process that holds a folder."""
    return max((root for root in roots if folder.is_relative_to(root)), key=lambda root: len(root.parts))


def _roots(states: dict[Path, StateName]) -> set[Path]:
    """The folders of the processes; none when one process may have written all states."""
    folders = {_folder(path) for path in states}
    tops = {top for a, b in _apart(states) for top in _where_they_part(a, b)}
    if not tops:
        return set()
    above = Path(os.path.commonpath(tops))
    for folder in sorted(folders):  # of no other's states, and so of a process of its own
        if not any(folder.is_relative_to(top) for top in tops):
            tops.add(_where_they_part(folder, above / "x")[0] if folder.is_relative_to(above) else folder)
    return {_root(folder, tops) for folder in folders}


def _where_they_part(a: Path, b: Path) -> tuple[Path, Path]:
    """The outermost folders that hold one and not the other; a folder itself where it holds the other."""
    shared = len(Path(os.path.commonpath((a, b))).parts)
    return Path(*a.parts[: shared + 1]), Path(*b.parts[: shared + 1])


def _apart(states: dict[Path, StateName]) -> set[tuple[Path, Path]]:
    """The pairs of folders that one process cannot have written: they differ in a state of one number."""
    places: dict[tuple[int, str, str], list[Path]] = {}
    for path, name in states.items():
        places.setdefault((name.number, name.state, Path(path.name.removesuffix(".gz")).suffix), []).append(path)
    found: set[tuple[Path, Path]] = set()
    for rivals in places.values():
        contents: dict[Path, tuple[str, bytes]] = {}
        for one, other in combinations(sorted(rivals), 2):
            pair = (_folder(one), _folder(other))
            if pair[0] == pair[1] or pair in found:
                continue
            for path in (one, other):
                if path not in contents:
                    contents[path] = _content(path)
            if contents[one] != contents[other]:
                found.add(pair)
    return found


def _content(path: Path) -> tuple[str, bytes]:
    """What stands for a file: its name, which says the pass, and what is in it."""
    try:
        return path.name.removesuffix(".gz"), blake2b(content_of(path)).digest()
    except OSError:
        return path.name, b""
