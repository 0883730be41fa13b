"""A profile recorded beside an execution trace: its slices get the operator that they are a run of."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, Final

from peephole.model.sink import ColumnValues, Sink, Strings
from peephole.model.tables import NONE
from peephole.sources.chakra.operators import Operator
from peephole.sources.linked_trace import LinkedTrace, Numbers

_RECORD: Final = re.compile(r'"Record function id"\s*:\s*(\d{1,18})\b')
_EXTERNAL: Final = re.compile(r'"External id"\s*:\s*(\d{1,18})\b')


class JoinedProfile(LinkedTrace):
    """Slices are linked by the number of the record function, what runs on a device by that of its launch.

    `place` says where an operator's node is, as the args of its slices tell it.
    """

    def __init__(
        self, sink: Sink, numbers: Numbers, context: int, operators: list[Operator], place: Callable[[Operator], str]
    ) -> None:
        super().__init__(sink, numbers, 0)
        self._context, self._place = context, place
        self._operators = {one.record: one for one in operators if one.record}
        self._by_external: dict[int, int] = {}
        self.took: dict[int, int] = {}
        """Nanoseconds by the operator's number."""
        self.strangers = 0
        """Slices whose operator is called otherwise: the two files are not of one run."""

    def link(self, rows: dict[str, ColumnValues]) -> None:
        """Context, and the node in the args."""
        import numpy as np

        names, durations = list(_texts(rows["name"])), np.asarray(rows["dur"], np.int64).tolist()
        args = list(_texts(rows.get("args") or [None] * len(names)))
        contexts = np.full(len(names), NONE, np.int64)
        for row, text in enumerate(args):
            if not text or "id" not in text:
                continue
            found = self._operator(text, names[row] or "")
            if found is None:
                continue
            contexts[row] = self._context
            self.slices += 1
            if found.name == names[row]:
                self.took[found.number] = self.took.get(found.number, 0) + durations[row]
            rest = text[1:].lstrip()
            args[row] = f"{self._place(found)[:-1]}{'' if rest.startswith('}') else ', '}{rest}"
        rows["args"] = args
        rows["context"] = contexts

    def _operator(self, text: str, name: str) -> Operator | None:
        record, external = _RECORD.search(text), _EXTERNAL.search(text)
        if record is not None and int(record[1]):
            found = self._operators.get(int(record[1]))
            if found is not None and found.name != name:
                self.strangers += 1
                return None
            if external is not None:
                self._by_external[int(external[1])] = int(record[1])
            return found
        if external is None:
            return None
        # a kernel or copy names the operator that launched it
        return self._operators.get(self._by_external.get(int(external[1]), 0))


def _texts(column: Any) -> Iterator[str | None]:
    if isinstance(column, Strings):
        return (column.values[code] if code >= 0 else None for code in column.codes)
    return iter(column)
