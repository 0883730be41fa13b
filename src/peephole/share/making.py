"""Makes a copy: asks for what fits, most telling first, and says what is inside and what was left out."""

from __future__ import annotations

import json
import shlex
import tempfile
from collections.abc import Callable, Collection
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from peephole.errors import PeepholeError
from peephole.model.amounts import size
from peephole.model.run_tables import RANK_CAPTURES
from peephole.model.unfinished import whole_file
from peephole.query.capture.disk import bytes_on_disk
from peephole.query.capture.info import row_counts
from peephole.query.timeline.interval import find_interval
from peephole.query.timeline.tracks import timeline_span
from peephole.share import replies, tables
from peephole.share.asking import Asking
from peephole.share.packing import pack_replies, to_text
from peephole.share.page import page, viewer
from peephole.share.parts import Item, Parts, add_replies
from peephole.sources.base import Progress
from peephole.store.capture import Capture
from peephole.store.cut import cut_capture
from peephole.store.runs import is_run

VIEWS: Final = ("timeline", "calls", "top", "memory", "code", "rewrites", "schedule", "problems")
"""What a copy can show."""
LIMIT: Final = 20_000_000
_GROUPS: Final = ("kernels", "copies", "host", "messages")
_CODE: Final = ("source", "oplist", "assembly", "error", "binary")
"""Artifacts that the Code view shows."""
_FRAME: Final = 4096
"""Bytes of the file around the viewer and the parts, beside the list of what is inside."""


@dataclass(frozen=True, slots=True)
class Copied:
    """A copy that was made."""

    path: Path
    bytes: int
    views: list[str]
    inside: list[Item]
    left_out: list[Item]


