"""Events of a tape that its picture treats apart, by their commands."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

import numpy as np
from numpy.typing import NDArray

from peephole.query.tape.tape import Tape

REGISTER: Final = frozenset(("RegisterWorker",))


def of_commands(tape: Tape, names: Collection[str]) -> NDArray[np.bool_]:
    """Which events have one of these commands."""
    found: NDArray[np.bool_] = np.array([name in names for name in tape.commands], np.bool_)[tape.command]
    return found


def registered(tape: Tape) -> NDArray[np.bool_]:
    """Which events are the answer to a registration: it says nothing new."""
    return of_commands(tape, REGISTER) & tape.is_event("SEND")
