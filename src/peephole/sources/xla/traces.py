"""A profile as JSON (`.trace.json.gz`): a Chrome trace whose kernels name their module and instruction.

It has no number of the module, so a kernel is linked where its names leave no choice.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from peephole.model.sink import ColumnValues, Sink, Strings
from peephole.model.tables import NONE

_MARK: Final = '"hlo_op"'


class LinkedSink:
    """Hands rows on, slices with the context of what they ran."""

    def __init__(self, sink: Sink, context_of: Callable[[str, str], int]) -> None:
        self._sink, self._context_of = sink, context_of
        self.kernels = self.unlinked = 0

    def append(self, table: str, columns: Mapping[str, ColumnValues]) -> None:
        """Adds rows."""
        if table == "slices" and "args" in columns:
            args = columns["args"]
            if isinstance(args, Strings):  # a text in dictionary form is looked at once
                known = [self._context(one) for one in args.values]
                found = [known[code] if code >= 0 else NONE for code in args.codes]
            else:
                found = [self._context(one) for one in args]
            columns = {**columns, "context": found}
        self._sink.append(table, columns)

    def problem(self, reason: str, count: int = 1, example: str = "") -> None:
        """Counts something that was not understood."""
        self._sink.problem(reason, count, example)

    def describe(self, **facts: Any) -> None:
        """Adds facts to the manifest."""
        self._sink.describe(**facts)

    def _context(self, args: str | None) -> int:
        if not args or _MARK not in args:
            return NONE
        try:
            facts = json.loads(args)
        except ValueError:
            return NONE
        found = NONE
        if isinstance(facts, dict):
            found = self._context_of(str(facts.get("hlo_module", "")), str(facts.get("hlo_op", "")))
        self.kernels += 1
        self.unlinked += found == NONE
        return found
