"""Nsight's and rocpd's databases: rows equal to what plain SQL says, hostile and damaged files, missing tables."""

from __future__ import annotations

import contextlib
import json
import random
import sqlite3
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.capture_rows import rows
from tests.sources.sqlite.databases import GUID, SESSION, STRINGS, fill, nsight, rocpd, tid

from peephole import sources
from peephole.errors import CaptureError, PeepholeError
from peephole.ingest import import_files
from peephole.sources.sqlite_file import SqliteFile
from peephole.store.capture import Capture, open_capture


def imported(path: Path) -> Capture:
    return open_capture(import_files([path], path.parent / f"{path.name}.peep"))


def by_track(capture: Capture) -> dict[str, list[dict[str, Any]]]:
    names = {track["id"]: track["name"] for track in rows(capture, "tracks")}
    found: dict[str, list[dict[str, Any]]] = {}
    for row in rows(capture, "slices"):
        found.setdefault(names[row["track"]], []).append(row)
    return found


def asked(path: Path, sql: str) -> list[tuple[Any, ...]]:
    connection = sqlite3.connect(path)
    try:
        return connection.execute(sql).fetchall()
    finally:
        connection.close()


@pytest.mark.parametrize("name", ["report.sqlite", "x"])
def test_nsight_is_what_sql_says(name: str, tmp_path: Path) -> None:
    path = nsight(tmp_path / name)
    assert sources.find(path).name == "nsight"
    capture = imported(path)
    found = Counter((s["start"], s["dur"], s["name"]) for s in rows(capture, "slices"))
    copies = {1: "Memcpy HtoD", 2: "Memcpy DtoH"}
    truth: Counter[Any] = Counter()
    for table, column in (("RUNTIME", "nameId"), ("KERNEL", "demangledName")):
        for start, end, text in asked(path, f"SELECT start, end, {column} FROM CUPTI_ACTIVITY_KIND_{table}"):
            truth[start, end - start, STRINGS[text]] += 1
    for start, end, kind in asked(path, "SELECT start, end, copyKind FROM CUPTI_ACTIVITY_KIND_MEMCPY"):
        truth[start, end - start, copies[kind]] += 1
    for start, end in asked(path, "SELECT start, end FROM CUPTI_ACTIVITY_KIND_MEMSET"):
        truth[start, end - start, "Memset"] += 1
    truth[900_000, 1000, "CUDA graph 5"] += 1
    nvtx = "SELECT start, end, coalesce(text, 'step') FROM NVTX_EVENTS WHERE eventType IN (59, 60)"
    for start, end, text in asked(path, nvtx):
        truth[start, end - start, text] += 1
    assert found == truth
    lanes = by_track(capture)
    assert {"main", "thread 7", "NVTX ranges", "GPU 0 · stream 7", "GPU 0 · stream 7 · copies"} <= set(lanes)
    assert capture.manifest.clocks["base_ns"] == SESSION
    kernel = next(s for s in lanes["GPU 0 · stream 8"] if "graph_node" in s["args"])
    assert json.loads(kernel["args"]) == {
        "grid": [64, 2, 1], "block": [128, 1, 1], "registers": 40, "shared_static": 0, "shared_dynamic": 4096,
        "context": 1, "correlation": 10, "graph_node": 77,
    }  # fmt: skip
    assert json.loads(lanes["NVTX ranges"][0]["args"]) == {"domain": "library"}
    assert json.loads(lanes["GPU 0 · stream 7 · copies"][0]["args"])["bytes"] == 1 << 20


