"""Microseconds in decimal text to integer nanoseconds, exactly."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation

from peephole.sources.chrome.batch import NO_TIME

_LIMIT = 2**62


def nanoseconds(text: str) -> int:
    """The time in ns, digits below a nanosecond rounded half to even; NO_TIME for what is no finite time in range."""
    try:
        value = Decimal(text.strip())
    except InvalidOperation:
        return int(NO_TIME)
    if not value.is_finite() or value.adjusted() > 20:
        return int(NO_TIME)
    whole = int((value * 1000).to_integral_value())
    return whole if -_LIMIT < whole < _LIMIT else int(NO_TIME)
