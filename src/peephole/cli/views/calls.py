"""`show --calls`: who called what, and where the time of a call went."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

import numpy as np

from peephole.cli.format import Column, Printer, count, duration
from peephole.cli.views import Request
from peephole.model.plain_names import plain
from peephole.query.calls.functions import places_of
from peephole.query.calls.titles import track_titles
from peephole.query.calls.tree import CallTree, call_tree, inverted, searched
from peephole.query.calls.unfinished import unfinished
from peephole.query.capture.info import sampled
from peephole.query.capture.names import missing
from peephole.store.capture import Capture

_ROWS: Final = 40
_TRACKS: Final = 8
_SMALL: Final = 0.005
"""Part of a track's time below which a branch is not printed."""


def show_calls(capture: Capture, request: Request, chosen: Collection[int] | None, printer: Printer) -> None:
    """Prints the call trees of those tracks; PeepholeError with the nearest name when nothing has the wanted one."""
    titled = track_titles(capture, apart=True)
    whole = call_tree(capture, chosen, request.interval, request.by_place, titled=titled)
    tree = whole
    for text in request.items:
        tree = searched(tree, text)
        if len(tree) == len(tree.titles):
            names = (whole.functions[number][0] for number in dict.fromkeys(whole.function[whole.depth > 0].tolist()))
            raise missing(text, names, "function")
    if request.inverted:
        tree = inverted(tree)
    if printer.json:
        _records(tree, printer)
        return
    open_ones = unfinished(capture, chosen)
    nested = np.zeros(len(tree.titles), np.bool_)
    nested[whole.title[whole.depth > 1]] = True
    used = np.flatnonzero(tree.sums.count[: len(tree.titles)])
    deep = used[nested[used]] if nested[used].any() else used
    if not len(deep):
        printer.line(("No slices." if request.interval is None else "No slices in this interval.", "dim"))
        return
    deep = deep[np.argsort(-tree.sums.total[deep], kind="stable")]
    order = tree.order()
    for track in deep[:_TRACKS].tolist():
        if track != deep[0]:
            printer.line()
        nodes = order[tree.title[order] == track]
        _tree(capture, tree, nodes, request.top, printer, whole=not request.items)
    notes = []
    if len(deep) > _TRACKS:
        notes.append(f"and {count(len(deep) - _TRACKS)} more tracks: -s NAME shows one")
    if len(used) > len(deep):
        flat = len(used) - len(deep)
        notes.append(f"{count(flat)} track{'s' * (flat > 1)} without nested slices: `show -t` sums them up")
    if open_ones:
        ones = "slices have no end and count" if open_ones > 1 else "slice has no end and counts"
        notes.append(f"{count(open_ones)} {ones} to the end of the trace")
    for note in (*notes, *sampled(capture)):
        printer.line((note, "dim"))


def _records(tree: CallTree, printer: Printer) -> None:
    sums = tree.sums
    cut = [tree.depth_cut(track) for track in range(len(tree.titles))]
    for node in tree.order().tolist():
        if tree.depth[node]:
            printer.record(
                {
                    "name": plain(tree.name(node)),
                    "depth": int(tree.depth[node]) - 1,
                    "count": int(sums.count[node]),
                    "total_ns": int(sums.total[node]),
                    "self_ns": int(sums.self[node]),
                    "track": tree.titles[int(tree.title[node])],
                    "place": tree.place(node) or None,
                    "depth_cut": cut[int(tree.title[node])],
                }
            )


def _tree(
    capture: Capture, tree: CallTree, nodes: np.ndarray, limit: int | None, printer: Printer, *, whole: bool
) -> None:
    """Prints the branches of one track that matter; `whole` when the tree is all that ran on it."""
    track, nodes = int(nodes[0]), nodes[1:]
    busy = int(tree.sums.total[track])
    weight = tree.weight()
    most = _ROWS if limit is None else len(nodes) if limit < 0 else limit
    large = nodes[weight[nodes] >= (busy * _SMALL if limit is None else 0)]
    if len(large) > most:
        # the heaviest, and whatever calls them
        kept = set(large[np.argsort(-weight[large], kind="stable")[:most]].tolist())
        for node in list(kept):
            parent = int(tree.parent[node])
            while parent >= len(tree.titles) and parent not in kept:
                kept.add(parent)
                parent = int(tree.parent[parent])
        large = np.array([node for node in nodes.tolist() if node in kept], np.int64)
    places = places_of(capture, tree.sums.row[large].tolist()) if not tree.inverted else {}
    located = {node: tree.place(node) or places.get(int(tree.sums.row[node]), "") for node in large.tolist()}
    slices = f"busy, {count(int(tree.sums.count[track]))} slices"
    printer.line(
        (tree.titles[track], "bold"), (f"  {duration(busy)} {slices if whole else 'in calls that match'}", "dim")
    )
    sums = tree.sums
    columns = (
        *(
            (Column("self", right=True, style="yellow"), Column("share", right=True))
            if tree.inverted
            else (
                Column("total", right=True, style="yellow"),
                Column("share", right=True),
                Column("self", right=True, style="yellow"),
            )
        ),
        Column("calls", right=True),
        Column("function, then its callers" if tree.inverted else "function", flexible=True),
        *((Column("place", style="dim", flexible=True),) if any(located.values()) else ()),
    )
    rows = []
    for node in large.tolist():
        times = (int(sums.self[node]),) if tree.inverted else (int(sums.total[node]), int(sums.self[node]))
        share = f"{times[0] / busy if busy else 0:.1%}"
        name = "  " * min(int(tree.depth[node]) - 1, 30) + plain(tree.name(node))
        place = (located[node].replace("\\", "/").rpartition("/")[2],) if any(located.values()) else ()
        rest = tuple(duration(time) for time in times[1:])
        rows.append((duration(times[0]), share, *rest, count(int(sums.count[node])), name, *place))
    printer.table(columns, rows)
    cut = tree.depth_cut(track)
    if cut is not None:
        deeper = "what calls those is left out" if tree.left_out else "deeper calls stand at that depth, side by side"
        printer.line((f"cut at depth {count(cut)}: {deeper}", "dim"))
    if len(large) < len(nodes):
        printer.line((f"{count(len(nodes) - len(large))} smaller ones not shown: -t N shows more, --json all", "dim"))