@pytest.mark.parametrize("make", [nsight, rocpd])
def test_rows_that_wait_on_the_disk_are_the_same(make: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from peephole.sources import parted_rows
    from peephole.store.tables import row_spool

    path = make(tmp_path / "whole", steps=40)
    whole = imported(path)
    monkeypatch.setattr(parted_rows, "IN_MEMORY", 5)
    monkeypatch.setattr(row_spool, "RUN", 900)
    monkeypatch.setattr(row_spool, "_BATCH", 7)
    parted = open_capture(import_files([path], tmp_path / "parted.peep"))
    for table in ("slices", "flows", "counters", "markers"):
        assert rows(parted, table) == rows(whole, table) != [] or (make, table) == (rocpd, "markers")
    unnumbered = [
        sorted((b["device"], b["alloc"], b["free"], b["bytes"]) for b in rows(capture, "buffers"))
        for capture in (whole, parted)
    ]  # numbers are dealt out part by part
    assert unnumbered[0] == unnumbered[1] != []
    assert sorted(b["id"] for b in rows(parted, "buffers")) == sorted(b["id"] for b in rows(whole, "buffers"))
    assert parted.manifest.problems == whole.manifest.problems


def test_nsight_launches_stay_within_their_process(tmp_path: Path) -> None:
    path = nsight(tmp_path / "r.sqlite")
    capture = imported(path)
    slices = {s["correlation"]: s for s in rows(capture, "slices")}
    process = {t["id"]: t["process"] for t in rows(capture, "tracks")}
    arrows = [(slices[f["from"]], slices[f["to"]]) for f in rows(capture, "flows")]
    joined = sum(
        asked(path, f"SELECT count(*) FROM CUPTI_ACTIVITY_KIND_{table} k JOIN CUPTI_ACTIVITY_KIND_RUNTIME r ON "
                    "k.correlationId = r.correlationId AND k.globalPid / 16777216 = r.globalTid / 16777216")[0][0]
        for table in ("KERNEL", "MEMCPY", "MEMSET", "GRAPH_TRACE")
    )  # fmt: skip
    assert len(arrows) == joined == 41
    for call, work in arrows:
        assert process[call["track"]] == process[work["track"]]
        assert (call["name"], work["name"]) in {
            ("cudaLaunchKernel_v7000", "gemm<float>(int)"), ("cudaLaunchKernel_v7000", "CUDA graph 5"),
            ("cudaMemcpyAsync_v3020", "Memcpy HtoD"), ("cudaMemcpyAsync_v3020", "Memcpy DtoH"),
        }  # fmt: skip
    problems = {p["reason"]: p["count"] for p in capture.manifest.problems}
    assert problems == {
        "work on a device whose launch is not in the file": 2, "table that is not shown: SOMETHING_NEW": 1
    }  # fmt: skip


def test_nsight_marks_memory_and_metrics(tmp_path: Path) -> None:
    capture = imported(nsight(tmp_path / "r.sqlite"))
    marks = rows(capture, "markers")
    assert len(marks) == 20 and {m["colour"] for m in marks} == {"#00ff00"}
    buffers = rows(capture, "buffers")
    assert len(buffers) == 20 and {b["device"] for b in buffers} == {"GPU 0"}
    assert sum(b["free"] >= 0 for b in buffers) == 10
    assert all(b["free"] - b["alloc"] == 5000 for b in buffers if b["free"] >= 0)
    counters = rows(capture, "counters")
    assert [(c["time"], c["value"]) for c in counters] == [(t, float(t)) for t in range(5)]
    assert "GPU 0 · SM Active [Throughput %]" in {t["name"] for t in rows(capture, "tracks")}


def test_several_ranks_are_on_one_clock(tmp_path: Path) -> None:
    first, second = nsight(tmp_path / "a"), nsight(tmp_path / "b", first=500)
    connection = sqlite3.connect(second)
    connection.execute(f"UPDATE TARGET_INFO_SESSION_START_TIME SET utcEpochNs = {SESSION + 1_000_000}")
    connection.commit()
    connection.close()
    capture = open_capture(import_files([first, second], tmp_path / "both.peep"))
    slices = rows(capture, "slices")
    assert len({s["correlation"] for s in slices}) == len(slices) == 2 * len(rows(imported(first), "slices"))
    process = {t["id"]: t["process"] for t in rows(capture, "tracks")}
    starts = {rank: min(s["start"] for s in slices if process[s["track"]] == rank) for rank in (100, 500)}
    assert starts[500] - starts[100] == 1_000_000 + 400
    numbers = [b["id"] for b in rows(capture, "buffers")]
    assert len(set(numbers)) == len(numbers) == 40


def test_missing_tables_and_columns_are_said(tmp_path: Path) -> None:
    path = fill(tmp_path / "x", {
        "StringIds": ("id INT, value TEXT", [(1, "k")]),
        "CUPTI_ACTIVITY_KIND_KERNEL": ("start INT, end INT, shortName INT", [(1, 5, 1)]),
        "CUPTI_ACTIVITY_KIND_MEMSET": ("end INT", [(1,)]),
        "NVTX_EVENTS": ("start INT, end INT, text TEXT", [(1, 9, "range"), (3, None, "mark")]),
    })  # fmt: skip
    capture = imported(path)
    assert Counter((s["start"], s["dur"], s["name"]) for s in rows(capture, "slices")) == Counter(
        [(1, 4, "k"), (1, 8, "range")]
    )
    assert [m["name"] for m in rows(capture, "markers")] == ["mark"]
    reasons = {p["reason"] for p in capture.manifest.problems}
    assert {
        "CUPTI_ACTIVITY_KIND_KERNEL has no column deviceId",
        "CUPTI_ACTIVITY_KIND_MEMSET has no column start, so it is not shown",
        "tables that this export does not have: CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_RUNTIME",
    } <= reasons


def test_nsight_calls_of_mpi_devices_of_processes_and_tables_without_rows(tmp_path: Path) -> None:
    path = nsight(tmp_path / "x", steps=2)
    connection = sqlite3.connect(path)
    connection.executescript(f"""
        INSERT INTO StringIds VALUES (7, 'MPI_Allreduce');
        CREATE TABLE MPI_COLLECTIVES_EVENTS (start INT, end INT, globalTid INT, textId INT, rootRank INT, size INT);
        INSERT INTO MPI_COLLECTIVES_EVENTS VALUES (50, 90, {tid(100, 7)}, 7, NULL, 64),
            (95, NULL, {tid(101, 7)}, 7, 0, 32);
        CREATE TABLE VULKAN_WORKLOAD (start INT, end INT, gpu INT);
        INSERT INTO TARGET_INFO_GPU VALUES (1, 'NVIDIA L4');
        CREATE TABLE TARGET_INFO_CUDA_DEVICE (gpuId INT, cudaId INT, pid INT, uuid TEXT);
        INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (0, 0, 100, 'a'), (1, 0, 101, 'b');
    """)
    connection.close()
    capture = imported(path)
    calls = {
        (s["start"], s["dur"]): json.loads(s["args"]) for s in rows(capture, "slices") if s["name"] == "MPI_Allreduce"
    }
    assert calls == {(50, 40): {"bytes": 64}, (95, 0): {"bytes": 32, "root_rank": 0}}
    names = {t["name"] for t in rows(capture, "tracks")}
    assert {"GPU 0 · NVIDIA A100 · process 100", "GPU 0 · NVIDIA L4 · process 101"} <= names
    reasons = {p["reason"] for p in capture.manifest.problems}
    assert "table that is not shown: SOMETHING_NEW" in reasons and not any("VULKAN" in one for one in reasons)


@pytest.mark.parametrize("name", ["42_results.db", "x"])
def test_rocpd_is_what_sql_says(name: str, tmp_path: Path) -> None:
    path = rocpd(tmp_path / name)
    assert sources.find(path).name == "rocpd"
    capture = imported(path)
    found = Counter((s["start"], s["dur"], s["name"]) for s in rows(capture, "slices"))
    truth: Counter[Any] = Counter()
    for table, names, text, key in (
        ("region", "string", "string", "name_id"), ("memory_copy", "string", "string", "name_id"),
        ("kernel_dispatch", "info_kernel_symbol", "display_name", "kernel_id"),
    ):  # fmt: skip
        sql = (
            f"SELECT a.start, a.end - a.start, b.{text} FROM rocpd_{table}{GUID} a "
            f"JOIN rocpd_{names}{GUID} b ON a.{key} = b.id"
        )
        truth.update(asked(path, sql))
    assert found == truth
    slices = {s["correlation"]: s for s in rows(capture, "slices")}
    arrows = Counter((slices[f["from"]]["name"], slices[f["to"]]["name"]) for f in rows(capture, "flows"))
    assert arrows == {("hipLaunchKernel", "gemm()"): 10, ("hipMemcpyAsync", "MEMORY_COPY_HOST_TO_DEVICE"): 10}
    for flow in rows(capture, "flows"):
        assert 0 < slices[flow["to"]]["start"] - slices[flow["from"]]["start"] < 4000
    lanes = by_track(capture)
    assert set(lanes) == {"thread 4243", "GPU 0 · MI300X · queue 2", "GPU 0 · MI300X · copies to stream 2"}
    assert json.loads(lanes["GPU 0 · MI300X · queue 2"][0]["args"])["grid"] == [1024, 1, 1]
    buffers = rows(capture, "buffers")
    assert len(buffers) == 10 and sum(b["free"] >= 0 for b in buffers) == 5
    assert [c["value"] for c in rows(capture, "counters")] == [step * 1.5 for step in range(10)]
    process, counter = (next(t for t in rows(capture, "tracks") if t["kind"] == kind) for kind in ("host", "counter"))
    assert (counter["name"], counter["unit"]) == ("GPU 0 · MI300X · SQ_WAVES", "waves")
    assert (counter["parent"], counter["process"]) == (process["id"], process["process"])
    assert [p["reason"] for p in capture.manifest.problems] == ["table that is not shown: rocpd_unheard_of"]


def test_rocpd_several_runs_in_one_database_and_several_databases(tmp_path: Path) -> None:
    other = GUID.replace("a1b2", "ffff")
    capture = imported(rocpd(tmp_path / "merged", guids=(GUID, other)))
    assert {t["process"] for t in rows(capture, "tracks")} >= {4242, 4243}
    assert len(rows(capture, "flows")) == 40
    assert len({b["id"] for b in rows(capture, "buffers")}) == 20
    both = [rocpd(tmp_path / "a"), rocpd(tmp_path / "b")]
    assert len(rows(open_capture(import_files(both, tmp_path / "c.peep")), "flows")) == 40


def test_nothing_in_a_hostile_file_is_executed(tmp_path: Path) -> None:
    path = nsight(tmp_path / "x")
    connection = sqlite3.connect(path)
    connection.executescript(f"""
        CREATE VIEW NVTX_PAYLOAD AS
          WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT n AS start FROM r;
        DROP TABLE CUPTI_ACTIVITY_KIND_MEMSET;
        CREATE VIEW CUPTI_ACTIVITY_KIND_MEMSET AS WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r)
          SELECT n AS start, n AS end, 0 AS deviceId, 0 AS streamId, 1 AS correlationId, 1 AS globalPid,
          1 AS bytes FROM r;
        CREATE TRIGGER t AFTER INSERT ON StringIds BEGIN DELETE FROM StringIds; END;
        CREATE VIRTUAL TABLE OSRT_API USING fts5(start, end, nameId, globalTid);
        CREATE TABLE "CUPTI_ACTIVITY_KIND_ODD""; DROP TABLE StringIds; --" (start INT, end INT, nameId INT,
        globalTid INT);
        INSERT INTO "CUPTI_ACTIVITY_KIND_ODD""; DROP TABLE StringIds; --" VALUES (1, 2, 1, 3);
        ATTACH '{tmp_path / "other.db"}' AS other; CREATE TABLE other.t (a);
    """)
    connection.close()
    before = path.read_bytes()
    capture = imported(path)
    assert path.read_bytes() == before
    assert sorted(p.name for p in tmp_path.iterdir()) == ["other.db", "x", "x.peep"]
    assert not any(s["name"] == "Memset" for s in rows(capture, "slices"))
    assert len(rows(capture, "slices")) == 121 + 1


def test_names_that_only_a_view_has_are_said_to_be_missing(tmp_path: Path) -> None:
    path = rocpd(tmp_path / "x")
    connection = sqlite3.connect(path)
    connection.executescript(f"""
        DROP TABLE rocpd_string{GUID};
        CREATE VIEW rocpd_string{GUID} AS WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r)
          SELECT n AS id, 'x' AS string FROM r;
    """)
    connection.close()
    capture = imported(path)
    assert {s["name"] for s in rows(capture, "slices")} == {"", "gemm()"}
    reasons = {p["reason"] for p in capture.manifest.problems}
    assert "tables that this database does not have: rocpd_string" in reasons


def test_the_authorizer_lets_nothing_through(tmp_path: Path) -> None:
    from peephole.sources.sqlite_file import SqliteFile

    path = nsight(tmp_path / "x")
    with SqliteFile(path) as opened:
        for sql in ("DROP TABLE StringIds", f"ATTACH '{tmp_path}/y' AS y", "PRAGMA writable_schema=ON",
        "DELETE FROM StringIds",
                    "SELECT load_extension('x')", "SELECT readfile('x')", "SELECT randomblob(100)", "VACUUM",
                    "CREATE TEMP TABLE t (a)",
                    "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n+1 FROM r) SELECT n FROM r",
                    "SELECT * FROM pragma_table_info('StringIds')"):  # fmt: skip
            with pytest.raises(sqlite3.Error):
                opened._connection.execute(sql).fetchmany(1)


def test_odd_values_are_no_trap(tmp_path: Path) -> None:
    path = fill(tmp_path / "x", {
        "StringIds": ("id, value", [(1, "k"), ("one", b"\xff\xfe"), (None, None), (2**62, "far")]),
        "CUPTI_ACTIVITY_KIND_KERNEL": (
            "start, end, deviceId, streamId, correlationId, globalPid, demangledName",
            [(1, 5, 0, 1, 2, 3, 1), ("text", b"blob", None, 1.5, "x", -7, "y"), (2**62, -(2**62), 9**9, -1,
            2**62, 2**62, 2**62)],
        ),
    })  # fmt: skip
    capture = imported(path)
    assert capture.count("slices") == 3


def test_damaged_encrypted_and_unfinished(tmp_path: Path) -> None:
    sound = nsight(tmp_path / "sound", steps=300).read_bytes()
    rng = random.Random(5)
    for trial in range(25):
        path = tmp_path / f"d{trial}"
        if trial % 3 == 0:
            path.write_bytes(sound[: rng.randrange(20, len(sound))])
        else:
            broken = bytearray(sound)
            for _ in range(rng.randrange(1, 40)):
                broken[rng.randrange(16, len(broken))] = rng.randrange(256)
            path.write_bytes(bytes(broken))
        try:
            imported(path)
        except PeepholeError as error:
            assert "\n" not in str(error)
    secret = tmp_path / "secret"
    secret.write_bytes(sound[:16] + random.Random(1).randbytes(8192))
    with pytest.raises(CaptureError, match=r"begins like a SQLite database and cannot be read as one"):
        imported(secret)
    import gzip

    (tmp_path / "g").write_bytes(gzip.compress(sound))
    with pytest.raises(CaptureError, match="compressed SQLite"):
        imported(tmp_path / "g")
    (tmp_path / "sound-wal").write_bytes(b"x" * 100)
    reasons = [p["reason"] for p in imported(tmp_path / "sound").manifest.problems]
    assert "the database was still being written: what lies beside it in its log is not read" in reasons


def test_a_database_that_is_only_in_its_log_is_said_to_be_unfinished(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "x", isolation_level=None)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("CREATE TABLE StringIds (id INT, value TEXT)")
    connection.execute("CREATE TABLE NVTX_EVENTS (start INT, end INT, text TEXT)")
    before = sorted((p.name, p.read_bytes()) for p in tmp_path.iterdir())
    with pytest.raises(CaptureError, match=r"x is still being written: all that it holds is in the log beside it\."):
        imported(tmp_path / "x")
    assert sorted((p.name, p.read_bytes()) for p in tmp_path.iterdir()) == before
    connection.close()
    assert not imported(tmp_path / "x").count("slices")


def test_a_database_that_was_cut_off_is_said_to_be(tmp_path: Path) -> None:
    data = nsight(tmp_path / "sound", steps=300).read_bytes()
    (tmp_path / "x").write_bytes(data[: len(data) // 2])
    with pytest.raises(CaptureError, match=r"cannot be read as one: it is damaged, or was cut off\."):
        imported(tmp_path / "x")


def test_other_databases_are_refused_in_one_sentence(tmp_path: Path) -> None:
    path = fill(tmp_path / "x", {"people": ("name", [("a",)])})
    with pytest.raises(CaptureError, match="neither a capture nor a file of a known source"):
        imported(path)


def test_args_that_only_some_rows_have_are_all_there(tmp_path: Path) -> None:
    path = fill(tmp_path / "r", {
        "StringIds": ("id INT, value TEXT", list(STRINGS.items())),
        "CUPTI_ACTIVITY_KIND_RUNTIME": (
            "start INT, end INT, nameId INT, globalTid INT, correlationId INT, returnValue INT, size INT",
            [(10, 20, 1, tid(5, 6), 3, None, 7), (30, 40, 1, tid(5, 6), None, 0, None),
             (50, 60, 1, tid(5, 6), None, 2, 9), (70, 80, 1, tid(5, 6), None, None, None)]),
    })  # fmt: skip
    found = [json.loads(s["args"]) for s in rows(imported(path), "slices")]
    assert found == [{"correlation": 3, "bytes": 7}, {"returned": 0}, {"returned": 2, "bytes": 9}, {}]


def test_columns_that_are_computed_when_read_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "computed.sqlite"
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.executescript("""
            CREATE TABLE StringIds(id INTEGER, value TEXT AS (hex(zeroblob(4000000))));
            CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start INTEGER, "end" INTEGER AS (start + 5) STORED,
              streamId INTEGER AS (length(printf('%.*c', 4000000, 'x'))) VIRTUAL);
            INSERT INTO StringIds(id) VALUES (1);
            INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL(start) VALUES (1);
        """)
    with SqliteFile(path) as file:
        assert file.columns == {"StringIds": ("id",), "CUPTI_ACTIVITY_KIND_KERNEL": ("start", "end")}


def test_kernels_of_a_schema_without_processes_belong_to_the_only_one(tmp_path: Path) -> None:
    path = tmp_path / "old.sqlite"
    thread = 40 << 24 | 41
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.executescript(f"""
            CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start INTEGER, "end" INTEGER, streamId INTEGER,
              correlationId INTEGER);
            CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(start INTEGER, "end" INTEGER, nameId INTEGER, globalTid INTEGER,
              correlationId INTEGER);
            INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (100, 200, 7, 5);
            INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (50, 60, 1, {thread}, 5);
        """)
    capture = open_capture(import_files([path], tmp_path / "c.peep"))
    assert len(rows(capture, "flows")) == 1
    assert {track["process"] for track in rows(capture, "tracks")} == {40}
