"""When records were written: their headers have a local time without a year, events have the time since 1970."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from typing import Final

from peephole.sources.torch.log.records import HEADER, Record

_QUARTER: Final = 15 * 60 * 1_000_000_000
"""Zones differ by quarters of an hour."""
_EVENT: Final = re.compile(rb'^[^\t\n][^\n]*"chromium_event"[^\n]*\n((?:\t[^\n]*\n)+)', re.MULTILINE)


class Clock:
    """The time of records of one file in ns since 1970; -1 for what is no time."""

    def __init__(self, head: bytes, written: float) -> None:
        self._year = datetime.fromtimestamp(max(min(written, 4e9), 0), UTC).year
        self._zone = 0
        self._days: dict[str, int] = {}
        self.begin = -1
        """Time of the first record; -1 when there is none."""
        for event in _EVENT.finditer(head):
            found = HEADER.match(event[0])
            time = _event_time(event[1])
            if found is not None and time > 0:
                self._year = datetime.fromtimestamp(time // 1_000_000_000, UTC).year
                own = self._local(found["date"].decode(), found["time"].decode())
                if own >= 0:
                    self._zone = round((time - own) / _QUARTER) * _QUARTER
                    break
        first = next((match for line in head.splitlines() if (match := HEADER.match(line))), None)
        if first is not None:
            self.begin = self.time(first["date"].decode(), first["time"].decode())

    def of(self, record: Record) -> int:
        """When a record was written."""
        return self.time(record.date, record.clock)

    def time(self, date: str, clock: str) -> int:
        """The time of a header."""
        own = self._local(date, clock)
        return own + self._zone if own >= 0 else -1

    def _local(self, date: str, clock: str) -> int:
        day = self._days.get(date)
        if day is None:
            try:
                at = datetime(self._year, int(date[:2]), int(date[2:]), tzinfo=UTC)
                day = int(at.timestamp()) * 1_000_000_000
            except (ValueError, OverflowError):
                day = -1
            self._days[date] = day
        if day < 0:
            return -1
        seconds = int(clock[:2]) * 3600 + int(clock[3:5]) * 60 + int(clock[6:8])
        return day + seconds * 1_000_000_000 + int(clock[9:].ljust(9, "0")[:9])


def _event_time(payload: bytes) -> int:
    try:
        event = json.loads(payload.replace(b"\n\t", b"\n").lstrip(b"\t"))
        ts = event["ts"]
        return int(ts * 1000) if 1e14 < ts < 9e15 else -1
    except (ValueError, KeyError, TypeError, RecursionError):
        return -1
