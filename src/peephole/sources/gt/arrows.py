"""What belongs together in a run: a command and its answer, a worker's part in it, the operation it is about."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from peephole.sources.gt.columns import Codes, Columns, Ints, Names
from peephole.sources.gt.grammar import base_command, batch_commands


@dataclass(slots=True)
class Links:
    """Per event of a run; -1 stands for none."""

    pair: Ints
    """Index of the other half: RECV and SEND of a client, WORKER_SEND and WORKER_RECV of a worker."""
    length: Ints
    """On the first half of a pair whose time the tape knows: from it to the other, in ns; else 0."""
    reply_first: NDArray[np.bool_]
    """The answer was logged before its command and both after the work: how long it took is not known."""
    command: Ints
    """Index of the client's RECV that the event belongs to; -1 where two clients' commands were open at once."""
    op: Codes
    """Numbers of `randn`, `matmul`, `GetData`: what the user reads."""


def link(columns: Columns, names: Names) -> Links:
    """Finds the pairs and the operations of a run; `names` numbers the operations."""
    n = len(columns)
    kind = _kinds(columns)
    pair = np.full(n, -1, np.int64)
    length = np.zeros(n, np.int64)
    reply_first = np.zeros(n, np.bool_)
    _pair_up(columns, kind, 1, 2, np.ones(n, np.bool_), pair)
    batch = columns.command == _code(columns.commands.values, "WorkerBatch")
    turned = _batch_turned(columns, kind, batch)
    _pair_up(columns, kind, 3, 4, ~batch if turned else np.ones(n, np.bool_), pair)
    if turned:
        before = pair.copy()
        _pair_up(columns, kind, 4, 3, batch, pair)
        reply_first = pair != before
    first = np.flatnonzero((pair > np.arange(n)) & ~reply_first)
    length[first] = np.maximum(columns.time[pair[first]] - columns.time[first], 0)
    command = _commands(columns, kind, pair)
    return Links(pair, length, reply_first, command, _ops(columns, kind, pair, command, names))


def _code(values: list[str], text: str) -> int:
    return values.index(text) if text in values else -2


def _kinds(columns: Columns) -> Codes:
    """RECV 1, SEND 2, WORKER_SEND 3, WORKER_RECV 4, MODIFIER_INJECT 5, any other 0."""
    order = ("RECV", "SEND", "WORKER_SEND", "WORKER_RECV", "MODIFIER_INJECT")
    table = np.array([order.index(v) + 1 if v in order else 0 for v in columns.events.values], np.int32)
    return table[columns.event]


def _pair_up(columns: Columns, kind: Codes, a: int, b: int, where: NDArray[np.bool_], pair: Ints) -> None:
    """Joins an `a` with the `b` that follows it directly at the same client or worker and names the same command."""
    rows = np.flatnonzero(((kind == a) | (kind == b)) & where)
    rows = rows[np.argsort(columns.source[rows], kind="stable")]
    x, y = rows[:-1], rows[1:]
    fits = (
        (columns.source[x] == columns.source[y])
        & (kind[x] == a)
        & (kind[y] == b)
        & (columns.command[x] == columns.command[y])
    )
    pair[x[fits]] = y[fits]
    pair[y[fits]] = x[fits]


def _batch_turned(columns: Columns, kind: Codes, batch: NDArray[np.bool_]) -> bool:
    """Whether this tape logs a batch's answer before the batch: neighbouring lines of one worker tell."""
    both = batch[:-1] & batch[1:] & (columns.source[:-1] == columns.source[1:])
    turned = int((both & (kind[:-1] == 4) & (kind[1:] == 3)).sum())
    straight = int((both & (kind[:-1] == 3) & (kind[1:] == 4)).sum())
    return turned > straight


