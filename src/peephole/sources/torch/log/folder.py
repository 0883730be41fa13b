"""The folder that TORCH_COMPILE_DEBUG=1 leaves: a log in `tlparse`, and a folder for each half that was compiled."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from peephole.sources.torch.log import sniff
from peephole.sources.torch.log.book import Book, Context, Step
from peephole.sources.torch.log.code import write_code
from peephole.sources.torch.log.fx_text import parse
from peephole.sources.torch.rows import GRAPH_TEXT, HALF_CONTEXT, POST_GRAD

_MOST: Final = 20_000
"""Files that are looked at in a folder."""
_DEEP: Final = 8
_MODEL: Final = re.compile(r"^(?:model__)?(\d+)_(forward|backward|inference)")
_OLD: Final = 64 << 20
"""Files of a debug folder are read whole; larger ones are not."""


def files_in(folder: Path) -> list[Path]:
    """The logs of a folder and what a debug folder has beside them, in order of their names."""
    logs: list[Path] = []
    parts: list[Path] = []
    for path in _walk(folder, 0, [0]):
        if path.suffix not in (".log", ".py", ".txt", ".gz", "") or not path.stat().st_size:
            continue
        kind = _kind(path)
        if kind == sniff.LOG:
            logs.append(path)
        elif kind in sniff.PARTS and path.name != "fx_graph_runnable.py":
            parts.append(path)
    if logs:
        # the log has the graphs and the code too; what it lacks is Inductor's IR
        parts = [path for path in parts if _kind(path) == sniff.IR]
    return [*sorted(logs), *sorted(parts)]


def runs(paths: Sequence[Path]) -> list[list[Path]]:
    """Files of torch and traces beside them, by run: logs of one folder, or of the ranks of one, make one."""
    logs = [path for path in paths if _kind(path) == sniff.LOG and not re.search(r"rank_\d", path.name)]
    homes = list(dict.fromkeys(path.parent for path in logs))
    if len(homes) <= 1:
        return [list(paths)]
    found: dict[Path, list[Path]] = {}
    for path in paths:
        above = [home for home in homes if home == path.parent or home in path.parents]
        alone = path if _kind(path) == sniff.OTHER else homes[0]
        found.setdefault(max(above, key=lambda home: len(home.parts), default=alone), []).append(path)
    return list(found.values())


def _kind(path: Path) -> str:
    from peephole.errors import CaptureError

    try:
        return sniff.kind_of(path)
    except CaptureError:
        return sniff.OTHER


def _walk(folder: Path, depth: int, seen: list[int]) -> Iterator[Path]:
    for path in sorted(folder.iterdir()):
        seen[0] += 1
        if seen[0] > _MOST or path.is_symlink():
            continue
        if path.is_dir():
            if depth < _DEEP and not path.name.startswith("."):
                yield from _walk(path, depth + 1, seen)
        elif path.is_file():
            yield path


def read_parts(paths: Sequence[Path], book: Book) -> None:
    """Reads the files of halves: into those of the log where it has them, else into contexts of their own."""
    groups: dict[Path, list[Path]] = {}
    for path in paths:
        groups.setdefault(path.parent, []).append(path)
    taken: set[int] = set()
    for folder in sorted(groups, key=lambda one: _number(one.name)):
        _read_half(folder, groups[folder], book, taken)


def _number(name: str) -> tuple[int, str]:
    """The order in which folders were made, which their names end with: `model__0_forward_1.0`."""
    found = re.search(r"\.(\d{1,9})$", name)
    return (int(found[1]) if found else 1 << 30, name)


def _read_half(folder: Path, paths: Sequence[Path], book: Book, taken: set[int]) -> None:
    name = _MODEL.match(folder.name)
    half = name[2] if name else ""
    context = next(
        (one for one in book.contexts if _is_half(one, half) and one.id not in taken and one.keys[:1] != ["debug"]),
        None,
    )
    if context is None:
        context = book.context(f"{name[1]} {half}" if name else folder.name, HALF_CONTEXT)
        context.keys = ["debug"]
    taken.add(context.id)
    stage: Step | None = None
    for path in paths:
        if path.stat().st_size > _OLD:
            book.sink.problem("file of more than 64 MB, left out", 1, str(path.name))
            continue
        content = path.read_bytes()
        kind = sniff.kind_of_head(content[: 1 << 16])
        if kind == sniff.GRAPH:
            stage = stage or book.step(context, POST_GRAD)
            _graph(path, content, stage, context, book)
        elif kind == sniff.CODE:
            write_code(book, context, path.name, content)
        else:
            book.artifact(context.id, "ir", "text", path.stem, content)
    if stage is not None and stage.root < 0:
        stage.root = stage.after


def _is_half(context: Context, half: str) -> bool:
    return context.kind == HALF_CONTEXT and (not half or context.name.endswith(f" {half}"))


def _graph(path: Path, content: bytes, stage: Step, context: Context, book: Book) -> None:
    text = content.decode("utf-8", "replace")
    graph = parse(text)
    book.artifact(context.id, GRAPH_TEXT, "python", path.stem, content)
    if graph is None:
        book.sink.problem("graph that could not be parsed, kept as text", 1, path.name)
        return
    root = book.graph(graph, content)
    if "transformed" in path.stem:
        stage.after = root
    else:
        stage.root = root
        stage.after = root if stage.after < 0 else stage.after
