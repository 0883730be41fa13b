"""A small picture of a timeline as PNG: a row for each track, strong where it was busy."""

from __future__ import annotations

import struct
import zlib
from typing import Final

import numpy as np
from numpy.typing import NDArray

from peephole.query.timeline.tracks import TimelineTrack, timeline_span, timeline_tracks
from peephole.query.timeline.windows import lane_windows
from peephole.store.capture import Capture

WIDTH: Final = 720
_ROWS: Final = 12
_HEIGHT: Final = 12
_GAP: Final = 3
_PAPER: Final = np.array([246, 248, 250], np.float64)
_INK: Final = {"Devices": (90, 110, 230), "Host": (110, 120, 135), "Messages": (40, 150, 120)}


def thumbnail(capture: Capture) -> bytes | None:
    """The picture; None of a capture without slices."""
    tracks = [track for track in timeline_tracks(capture) if track.depths]
    # devices say most, then the fullest
    tracks = sorted(tracks, key=lambda track: (track.group != "Devices", -track.slices))[:_ROWS]
    if not tracks:
        return None
    t0, t1 = timeline_span(capture)
    image = np.tile(_PAPER, ((_HEIGHT + _GAP) * len(tracks) + _GAP, WIDTH, 1))
    windows = lane_windows(capture, [(track.id, track.depths[0]) for track in tracks], t0, max(t1, t0 + 1), WIDTH)
    for row, (track, lane) in enumerate(zip(tracks, windows, strict=True)):
        share = _busy(lane.start - t0, lane.end - t0, np.asarray(lane.busy, np.float64), max(t1 - t0, 1))
        top = _GAP + row * (_HEIGHT + _GAP)
        image[top : top + _HEIGHT] += (share[:, None] * (_colour(track) - _PAPER))[None]
    return _png(image.astype(np.uint8))


def _colour(track: TimelineTrack) -> NDArray[np.float64]:
    return np.array(_INK.get(track.group, _INK["Host"]), np.float64)


def _busy(
    start: NDArray[np.int64], end: NDArray[np.int64], busy: NDArray[np.float64], span: int
) -> NDArray[np.float64]:
    """How strong each pixel is: its busy share, and something for the least that ran."""
    if not len(start):
        return np.zeros(WIDTH)
    edges = np.linspace(0, span, WIDTH + 1)
    knots = np.stack([start, end], axis=1).ravel().astype(np.float64)
    sums = np.cumsum(busy * (end - start))
    values = np.stack([sums - busy * (end - start), sums], axis=1).ravel()
    share = np.clip(np.diff(np.interp(edges, knots, values)) * WIDTH / span, 0, 1)
    return np.where(share > 0, 0.25 + 0.75 * share, 0.0)


def _png(pixels: NDArray[np.uint8]) -> bytes:
    height, width, _ = pixels.shape
    rows = np.concatenate([np.zeros((height, 1), np.uint8), pixels.reshape(height, -1)], axis=1)

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    body = chunk(b"IDAT", zlib.compress(rows.tobytes(), 9))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + body + chunk(b"IEND", b"")