def _commands(columns: Columns, kind: Codes, pair: Ints) -> Ints:
    n = len(columns)
    index = np.arange(n)
    client = (kind == 1) | (kind == 2) | (kind == 5)
    command = np.full(n, -1, np.int64)
    # a worker that registers asks for no work
    work = columns.command != _code(columns.commands.values, "RegisterWorker")
    recv = np.flatnonzero((kind == 1) & work)
    # a command without an answer stays open until its client speaks again, or to the end
    spoken = np.flatnonzero((kind == 1) | (kind == 2))
    by_client = spoken[np.argsort(columns.source[spoken], kind="stable")]
    following = np.full(n, n, np.int64)
    same = columns.source[by_client[:-1]] == columns.source[by_client[1:]]
    following[by_client[:-1][same]] = by_client[1:][same]
    end = np.where(pair[recv] >= 0, pair[recv], following[recv])
    change = np.zeros(n + 1, np.int64)
    np.add.at(change, recv, 1)
    np.add.at(change, end, -1)
    opened = np.cumsum(change[:n])
    if len(recv):
        at = np.searchsorted(recv, index, side="right") - 1
        latest = np.where(at >= 0, recv[np.maximum(at, 0)], -1)
        until = np.where(at >= 0, end[np.maximum(at, 0)], -1)
        alone = (opened == 1) & (until > index)
        command[alone] = latest[alone]
    # a client's own lines name the client, so they are never in doubt
    own = np.flatnonzero(client)
    own = own[np.lexsort((own, columns.source[own]))]
    starts = np.where(kind[own] == 1, own, -1)
    group = np.flatnonzero(np.diff(columns.source[own], prepend=-1))
    base = np.repeat(group, np.diff(np.append(group, len(own))))
    newest = np.maximum.accumulate(np.where(starts >= 0, np.arange(len(own)), -1))
    known = newest >= base
    command[own] = np.where(known, own[np.maximum(newest, 0)], -1)
    return command


def _ops(columns: Columns, kind: Codes, pair: Ints, command: Ints, names: Names) -> Codes:
    """What each event is about: `op=` where the line has it, else the batch's commands, else the command."""
    seen = Names()
    plain = np.array([seen.code(base_command(value)) for value in columns.commands.values], np.int32)
    ops = plain[columns.command]
    has_op = np.array(["Op" in value for value in columns.commands.values], np.bool_)[columns.command]
    told = np.flatnonzero(has_op & (kind != 2) & (kind != 4))
    if len(told):
        details = columns.details
        names_told = [_told(details[i]) for i in told.tolist()]
        codes = {name: seen.code(name) if name else -1 for name in dict.fromkeys(names_told)}
        found = np.fromiter(map(codes.__getitem__, names_told), np.int32, len(told))
        ops[told] = np.where(found >= 0, found, ops[told])
    rows = np.flatnonzero((columns.command == _code(columns.commands.values, "WorkerBatch")) & (kind == 3))
    if len(rows):
        texts = [columns.details[i] for i in rows.tolist()]
        batches = {text: seen.code(_batch_op(text) or "Batch") for text in set(texts)}
        batch = np.fromiter(map(batches.__getitem__, texts), np.int32, len(texts))
        owner = command[rows]
        # one command out of the client's own: then it is that very operation
        same = (owner >= 0) & (plain[columns.command[np.maximum(owner, 0)]] == batch)
        ops[rows] = np.where(same, ops[np.maximum(owner, 0)], batch)
    answers = np.flatnonzero(((kind == 2) | (kind == 4)) & (pair >= 0))
    ops[answers] = ops[pair[answers]]
    used = np.bincount(ops, minlength=len(seen.values)).tolist()
    final = [names.code(text) if used[i] else -1 for i, text in enumerate(seen.values)]
    return np.array(final, np.int32)[ops]


def _told(details: str) -> str:
    """The operation that a line's details tell; empty when they do not."""
    before, _, after = details.partition("op=")
    return "" if before and before[-1] != " " else after.partition(" ")[0]


def _batch_op(details: str) -> str:
    """The operation of a batch: of its only command, or of the one that computes among several."""
    names = [base_command(name) for name in batch_commands(details)]
    work = [name for name in names if name not in ("FreeTensor", "CreateTensor")] or names
    return max(work, key=work.count) if work else ""
