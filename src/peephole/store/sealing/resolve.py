"""Makes the rows of journals consistent: of several rows of one thing the last, no reference to what is not there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from peephole.model.tables import TABLES
from peephole.store.manifest import Manifest
from peephole.store.tables.arrow import as_array, only, take
from peephole.store.tables.schema import arrow_table

Ints = NDArray[np.int64]
_SPARSE: Final = 4
_REWRITTEN: Final = ("tracks", "contexts", "steps", "buffers")


def resolve(
    tables: dict[str, pa.Table],
    frees: Sequence[tuple[Ints, Ints]],
    owners: Sequence[tuple[int, int]],
    manifest: Manifest,
) -> None:
    """Mends the tables in place; what had to go is counted in the manifest."""
    for name in _REWRITTEN:
        tables[name] = _last_of_each(tables[name])
    tables["buffers"] = _freed(tables["buffers"], frees, manifest)
    tables["tracks"] = _with_lost_tracks(tables["tracks"], owners, manifest)
    tables["nodes"] = _whole_nodes(tables["nodes"], manifest)
    tables["uses"] = _only(tables, "uses", "buffer", "buffers", "uses of buffers that were lost", manifest)
    _steps_and_matches(tables, manifest)


def numbers(data: pa.Table, column: str) -> Ints:
    """A column as numpy numbers."""
    return data.column(column).to_numpy()  # type: ignore[no-any-return]


def _replace(data: pa.Table, column: str, values: NDArray[Any]) -> pa.Table:
    at = data.schema.get_field_index(column)
    return data.set_column(at, data.schema.field(at), as_array(values))


def _last_of_each(data: pa.Table) -> pa.Table:
    ids = numbers(data, "id")
    _, first = np.unique(ids[::-1], return_index=True)
    if len(first) == len(ids):
        return data
    return take(data, as_array(np.sort(len(ids) - 1 - first)))


def _freed(data: pa.Table, frees: Sequence[tuple[Ints, Ints]], manifest: Manifest) -> pa.Table:
    if not frees:
        return data
    buffers = np.concatenate([f[0] for f in frees])
    times = np.concatenate([f[1] for f in frees])
    ids = numbers(data, "id")
    at, known = _find(ids, buffers)
    if not known.all():
        manifest.problem("frees of buffers that were lost", int((~known).sum()))
    free = numbers(data, "free").copy()
    free[at[known]] = times[known]
    return _replace(data, "free", free)


def _find(ids: Ints, wanted: Ints) -> tuple[Ints, NDArray[np.bool_]]:
    """Where each wanted id is among ids, and whether it is there at all."""
    if len(ids) == 0:
        return np.zeros(len(wanted), np.int64), np.zeros(len(wanted), np.bool_)
    low, high = int(ids.min()), int(ids.max())
    if high - low < _SPARSE * (len(ids) + len(wanted)):  # numbered one after the other, as nodes are: looked up
        places = np.full(high - low + 2, -1, np.int64)
        places[ids[::-1] - low] = np.arange(len(ids))[::-1]  # of several rows the first
        inside = (wanted >= low) & (wanted <= high)
        at = places[np.where(inside, wanted - low, -1)]
        known = at >= 0
        return np.where(known, at, 0), known
    order = np.argsort(ids, kind="stable")
    place = np.minimum(np.searchsorted(ids[order], wanted), len(ids) - 1)
    at = order[place]
    return at, ids[at] == wanted


def _with_lost_tracks(data: pa.Table, owners: Sequence[tuple[int, int]], manifest: Manifest) -> pa.Table:
    _, known = _find(numbers(data, "id"), np.arange(len(owners)))
    missing = np.flatnonzero(~known)
    if len(missing) == 0:
        return data
    manifest.problem("tracks whose name was lost", len(missing))
    names = [f"process {owners[i][0]} track {owners[i][1]}" for i in missing.tolist()]
    rows = arrow_table(TABLES["tracks"], {"id": missing, "name": names, "kind": ["host"] * len(missing)})
    return pa.concat_tables([data, rows])


def _whole_nodes(data: pa.Table, manifest: Manifest) -> pa.Table:
    """Without the nodes that stand on a lost one, at any distance."""
    rows = data.num_rows
    sources = data.column("src").combine_chunks()
    offsets = sources.offsets.to_numpy()
    at, known = _find(numbers(data, "id"), sources.values.to_numpy()[offsets[0] : offsets[-1]])
    if known.all():
        return data
    owner = np.repeat(np.arange(rows), np.diff(offsets))
    # who stands on a node: users[first[row] : first[row + 1]]
    order = np.argsort(at[known], kind="stable")
    users = owner[known][order]
    first = np.searchsorted(at[known][order], np.arange(rows + 1))
    keep = np.ones(rows, np.bool_)
    lost = np.unique(owner[~known])
    while len(lost):
        keep[lost] = False
        counts = first[lost + 1] - first[lost]
        places = np.repeat(first[lost] - np.cumsum(counts) + counts, counts) + np.arange(int(counts.sum()))
        lost = np.unique(users[places])
        lost = lost[keep[lost]]
    manifest.problem("nodes whose sources were lost, removed", int((~keep).sum()))
    return only(data, keep)


def _only(
    tables: dict[str, pa.Table], name: str, column: str, target: str, reason: str, manifest: Manifest
) -> pa.Table:
    data = tables[name]
    _, known = _find(numbers(tables[target], "id"), numbers(data, column))
    if known.all():
        return data
    manifest.problem(reason + ", removed", int((~known).sum()))
    return only(data, known)


def _steps_and_matches(tables: dict[str, pa.Table], manifest: Manifest) -> None:
    nodes = numbers(tables["nodes"], "id")
    steps = tables["steps"]
    for column, which in (("root", "graph"), ("after", "graph after them")):
        root = numbers(steps, column)
        _, known = _find(nodes, root)
        gone = ~known & (root != -1)
        if gone.any():
            manifest.problem(f"steps whose {which} was lost", int(gone.sum()))
            steps = _replace(steps, column, np.where(gone, -1, root))
    contexts = tables["contexts"]
    own = numbers(steps, "context")
    _, known = _find(numbers(contexts, "id"), own)
    nameless = ~known & (own != -1)
    if nameless.any():
        missing = np.unique(own[nameless])
        manifest.problem("contexts whose name was lost", len(missing))
        lost = {"id": missing, "name": ["(lost)"] * len(missing), "kind": ["other"] * len(missing)}
        tables["contexts"] = pa.concat_tables([contexts, arrow_table(TABLES["contexts"], lost)])
    matches = _whole_matches(tables["matches"], nodes, numbers(steps, "id"), manifest)
    tables["matches"] = matches
    # a step that was cut off by a kill was written with the count of its beginning
    at, known = _find(numbers(steps, "id"), numbers(matches, "step"))
    counted = np.bincount(at[known], minlength=steps.num_rows) if steps.num_rows else np.zeros(0, np.int64)
    tables["steps"] = _replace(steps, "matches", counted.astype(np.int32))
    reason = "decisions whose step was lost"
    decisions = tables["decisions"] = _only(tables, "decisions", "step", "steps", reason, manifest)
    for column in ("a", "b"):
        own = numbers(decisions, column)
        lost = ~_find(nodes, own)[1] & (own != -1)
        if lost.any():
            manifest.problem("nodes of decisions that were lost", int(lost.sum()))
            tables["decisions"] = decisions = _replace(decisions, column, np.where(lost, -1, own))


def _known_lists(data: pa.Table, column: str, nodes: Ints) -> NDArray[np.bool_]:
    """Whether all ids of each row's list are those of nodes."""
    lists = data.column(column).combine_chunks()
    offsets = lists.offsets.to_numpy()
    known = _find(nodes, lists.values.to_numpy()[offsets[0] : offsets[-1]])[1]
    good = np.ones(data.num_rows, np.bool_)
    good[np.repeat(np.arange(data.num_rows), np.diff(offsets))[~known]] = False
    return good


def _whole_matches(data: pa.Table, nodes: Ints, steps: Ints, manifest: Manifest) -> pa.Table:
    """Without a match that names a lost node and those after it in its step: what is left can be replayed."""
    if data.num_rows == 0:
        return data
    step, ordinal = numbers(data, "step"), numbers(data, "ordinal")
    before, after = numbers(data, "before"), numbers(data, "after")
    good = _find(nodes, before)[1] & (_find(nodes, after)[1] | (after == -1)) & _find(steps, step)[1]
    for column in ("removed", "added"):
        good &= _known_lists(data, column, nodes)
    if good.all():
        return data
    bad_steps, first = np.unique(step[~good], return_inverse=True)
    limit = np.full(len(bad_steps), np.iinfo(np.int64).max)
    np.minimum.at(limit, first, ordinal[~good])
    at = np.minimum(np.searchsorted(bad_steps, step), len(bad_steps) - 1)
    keep = (bad_steps[at] != step) | (ordinal < limit[at])
    keep &= good
    manifest.problem("matches whose nodes or step were lost, removed with those after them", int((~keep).sum()))
    return only(data, keep)
