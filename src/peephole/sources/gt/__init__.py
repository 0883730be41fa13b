"""GT's instruction tapes: logs, console captures and the monitor's JSON lines."""

from __future__ import annotations

from peephole.sources.gt.source import GtSource

SOURCE = GtSource()
