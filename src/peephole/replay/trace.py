"""What queries about rewrites share: a capture's steps, matches and nodes, read once, and its latest replays."""

from __future__ import annotations

import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from peephole.errors import PeepholeError
from peephole.model.plain_names import numbered
from peephole.model.stacks import frames, user_frame
from peephole.replay.boxes import Instructions
from peephole.replay.nodes import NodeTable
from peephole.replay.replay import Pass, Replay, Stopped
from peephole.replay.rules import Rules, Shapes
from peephole.replay.source_lines import Places
from peephole.replay.work import work_of_contexts

if TYPE_CHECKING:
    from peephole.store.capture import Capture
    from peephole.store.tables.frame import Frame, Lists, Texts

KEPT: Final = 8
"""Replays that a capture keeps at hand."""


class RewriteTrace:
    """The rewrites of one capture. Replays are handed out under `lock`: a pool is not for two threads at once.

    `rules` gives the rules of a compiler by its name, and `otherwise` is the compiler of contexts that name none.
    """

    def __init__(self, capture: Capture, rules: Callable[[str], Rules], otherwise: str) -> None:
        # weak, or the table of traces would keep every capture that was ever asked about
        self._weak = weakref.ref(capture)
        self.lock = threading.RLock()
        self.size = size_of(capture)
        self._rules = rules
        self._otherwise = otherwise
        self.places = Places(self._weak)
        self._steps = capture.read("steps")
        self._step_order = np.argsort(self._steps["id"], kind="stable")
        self._step_ids: NDArray[np.int64] = self._steps["id"][self._step_order]
        self._matches: Frame | None = None
        self._match_steps: NDArray[np.int64] = np.zeros(0, np.int64)
        self._table: NodeTable | None = None
        self._instructions: Instructions | None = None
        self._tables: dict[str, NodeTable] = {}
        self._replays: OrderedDict[int, Replay] = OrderedDict()
        self._shapes: weakref.WeakKeyDictionary[Replay, tuple[int, Shapes]] = weakref.WeakKeyDictionary()
        self.derived: dict[str, dict[int, Any]] = {}
        """What other queries about the same rewrites keep, by their name."""

    @property
    def capture(self) -> Capture:
        """The capture that these are the rewrites of."""
        capture = self._weak()
        assert capture is not None, "whoever asks about a capture holds it"
        return capture

    @property
    def table(self) -> NodeTable:
        """The capture's nodes, as they were recorded."""
        with self.lock:
            if self._table is None:
                self._table = NodeTable(self.capture)
            return self._table

    def table_of(self, context: int) -> NodeTable:
        """The capture's nodes under the rules of a context's compiler."""
        name = self.compiler_name(context)
        with self.lock:
            if name not in self._tables:
                self._tables[name] = self.table.under(self._rules(name))
            return self._tables[name]

    @cached_property
    def _compilers(self) -> dict[int, str]:
        frame = self.capture.read("contexts", ["id", "compiler"])
        rows = zip(frame["id"].tolist(), frame.texts("compiler"), strict=True)
        return {number: name or self._otherwise for number, name in rows}

    def compiler_name(self, context: int) -> str:
        """The compiler that a context belongs to."""
        return self._compilers.get(context, self._otherwise)

    @property
    def compiler_names(self) -> set[str]:
        """The compilers of this capture's contexts."""
        return set(self._compilers.values())

    @cached_property
    def context_names(self) -> dict[int, str]:
        """Names of the contexts by id."""
        frame = self.capture.read("contexts", ["id", "name"])
        return {number: name or "" for number, name in zip(frame["id"].tolist(), frame.texts("name"), strict=True)}

    @cached_property
    def numbered_names(self) -> dict[int, str]:
        """What a user calls each context: its plain name, with `#2` behind it for the second of that name."""
        return dict(zip(self.context_names, numbered(self.context_names.values()), strict=True))

    @cached_property
    def node_metadata(self) -> Texts:
        """The tensor operations that nodes came from, by the nodes' rows."""
        return self.capture.read("nodes", ["metadata"]).texts("metadata")

    def steps_named(self, name: str) -> list[tuple[int, int]]:
        """Context and row of every step of that name."""
        names = self._steps.texts("name")
        rows = np.flatnonzero(names.codes == names.code(name)).tolist()
        return [(int(self._steps["context"][row]), row) for row in rows]

    @cached_property
    def stacks(self) -> dict[int, str]:
        """Where contexts were opened, as JSON, by id."""
        frame = self.capture.read("contexts", ["id", "stack"])
        return {number: text for number, text in zip(frame["id"].tolist(), frame.texts("stack"), strict=True) if text}

    @cached_property
    def _files(self) -> dict[str, set[str]]:
        """Files on the contexts' stacks by their names."""
        found: dict[str, set[str]] = {}
        for text in set(self.stacks.values()):
            for frame in frames(text):
                found.setdefault(frame.file.replace("\\", "/").rpartition("/")[2], set()).add(frame.file)
        return found

    def full_line(self, line: str) -> str:
        """`prog.py:4` with the file's path, where the stacks know just one file of that name."""
        file, _, number = line.rpartition(":")
        paths = self._files.get(file, ())
        return f"{next(iter(paths))}:{number}" if len(paths) == 1 else line

    def user_line(self, context: int) -> str | None:
        """`file:line` of the program that a context was opened from."""
        frame = user_frame(frames(self.stacks.get(context)))
        return None if frame is None else f"{frame.file}:{frame.line}"

    @property
    def counts(self) -> dict[int, tuple[int, int]]:
        """Steps and matches by context."""
        return work_of_contexts(self._steps)

    def context_rows(self, context: int) -> range:
        """The rows of a context's steps."""
        first, last = np.searchsorted(self._steps["context"], [context, context + 1])
        return range(int(first), int(last))

    def step_row(self, step: int) -> int:
        """The row of a step; PeepholeError when there is none of that id."""
        place = int(np.searchsorted(self._step_ids, step))
        if place == len(self._step_ids) or self._step_ids[place] != step:
            raise PeepholeError(f"There is no step {step} in this capture.")
        return int(self._step_order[place])

    def context_of_steps(self, steps: NDArray[np.int64]) -> NDArray[np.int64]:
        """The context of each of these steps; -1 for a step that is not there."""
        if not len(self._step_ids):
            return np.full(len(steps), -1, np.int64)
        place = np.minimum(np.searchsorted(self._step_ids, steps), len(self._step_ids) - 1)
        found: NDArray[np.int64] = self._steps["context"][self._step_order[place]]
        return np.where(self._step_ids[place] == steps, found, -1)

    def number(self, column: str, row: int) -> int:
        """A number of a step's row."""
        return int(self._steps[column][row])

    def text(self, column: str, row: int) -> str | None:
        """A text of a step's row."""
        return self._steps.texts(column)[row]

    def match_rows(self, step: int) -> slice:
        """The rows of a step's matches."""
        self._read_matches()
        first, last = np.searchsorted(self._match_steps, [step, step + 1])
        return slice(int(first), int(last))

    def match_numbers(self, column: str, rows: slice) -> NDArray[Any]:
        """A column of these matches."""
        return self._read_matches()[column][rows]

    def match_files(self, rows: slice) -> list[str | None]:
        """The files of these matches' rules."""
        files = self._read_matches().texts("file")
        return [None if code < 0 else files.values[code] for code in files.codes[rows].tolist()]

    @cached_property
    def match_lists(self) -> tuple[Lists, Lists] | None:
        """The nodes that the rules of all matches took, and those that they put; None when no match tells."""
        frame = self.capture.read("matches", ["removed", "added"])
        lists = frame.lists("removed"), frame.lists("added")
        return lists if any(len(part.values) for part in lists) else None

    def instructions(self) -> Instructions:
        """What the nodes' names, shapes and metadata are, read when first asked for."""
        with self.lock:
            if self._instructions is None:
                self._instructions = Instructions(self.capture, self.table)
            return self._instructions

    def matches(self) -> Frame:
        """All matches: step, before, after, file, line, dur."""
        return self._read_matches()

    def replay(self, step: int) -> Replay:
        """The replay of a step, kept for the next question. Hold `lock`."""
        replay = self._replays.get(step)
        if replay is None:
            replay = self._replays[step] = self.own_replay(step)
            if len(self._replays) > KEPT:
                self._replays.popitem(last=False)
        else:
            self._replays.move_to_end(step)
            replay.trim()
        return replay

    def own_replay(self, step: int) -> Replay:
        """A replay of a step for the caller alone."""
        row = self.step_row(step)
        if self.root(row) < 0:
            name = self.text("name", row)
            raise PeepholeError(f"The pass {name or step} holds no graph in this capture.")
        return Replay(self.table_of(self.number("context", row)), self.pass_of(row))

    def root(self, row: int) -> int:
        """The node, by its row, of the graph that went into the step of that row; -1 when the capture has none."""
        return int(self.table.rows([self.number("root", row)])[0])

    def pass_of(self, row: int) -> Pass:
        """The step of that row as a replay needs it."""
        rows = self.match_rows(self.number("id", row))
        before, after = (self.table.rows(self.match_numbers(name, rows)).tolist() for name in ("before", "after"))
        flags = (bool(self.number(name, row)) for name in ("bottom_up", "walk", "enter_calls"))
        return Pass(self.root(row), before, after, *flags)

    @contextmanager
    def replaying(self, step: int, stop: Callable[[], bool] | None = None) -> Iterator[Replay]:
        """The replay of a step, under the lock; when `stop` says yes, a long one ends with Stopped."""
        with self.lock:
            if stop is not None and stop():
                raise Stopped("The replay was stopped before it began.")
            replay = self.replay(step)
            replay.stop = stop
            try:
                yield replay
            finally:
                replay.stop = None

    def progress(self, step: int) -> tuple[int, int, bool]:
        """Matches of a step that were stepped through, all of them, and whether that is going on. Needs no lock."""
        replay = self._replays.get(step)
        if replay is None:
            return 0, self.number("matches", self.step_row(step)), False
        return replay.done, replay.matches, replay.running

    def shapes(self, replay: Replay) -> Shapes:
        """The shapes of a replay's nodes."""
        known = self._shapes.get(replay)
        if known is None or known[0] != replay.pool.resets:
            known = self._shapes[replay] = (replay.pool.resets, replay.pool.rules.shapes(replay.pool))
        return known[1]

    def _read_matches(self) -> Frame:
        with self.lock:
            if self._matches is None:
                self._matches = self.capture.read("matches", ["step", "before", "after", "file", "line", "dur"])
                self._match_steps = self._matches["step"]
            return self._matches


def size_of(capture: Capture) -> tuple[int, ...]:
    """Rows of the tables that these questions read: a live capture in which they grew is read again."""
    return tuple(capture.count(table) for table in ("contexts", "steps", "matches", "nodes"))
