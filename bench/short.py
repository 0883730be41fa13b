"""The sizes with which each measurement ends within minutes on two cores; what is not named is quick as it is."""

from __future__ import annotations

from typing import Final

SECONDS: Final = 480
"""A measurement that takes longer is stopped, and said to have failed."""

SHORT: Final[dict[str, list[str]]] = {
    "calls": ["--slices", "300000"],
    "chrome": ["--events", "300000", "--tries", "1"],
    "commands": ["--tries", "3"],
    "compare": ["--slices", "1000000", "--rounds", "1"],
    "dask_overhead": ["--tasks", "2000", "--rounds", "2"],
    "decode_cost": ["--rounds", "1"],
    "hardware": ["--packets", "2000000"],
    "perfetto_import": ["--events", "500000", "--rows", "200000"],
    "ranks": ["--ranks", "16", "--slices", "50000", "--wide", "2000", "--collectives", "1000"],
    "replay": ["--stock-seconds", "10"],
    "replay_equality": ["add", "mnist", "--seconds", "40"],
    "seal": ["--slices", "2000000"],
    "share": ["--rounds", "1"],
    "span": ["--rounds", "10"],
    "tape": ["--rounds", "3"],
    "timeline_peers": ["--slices", "200000", "--seconds", "3"],
    "tinygrad_live": ["--rounds", "1"],
    "torch_cost": ["1"],
    "torch_large": ["4"],
    "web_graph": ["--limit", "20"],
    "web_hardware": ["--packets", "1000000"],
    "web_memory": ["--buffers", "200000"],
    "web_page": ["--times", "1"],
    "web_ranks": ["--ranks", "2000", "--steps", "500"],
    "web_tape": ["--rounds", "1"],
    "web_timeline": ["--slices", "2000000", "--peer-slices", "200000", "--seconds", "3"],
    "web_xla": ["--megabytes", "20"],
    "xla_import": ["--megabytes", "50"],
    "xla_profile": ["--events", "200000"],
}
