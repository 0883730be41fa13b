"""Real tapes of GT, where the shared files are present."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from peephole import sources
from peephole.sources.gt import SOURCE

Read = Callable[..., Any]

TAPES = {
    "01_seed_example_auto.log": (31, 1, 1),
    "02_manual_2w_sharded_signals.log": (263, 1, 2),
    "03_manual_4w_sharded_signals.log": (303, 1, 4),
    "04_manual_4w_dp_train20.log": (14287, 1, 4),
    "05_two_clients_2w_train.log": (13721, 2, 2),
    "08_signal_contexts_auto.log": (626, 1, 1),
    "10_long_4w_6000iters.log": (120183, 1, 4),
    "14_killed_server.log": (358, 1, 2),
    "15_no_workers.log": (3, 1, 0),
    "16_console_stdout.txt": (1404, 1, 2),
    "2x_8e5a730_auto_4w.log": (102, 1, 2),
    "2x_a5764f1_auto_1w.log": (25, 1, 1),
    "2_c5bfd05.log": (194, 1, 4),
    "bad/gzip.log.gz": (303, 1, 4),
    "bad/clock_back.log": (303, 1, 4),
    "bad/hostile_names.log": (16, 1, 8),
    "bad/latin1_worker.log": (303, 1, 5),
    "bad/truncated_last_line.log": (303, 1, 4),
    "bad/two_runs_concatenated.log": (566, 2, 6),
    "bad/unknown_ops.log": (28, 1, 4),
    "bad/header_only.log": (0, 0, 0),
}


@pytest.mark.parametrize("name", TAPES)
def test_counts(shared: Callable[[str], Any], read: Read, name: str) -> None:
    path = shared(f"fixtures/gt/{name}")
    assert sources.find(path) is SOURCE
    kept = read(path)
    tape = kept.facts["tape"]
    assert (tape["events"], tape["clients"], tape["workers"]) == TAPES[name]
    assert len(kept.rows.get("slices", [])) >= tape["events"]


@pytest.mark.parametrize("name", ["02_manual_2w_sharded_signals", "03_manual_4w_sharded_signals"])
def test_log_and_monitor_tell_the_same(shared: Callable[[str], Any], read: Read, name: str) -> None:
    log, monitor = (read(shared(f"fixtures/gt/{name}.{kind}")) for kind in ("log", "monitor.jsonl"))
    assert len(log.events) == len(monitor.events)
    for a, b in zip(log.events, monitor.events, strict=True):
        for key in ("seq", "event", "command", "op", "lane", "details", "pair", "of"):
            assert a.get(key) == b.get(key), (a, b)
        assert abs(a["start"] - b["start"]) <= 500_001
        assert abs(a.get("size", 0) - b.get("size", 0)) <= 0.06 * 1024


def test_signals_of_a_real_tape(shared: Callable[[str], Any], read: Read) -> None:
    markers = read(shared("fixtures/gt/08_signal_contexts_auto.log")).rows["markers"]
    edges = Counter((marker["name"], json.loads(marker["args"])["edge"]) for marker in markers)
    assert edges["inner layer|1 — ünï", "start"] == edges["inner layer|1 — ünï", "end"] > 0


@pytest.mark.parametrize("order", [("log", "monitor.jsonl"), ("monitor.jsonl", "log")])
def test_log_and_monitor_of_one_run_are_one_session(
    shared: Callable[[str], Any], read: Read, order: tuple[str, str]
) -> None:
    kept = read(*(shared(f"fixtures/gt/03_manual_4w_sharded_signals.{kind}") for kind in order))
    assert kept.facts["tape"]["events"] == 303
    assert kept.facts["tape"]["resolution"] == 1
    assert kept.facts["tape"]["sessions"][0]["started"] == "2026-11-15 20:35:06"
