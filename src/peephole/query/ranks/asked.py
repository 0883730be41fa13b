"""The tables of a run for SQL over a recording that is a run by itself: of torchrun, Dask, several processes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from peephole.errors import PeepholeError
from peephole.model.run_tables import RUN_TABLES
from peephole.query.ranks.run import open_run
from peephole.store.capture import Capture
from peephole.store.runs import is_run

_ASKED: Final = re.compile(rf'(?:\b(?:from|join|describe)|,)\s*"?(?:{"|".join(RUN_TABLES)})\b', re.IGNORECASE)


def asked_tables(capture: Capture, sql: str) -> dict[str, Mapping[str, Any]]:
    """The columns of a run's tables where SQL names one and the capture does not have them on disk; none of one rank.

    They are summed up out of all slices, so for nobody who does not ask.
    """
    if is_run(capture.path) or not _ASKED.search(sql):
        return {}
    try:
        tables = open_run(capture).tables
    except PeepholeError:
        return {}
    return {
        name: {column.name: table[column.name] for column in RUN_TABLES[name].columns if column.name in table}
        for name, table in tables.items()
    }