class Copying:
    """One copy in the making."""

    def __init__(
        self, capture: Capture, original: Capture, wanted: Collection[str], limit: int, progress: Progress
    ) -> None:
        self.progress = progress
        self.capture = capture
        self.original = original
        self.wanted = wanted
        self.rows = row_counts(capture)
        self.disk = bytes_on_disk(original.path)
        self.span = timeline_span(capture)
        script, style = viewer()
        own = len(script) + len(style)
        self.parts = Parts(limit, own + _FRAME)
        self.views: list[str] = []
        self.parts.inside.append(Item("The page itself", own))

    def size(self, *names: str) -> int:
        """Bytes of tables on the disk."""
        return sum(self.disk.get(name, 0) for name in names)

    def make(self, asking: Asking) -> None:
        """Fills the copy."""
        lists = self._lists(asking)
        spare = len(to_text(pack_replies(lists)))
        if spare > self.parts.room:
            needed = self.parts.used + spare
            raise PeepholeError(
                f"A copy of {self.original.name} takes {size(needed)} at the very least, for the page and its lists: "
                f"give a larger --limit than {size(self.parts.limit)}, or a shorter --interval."
            )
        # the lists come last, when it is known what they may list, but have their place
        self.parts.used += spare
        self._timeline(asking)
        self._memory()
        order = replies.cost_order(asking)
        self._code(asking, order)
        self._facts()
        self._others(asking)
        kept = self._rewrites(asking, order)
        self.parts.used -= spare
        if "steps" in lists:
            lists["steps"] = replies.only_these(lists["steps"], kept)
        taken = add_replies(self.parts, [""], lists)
        assert taken >= 0
        self.parts.inside.insert(1, Item("Names, tracks, lists", taken))
        self._never()

    def _lists(self, asking: Asking) -> dict[str, bytes]:
        facts = json.loads(asking.get("") or b"{}")
        self.kinds: dict[str, int] = facts["kinds"]
        facts |= {"path": self.original.path.name, "host": "", "live": False}
        found = {"captures": asking.list(), "": replies.dumped(facts)}
        wanted = ["notes", "timeline"]
        wanted += ["memory"] if self._has("memory", "buffers") else []
        wanted += ["contexts", "steps", "code", "schedules"] if self.rows.get("contexts") else []
        asked = replies.asked(asking, wanted)
        if "memory" in asked:  # segments of any moment are the server's to answer
            memory = json.loads(asked["memory"])
            asked["memory"] = replies.dumped(
                memory | {"devices": [device | {"reserved": ""} for device in memory["devices"]]}
            )
        return found | asked | replies.name_pages(asking)

    def _has(self, view: str, table: str) -> bool:
        return view in self.wanted and self.rows.get(table, 0) > 0

    def _timeline(self, asking: Asking) -> None:
        """Slices for the timeline, Top and Calls; counters and arrows for the timeline."""
        shown = [view for view in ("timeline", "calls", "top") if view in self.wanted]
        level = -1
        if shown and self.rows.get("slices"):
            level = tables.add_slices(self.parts, self.capture, self.span, self.rows["slices"], self.size("slices"))
            if level > 0:
                # sums of all slices, where the page cannot make them
                paths = ["timeline/range", "top?", *(f"top?group={group}" for group in _GROUPS), "calls"]
                sums = replies.asked(asking, paths)
                self.parts.keep("Sums of the whole trace", add_replies(self.parts, ["timeline", "top", "calls"], sums))
            self.views += [view for view in shown if level >= 0]
        elif "timeline" in shown and any(self.rows.get(name) for name in ("counters", "markers", "buffers")):
            self.views.append("timeline")
        if "timeline" in self.views and self.rows.get("counters"):
            self._keep("counters", "values of counters", lambda: tables.add_counters(*self._at_origin()))
        if level == 0 and self.rows.get("flows"):
            self._keep("flows", "arrows", lambda: tables.add_flows(self.parts, self.capture))

    def _at_origin(self) -> tuple[Parts, Capture, int]:
        return self.parts, self.capture, self.span[0]

    def _keep(self, table: str, what: str, add: Callable[[], int]) -> bool:
        return self.parts.keep(f"{self.rows[table]:,} {what}", add(), self.size(table))

    def _memory(self) -> None:
        # the timeline draws the memory of devices too
        if not self.rows.get("buffers") or not {"memory", "timeline"} & set(self.wanted):
            return
        add = lambda: tables.add_buffers(self.parts, self.capture, self.span)  # noqa: E731
        if self._keep("buffers", "buffers", add) and "memory" in self.wanted:
            self.views.append("memory")
        if self.rows.get("uses") and "slices" in self.parts.numbers:
            self._keep("uses", "uses of buffers", lambda: tables.add_uses(self.parts, self.capture))

    def _code(self, asking: Asking, order: list[int]) -> None:
        if not order:
            return
        wanted = self._has("code", "artifacts") and any(self.kinds.get(f"artifact:{kind}") for kind in _CODE)
        kept, missing, taken = replies.add_contexts(self.parts, asking, order, wanted)
        what = "compilations with their code" if wanted else "compilations"
        if kept:
            self.parts.keep(f"{kept:,} {what}", taken)
            self.views += ["code"] if wanted else []
        if missing:
            self.parts.keep(f"{missing:,} {what}", -1, self.size("artifacts") if not kept else -1)

    def _facts(self) -> None:
        if "slices" in self.parts.numbers and self.rows.get("slices"):
            what = "Arguments of slices: flops, bytes, places"
            self.parts.keep(what, tables.add_args(self.parts, self.capture))

    def _others(self, asking: Asking) -> None:
        found = replies.problem_replies(asking) if "problems" in self.wanted and self.kinds.get("problems") else {}
        if found and self.parts.keep("Problems", add_replies(self.parts, ["problems"], found)):
            self.views.append("problems")
        if "schedule" in self.wanted and self.kinds.get("schedule"):
            many, taken = replies.add_schedules(self.parts, asking)
            if many and self.parts.keep(f"{many:,} schedule{'s' * (many > 1)}", taken):
                self.views.append("schedule")

    def _rewrites(self, asking: Asking, order: list[int]) -> list[int]:
        if not self._has("rewrites", "steps"):
            return []
        kept, taken, slow = replies.add_rewrites(self.parts, asking, order, self.progress)
        steps = json.loads(asking.get("steps") or b"{}")
        matches = sum(many for context, many in zip(steps["context"], steps["matches"], strict=True) if context in kept)
        if kept:
            self.views.append("rewrites")
            self.parts.keep(_rewritten(len(kept), matches), taken)
        missing = len(set(steps["context"])) - len(kept)
        if missing:
            what = _rewritten(missing, sum(steps["matches"]) - matches)
            what += f": no more than {replies.GRAPHS:,} graphs are made" if slow else ""
            self.parts.keep(what, -1, self.size("steps", "matches", "nodes") if not kept else -1)
        return kept

    def _never(self) -> None:
        """What no copy has, and views that were not wanted."""
        for view in VIEWS:
            if view not in self.wanted and self.kinds.get(view, view not in ("problems", "schedule")):
                self.parts.keep(f"The view {view.capitalize()}", -1)
        if self.rows.get("hardware"):
            self.parts.keep("Hardware traces", -1, self.size("hardware"))
        if self.rows.get("messages"):
            self.parts.keep(f"{self.rows['messages']:,} messages", -1, self.size("messages"))
        self.parts.keep("Name of the machine, folders of users", -1)


