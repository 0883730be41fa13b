"""SQL over a capture: what it may do, how long and with how much memory, and how it is ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from tests.conftest import Cli
from tests.timeline_capture import write_timeline

from peephole.errors import PeepholeError
from peephole.store.capture import Capture, open_capture
from peephole.store.sql import run_sql
from peephole.store.sql_limits import Limits, server_limits

ENDLESS = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT max(n) FROM r"
PRODUCT = "SELECT count(*) FROM slices a, slices b, slices c, slices d, slices e WHERE a.dur + e.dur = 77"
LONG = "SELECT a.start FROM slices a, slices b, slices c, slices d"


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_timeline(tmp_path_factory.mktemp("sql") / "c.peep")


@pytest.fixture(scope="module")
def capture(path: Path) -> Capture:
    return open_capture(path)


@pytest.mark.parametrize(
    "sql",
    [
        "EXPLAIN ANALYZE CREATE TABLE x AS SELECT 1",
        "explain analyze create table x as select 1",
        "EXPLAIN (ANALYZE, FORMAT json) CREATE TABLE x AS SELECT 1",
        "/* a */ EXPLAIN /* b */ ANALYZE -- c\n CREATE TABLE x AS SELECT 1",
        "EXPLAIN ANALYZE INSERT INTO tracks SELECT * FROM tracks",
        "EXPLAIN ANALYZE SET threads = 1",
        "EXPLAIN CREATE TABLE x AS SELECT 1",
        "EXPLAIN ANALYZE DROP VIEW slices",
        "EXPLAIN ANALYZE EXPLAIN ANALYZE CREATE TABLE x AS SELECT 1",
    ],
)
def test_nothing_but_a_select_is_explained(capture: Capture, sql: str) -> None:
    with pytest.raises(PeepholeError, match=r"Only SELECT|cannot be run"):
        run_sql(capture, sql)


@pytest.mark.parametrize(
    "sql",
    [
        "EXPLAIN SELECT 1",
        "EXPLAIN ANALYZE SELECT count(*) FROM slices",
        "explain (analyze, format json) select 1",
        "-- why\nEXPLAIN /* a */ ANALYZE WITH x AS (SELECT 1) SELECT * FROM x",
        "DESCRIBE slices",
        "SHOW TABLES",
        "SUMMARIZE tracks",
        "FROM slices LIMIT 1",
        "VALUES (1)",
    ],
)
def test_selects_are_explained_and_run(capture: Capture, sql: str) -> None:
    assert len(list(run_sql(capture, sql).rows)) >= 1


@pytest.mark.parametrize("sql", [ENDLESS, PRODUCT, LONG])
def test_time_is_limited_wherever_it_is_spent(capture: Capture, sql: str) -> None:
    begun = time.monotonic()
    with pytest.raises(PeepholeError, match=r"0\.5 s.*--limit-time"):
        for _ in run_sql(capture, sql, Limits(seconds=0.5)).rows:
            pass
    assert time.monotonic() - begun < 10


def test_a_reader_that_takes_its_time_is_not_the_querys(capture: Capture) -> None:
    rows = run_sql(capture, "SELECT start FROM slices, range(60)", Limits(seconds=2)).rows
    next(rows)
    time.sleep(2.5)
    assert len(list(rows)) > 20_000


def test_memory_is_limited(capture: Capture) -> None:
    with pytest.raises(PeepholeError, match="--limit-memory"):
        list(run_sql(capture, "SELECT list(range) FROM range(100000000)", Limits(memory=50_000_000)).rows)


def test_a_limit_is_no_setting_that_sql_can_change(capture: Capture) -> None:
    with pytest.raises(PeepholeError):
        run_sql(capture, "SET memory_limit = '100GB'")


def test_the_command_has_the_limits(peephole: Cli, path: Path) -> None:
    slow = peephole("query", "--limit-time", "0.5", ENDLESS, path, check=False)
    assert (slow.returncode, slow.stdout) == (2, "")
    assert slow.stderr.startswith("peephole: The SQL took longer than 0.5 s")
    large = peephole("query", "--limit-memory", "50MB", "SELECT list(range) FROM range(100000000)", path, check=False)
    assert large.returncode == 2
    assert "50.00 MB" in large.stderr
    for option, word, why in (
        ("--limit-time", "x", "'x' is no number of seconds"),
        ("--limit-time", "-1", "'-1' is no number of seconds"),
        ("--limit-memory", "many", "'many' is no number of bytes"),
        ("--limit-memory", "0", "'0' is less than the 1MB"),
    ):
        wrong = peephole("query", option, word, "SELECT 1", path, check=False)
        assert wrong.returncode == 2
        assert f"{option}: {why}" in wrong.stderr
    assert peephole("query", "--limit-time", "0", "--limit-memory", "2GiB", "SELECT 1 AS a", path).stdout.split() == [
        "a",
        "1",
    ]


def test_json_has_every_column_of_a_join(peephole: Cli, path: Path) -> None:
    asked = "SELECT 1 AS name, 2 AS name, 3 AS name_1, 4 AS name"
    assert peephole("query", "--json", asked, path).stdout == '{"name":1,"name_2":2,"name_1":3,"name_3":4}\n'


def test_no_sql_is_said_to_be_none(capture: Capture) -> None:
    for nothing in ("", "  ", "-- only a comment", ";"):
        with pytest.raises(PeepholeError, match="no SQL to run"):
            run_sql(capture, nothing)


def test_options_stand_anywhere(peephole: Cli, path: Path) -> None:
    expected = '{"a":1}\n'
    assert peephole("query", "SELECT 1 AS a", "--json", path).stdout == expected
    assert peephole("query", "--json", "SELECT 1 AS a", path).stdout == expected
    assert peephole("query", "SELECT 1 AS a", path, "--json").stdout == expected


@pytest.mark.parametrize("sql", [ENDLESS, PRODUCT, LONG])
def test_ctrl_c_ends_it_within_a_second(path: Path, tmp_path: Path, sql: str) -> None:
    env = {**os.environ, "PEEPHOLE_DIR": str(tmp_path)}
    command = [sys.executable, "-m", "peephole", "query", sql, str(path)]
    with subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        while used_by(process.pid) < 1.5:  # until it is at work, however busy the machine is
            time.sleep(0.2)
            assert process.poll() is None
        begun, used = time.monotonic(), used_by(process.pid)
        process.send_signal(signal.SIGINT)
        # that it has ended is seen while its figures can still be read
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        assert min(time.monotonic() - begun, used_by(process.pid) - used) < 1.0  # a busy machine has less time for it
        said = process.communicate(timeout=120)[1]
    assert process.returncode == 130
    assert said == ""


def used_by(process: int) -> float:
    """The seconds of CPU that a process has had."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_no_room_for_a_thread_is_said(capture: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    with pytest.raises(PeepholeError, match="no room for another thread"):
        run_sql(capture, "SELECT 1")


def test_a_reader_who_left_ends_it(capture: Capture) -> None:
    begun = time.monotonic()
    with pytest.raises(PeepholeError, match="nobody waits"):
        run_sql(capture, ENDLESS, gone=lambda: time.monotonic() - begun > 0.5)
    assert time.monotonic() - begun < 10


def test_the_server_has_limits_of_its_own() -> None:
    assert 0 < server_limits().seconds <= 60
    assert 0 < server_limits().memory <= Limits().memory
