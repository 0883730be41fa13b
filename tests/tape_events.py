"""What tests ask a tape for."""

from __future__ import annotations

from typing import Any

import numpy as np

from peephole.query.tape.tape import Tape


def events(t: Tape, name: str, op: str | None = None) -> np.ndarray[Any, Any]:
    """The rows of the events of a kind, of one operation or of all."""
    rows = np.flatnonzero(t.is_event(name))
    return rows if op is None else rows[[t.ops[i] == op for i in t.op[rows].tolist()]]