def _rewritten(compilations: int, matches: int) -> str:
    """What the passes of so many compilations are called; those over named instructions need not have matches."""
    return f"Rewrites of {compilations:,} compilations" + (f", {matches:,} matches" if matches else "")


def make_copy(
    capture: Capture,
    out: Path,
    interval: list[str] | None,
    views: Collection[str] | None,
    limit: int,
    progress: Progress = lambda done, total: None,
) -> Copied:
    """Writes a copy of a capture, at most `limit` bytes, whole or not at all."""
    unknown = [view for view in views or () if view not in VIEWS]
    if unknown:
        raise PeepholeError(f"A copy has no view called {unknown[0]!r}; there are {', '.join(VIEWS)}.")
    rows = row_counts(capture)
    if not any(rows.get(name) for name in ("slices", "counters", "markers", "buffers", "contexts")):
        _refuse_run(capture)
        raise PeepholeError(f"{capture.name} is empty: it has nothing that a copy could show.")
    with ExitStack() as stack:
        whole = capture
        if interval:
            whole = _cut(capture, interval, stack)
        elif capture.live:
            raise PeepholeError(f"{capture.name} is still being recorded: share it when its program has ended.")
        asking = stack.enter_context(Asking(whole.path, capture.name))
        copying = Copying(whole, capture, set(views or VIEWS), limit, progress)
        copying.make(asking)
        if not copying.views:
            if len(copying.wanted) < len(VIEWS) and not any(item.bytes > 0 for item in copying.parts.left_out):
                asked = " and ".join(view for view in VIEWS if view in copying.wanted)
                raise PeepholeError(f"{capture.name} has nothing that {asked} could show: give other --views, or none.")
            raise PeepholeError(
                f"Nothing of {capture.name} fits into {size(limit)} beside the page: give a larger --limit, a "
                "shorter --interval or fewer --views."
            )
        if interval:
            copying.parts.keep(f"What happened outside of {' to '.join(interval)}", -1)
        return _written(copying, out)


def _refuse_run(capture: Capture) -> None:
    """A run holds the captures of its ranks; copies have no Ranks view, so one of them is what can be sent."""
    if is_run(capture.path):
        folder = capture.path / RANK_CAPTURES
        first = min((path.name for path in folder.iterdir()), default="") if folder.is_dir() else ""
        raise PeepholeError(
            f"{capture.name} is a run of many ranks, and a copy shows a capture of one"
            + (f": peephole share {shlex.quote(str(folder / first))}." if first else ": share a rank's own capture.")
        )


def _cut(capture: Capture, interval: list[str], stack: ExitStack) -> Capture:
    begin, end = find_interval(capture, interval)
    first, last = timeline_span(capture)
    if begin > last or end < first or begin == end:
        raise PeepholeError(
            f"Nothing of {capture.name} lies between {interval[0]} and {interval[-1]}: it is {(last - first) / 1e6:g} "
            "ms long, counted from its first event."
        )
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="peephole-share-"))) / "interval.peep"
    folder.mkdir()
    return cut_capture(capture, (begin, end), folder)


def _written(copying: Copying, out: Path) -> Copied:
    parts, original = copying.parts, copying.original
    views: list[str] = [view for view in VIEWS if view in copying.views]
    copy: dict[str, Any] = {
        "of": original.name,
        "made": datetime.now(UTC).isoformat(timespec="seconds"),
        "bytes": parts.used,
        "captureBytes": copying.disk["total"],
        "views": views,
        "inside": [asdict(item) for item in parts.inside],
        "leftOut": [asdict(item) for item in parts.left_out],
    }
    title = f"{original.name}, shared copy · Peephole"
    try:
        with whole_file(out) as file:
            for piece in page(title, {"copy": copy, "parts": parts.numbers}, parts.texts):
                file.write(piece)
    except OSError as error:
        raise PeepholeError(f"Cannot write {out}: {error.strerror or error}.") from error
    return Copied(out, out.stat().st_size, views, parts.inside, parts.left_out)
