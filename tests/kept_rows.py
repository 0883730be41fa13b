"""The sink of the tests: keeps rows as dictionaries, and takes only what the store would take."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import Any

from peephole.model.sink import ColumnValues, Strings
from peephole.model.tables import TABLES
from peephole.store.tables.schema import arrow_table


class KeptRows:
    """What a source handed over: rows by table, problems and examples by reason, facts."""

    def __init__(self) -> None:
        self.rows: dict[str, list[dict[str, Any]]] = defaultdict(list)
        self.problems: Counter[str] = Counter()
        self.examples: dict[str, str] = {}
        self.facts: dict[str, Any] = {}

    def append(self, table: str, columns: Mapping[str, ColumnValues]) -> None:
        arrow_table(TABLES[table], columns)
        lists = {name: _plain(values) for name, values in columns.items()}
        self.rows[table].extend(dict(zip(lists, values, strict=True)) for values in zip(*lists.values(), strict=True))

    def problem(self, reason: str, count: int = 1, example: str = "") -> None:
        self.problems[reason] += count
        self.examples.setdefault(reason, example)

    def describe(self, **facts: Any) -> None:
        self.facts.update(facts)


def _plain(values: Any) -> list[Any]:
    if isinstance(values, tuple):  # lists of ids: where each begins, and all of them
        offsets, ids = (_plain(part) for part in values)
        return [ids[first:past] for first, past in itertools.pairwise(offsets)]
    if isinstance(values, Strings):
        return [None if code < 0 else values.values[code] for code in values.codes]
    return values.tolist() if hasattr(values, "tolist") else list(values)
