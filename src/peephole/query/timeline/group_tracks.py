"""Which tracks kernels, copies, host ranges and messages are on."""

from __future__ import annotations

from typing import Final

from peephole.query.timeline.track_groups import DEVICES, HOST, MESSAGES
from peephole.query.timeline.tracks import TimelineTrack, timeline_tracks
from peephole.store.capture import Capture

GROUPS: Final = ("kernels", "copies", "host", "messages")


def group_tracks(capture: Capture, group: str) -> list[TimelineTrack]:
    """The tracks of a group, one of GROUPS, that have slices."""
    rows = [row for row in timeline_tracks(capture) if row.depths]
    if group == "copies":
        return [row for row in rows if row.kind in ("copy", "disk")]
    if group == "kernels":
        return [row for row in rows if row.group == DEVICES and row.kind not in ("copy", "disk", "batch")]
    if group == "messages":
        return [row for row in rows if row.group == MESSAGES]
    return [row for row in rows if row.group == HOST]
