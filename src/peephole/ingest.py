"""Source to store: the one place that joins those two."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from peephole import sources
from peephole.errors import CaptureError, PeepholeError
from peephole.model.folder import SUFFIX, captures_folder, find_captures, safe_name
from peephole.model.tables import FORMAT_VERSION
from peephole.model.unfinished import WorkFolder
from peephole.sources.base import Progress, Source, no_progress


def import_files(
    paths: Sequence[Path], out: Path | None = None, progress: Progress = no_progress, replace: bool = False
) -> Path:
    """The capture made of foreign files, or folders of them, that belong together.

    Without `out` it is kept in a cache under the hash of the files, so that the second time is quick. With it the
    capture is written there, whole or not at all; an earlier one gives way then when it is to be replaced.
    """
    name = name_for(paths) if paths else ""
    source, paths = common_source(sources.spread(paths))
    if hasattr(source, "complete"):  # one of a pair was given, the other lies next to it
        paths = source.complete(paths)
    if out is not None:
        if out.exists() and not replace:
            raise PeepholeError(f"{out} exists already; choose another name with -o, or replace it with --force.")
        return _write(source, paths, out, progress, replace)
    kept = cache_folder() / _key(source, paths)
    if done := find_captures(kept):
        return done[0]
    try:
        # a folder of our own, renamed when whole: two commands may import the same file at the same time
        with WorkFolder(kept, shared=True) as work:
            _write(source, paths, work.path / name, progress)
            try:
                work.path.rename(kept)
            except OSError:
                if not find_captures(kept):
                    raise
    except OSError as error:
        raise PeepholeError(f"Cannot keep the imported capture in {kept.parent}: {error.strerror or error}.") from error
    return find_captures(kept)[0]


def cache_folder() -> Path:
    """Where captures made of raw files are kept; everything in it can be made again."""
    return captures_folder() / "imported"


def name_for(paths: Sequence[Path]) -> str:
    """The folder name of a capture made of these files."""
    first = paths[0].name or paths[0].resolve().name
    first = first.removesuffix(".gz")
    return safe_name(first.rpartition(".")[0] or first) + SUFFIX


def names_for(runs: Sequence[Sequence[Path]]) -> list[str]:
    """The folder names of captures made of these runs; those that would be alike begin with their files' folder."""
    named = [(name_for(paths), safe_name(paths[0].resolve().parent.name)) for paths in runs]
    places = {name: {place for other, place in named if other == name} for name, _ in named}
    return [f"{place}-{name}" if len(places[name]) > 1 else name for name, place in named]


def _write(source: Source, paths: Sequence[Path], out: Path, progress: Progress, replace: bool = False) -> Path:
    from peephole.store.writer import CaptureWriter  # pyarrow: not for a command that only asks what a file is

    try:
        out.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with CaptureWriter(out, replace) as writer:
            writer.describe(source=source.name)
            source.read(paths, writer, progress)
    except OSError as error:
        raise PeepholeError(f"Cannot import into {out}: {error.strerror or error}.") from error
    return out


def common_source(paths: Sequence[Path]) -> tuple[Source, list[Path]]:
    """The source that these files are of, by their first bytes, and the files, its own first; an error when there is
    none."""
    if not paths:
        raise PeepholeError("No file to import was given.")
    groups = by_source(paths)
    if len(groups) > 1:
        one, other = (sources.find(group[0]).name for group in groups[:2])
        raise CaptureError(
            f"{groups[0][0]} is a file of {one} and {groups[1][0]} one of {other}; import them one by one."
        )
    return sources.find(groups[0][0]), groups[0]


def by_source(paths: Sequence[Path], together: bool = True) -> list[list[Path]]:
    """Files of any known sources, those of one together, with those that it takes along at the end; an error for one of
    no known source. Where nobody said that they belong `together`, a file goes along only if it may be of the same run.
    """
    found: dict[str, Source] = {}
    groups: dict[str, list[Path]] = {}
    of: dict[Path, str] = {}
    for path in paths:
        source = sources.find(path)
        found[source.name] = source
        of[path] = source.name
    for path in paths:
        name = of[path]
        hosts = [host for host, one in found.items() if name in getattr(one, "takes_along", ())]
        taken = [host for host in hosts if together or _may_be_beside(found[host], path)]
        # of several, one that has a file in the same folder
        taken.sort(key=lambda host: all(of[other] != host or other.parent != path.parent for other in of))
        groups.setdefault(taken[0] if taken else name, []).append(path)
    # a source's own files come first
    return [sorted(group, key=lambda path: of[path] != name) for name, group in groups.items()]


def _may_be_beside(source: Source, path: Path) -> bool:
    return not hasattr(source, "may_be_beside") or bool(source.may_be_beside(sources.head_of(path)))


def by_run(paths: Sequence[Path]) -> list[list[Path]]:
    """Files of any known sources, those that make one capture together: one source's, of one run where it has several;
    an error for one of no known source."""
    found: list[list[Path]] = []
    for group in by_source(paths, together=False):
        source = sources.find(group[0])
        found += source.runs(group) if hasattr(source, "runs") else [group]
    return found


def _key(source: Source, paths: Sequence[Path]) -> str:
    digest = hashlib.blake2b(f"{FORMAT_VERSION} {source.name} {_code_version(source)}".encode(), digest_size=12)
    for path in paths:
        try:
            with path.open("rb") as file:
                digest.update(hashlib.file_digest(file, "blake2b").digest())
        except OSError as error:
            raise CaptureError(f"Cannot read {path}: {error.strerror or error}.") from error
    return digest.hexdigest()


def _code_version(source: Source) -> str:
    """Changes when the reader of a source or the store does: what an older one made is not what this one makes."""
    here = Path(__file__).parent
    own = here / "sources" / source.name
    files = [*own.rglob("*.py"), own.with_suffix(".py"), *(here / "store").rglob("*.py")]
    stats = [(file.name, file.stat().st_size, file.stat().st_mtime_ns) for file in sorted(files) if file.exists()]
    return hashlib.blake2b(repr(stats).encode(), digest_size=8).hexdigest()
