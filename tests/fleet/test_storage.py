"""Ranks in object storage: a real S3 server, read from, written to, with credentials that are wrong."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.rank_traces import Known, write_ranks

from peephole.cli.main import main
from peephole.fleet.run import make_run
from peephole.model.run_tables import RUN_TABLES
from peephole.query.ranks.rank_slices import longest
from peephole.query.ranks.run import open_run
from peephole.store import remote
from peephole.store.capture import open_capture
from peephole.store.sql import run_sql

SERVER = """
import sys, logging
logging.getLogger("werkzeug").setLevel(logging.ERROR)
from moto.server import ThreadedMotoServer
server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
server.start()
print("http://%s:%s" % server.get_host_and_port(), flush=True)
sys.stdin.read()
server.stop()
"""


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """The address of an S3 server, in a process of its own."""
    with subprocess.Popen(
        [sys.executable, "-c", SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as it:
        assert it.stdout is not None and it.stdin is not None
        yield it.stdout.readline().strip()
        it.stdin.close()


@pytest.fixture
def bucket(server: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """An empty bucket, and the surroundings in which it is found."""
    given = {"AWS_ENDPOINT_URL": server, "AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret",
             "AWS_REGION": "us-east-1", "PEEPHOLE_DIR": str(tmp_path / "own")}  # fmt: skip
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    post(f"{server}/moto-api/reset", "")
    urllib.request.urlopen(urllib.request.Request(f"{server}/fleet", method="PUT"), timeout=120).close()
    return "s3://fleet"


def post(url: str, text: str) -> None:
    request = urllib.request.Request(url, text.encode(), {"Content-Type": "text/plain"}, method="POST")
    urllib.request.urlopen(request, timeout=120).close()


def uploaded(folder: Path, bucket: str, ranks: int = 4) -> Known:
    folder.mkdir(exist_ok=True)
    known = write_ranks(folder, ranks, slow={2: (1, 3)}, hosts=2)
    remote.put(folder, f"{bucket}/traces")
    return known


def lines(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_ranks_are_read_from_and_written_to_storage(
    bucket: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    known = uploaded(tmp_path / "traces", bucket)
    run = f"{bucket}/runs/one.peep"
    assert main(["import", f"{bucket}/traces/*.json.gz", "-o", run]) == 0
    assert main(["import", *map(str, known.files), "-o", str(tmp_path / "here")]) == 0
    capsys.readouterr()
    assert main(["ranks", run, "--json"]) == 0
    there = lines(capsys)
    assert main(["ranks", str(tmp_path / "here.peep"), "--json"]) == 0
    assert there == lines(capsys) and there[0]["rank"] == 2
    # only the run's small tables were brought here; a rank comes when its slices are asked for
    own = tmp_path / "own" / "remote"
    assert len(list(own.glob("*/*.peep"))) == 1
    found = open_run(open_capture(remote.bring_capture(run)))
    start = int(found.tables["rank_steps"].ints("start_ns").min())
    assert longest(found, 2, start, start + 10_000_000)
    assert len(list(own.glob("*/*.peep"))) == 2
    for name in RUN_TABLES:
        if name != "inputs":
            left, right = (
                list(run_sql(open_capture(path), f'SELECT * FROM "{name}" ORDER BY ALL').rows)
                for path in (found.folder, tmp_path / "here.peep")
            )
            if name == "ranks":  # where a rank's capture lies has another name there
                left, right = ([row[:2] + row[3:] for row in rows] for rows in (left, right))
            assert left == right, name


def test_ranks_in_storage_are_added_to(bucket: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    uploaded(tmp_path / "traces", bucket)
    run, every = f"{bucket}/run.peep", [f"{bucket}/traces/trace-{rank:05}.json.gz" for rank in range(4)]
    make_run(every[:2], run)
    assert main(["import", every[2], every[3], "-o", run, "--json"]) == 0
    assert lines(capsys)[0]["tables"]["ranks"] == 4
    assert main(["fleet", run, "--json"]) == 0
    assert [row["ranks"] for row in lines(capsys)] == [[0], [1], [2], [3]]
    # what is there already is left as it is, and nothing stays of another file of the same rank
    other = tmp_path / "other.json.gz"
    other.write_bytes(
        gzip.compress(gzip.decompress((tmp_path / "traces" / "trace-00000.json.gz").read_bytes()) + b"\n")
    )
    assert main(["import", every[1], str(other), "-o", run, "--json"]) == 0
    (said,) = lines(capsys)
    assert said["there"] == 1 and [one["count"] for one in said["problems"]] == [1]
    # captures that lie there are ranks as well, of a run here
    with remote._opened(f"{run}/ranks") as (system, path):
        held = {file.removeprefix(f"{path}/").partition("/")[0] for file in remote._listing(system, path)}
    assert len(held) == 4
    assert main(["import", *(f"{run}/ranks/{name}" for name in sorted(held)), "-o", str(tmp_path / "again")]) == 0
    capsys.readouterr()
    assert main(["ranks", str(tmp_path / "again.peep"), "--json"]) == 0
    assert lines(capsys)[0]["slow_steps"] == [1, 3]


def test_wrong_credentials_are_one_sentence_and_leave_nothing(
    bucket: str, server: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    known = uploaded(tmp_path / "traces", bucket)
    post(f"{server}/moto-api/reset-auth", "0")
    try:
        for command in (
            ["import", f"{bucket}/traces/*.json.gz", "-o", str(tmp_path / "run")],
            ["import", *map(str, known.files), "-o", f"{bucket}/run.peep"],
            ["ranks", f"{bucket}/run.peep"],
        ):
            assert main(command) == 2
            said = capsys.readouterr().err.strip()
            assert "credentials are wrong" in said and len(said.splitlines()) == 1 and "Traceback" not in said
    finally:
        post(f"{server}/moto-api/reset-auth", "inf")
    assert not (tmp_path / "run.peep").exists() and not remote.there(f"{bucket}/run.peep")
    assert remote.expand(f"{bucket}/*") == [f"{bucket}/traces"], "nothing half-written"


def test_what_is_not_there_is_one_sentence(
    bucket: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for command, sentence in (
        (["import", f"{bucket}/nothing/*.json.gz"], "Nothing fits"),
        (["import", f"{bucket}/nothing.json"], "There is no s3://fleet/nothing.json"),
        (["ranks", f"{bucket}/nothing.peep"], "is not a capture"),
        (["import", "none://x/y.json"], "no known kind"),
    ):
        assert main(command) == 2
        assert sentence in capsys.readouterr().err
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    assert main(["ranks", f"{bucket}/run.peep"]) == 2
    said = capsys.readouterr().err
    assert "cannot be reached; is AWS_ENDPOINT_URL right? (NETWORK_CONNECTION during " in said


def test_one_file_in_storage_is_imported_like_any(
    bucket: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    uploaded(tmp_path / "traces", bucket)
    assert main(["import", f"{bucket}/traces/trace-00002.json.gz", "-o", str(tmp_path / "one"), "--json"]) == 0
    assert lines(capsys)[0]["tables"]["slices"] == 90
    assert main(["info", f"{bucket}/traces/trace-00002.json.gz"]) == 0
