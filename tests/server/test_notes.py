"""The one route that writes: only for our own page, only notes.json, and of a size."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from tests.timeline_capture import write_timeline

from peephole.cli.main import main
from peephole.server.app import create_app
from peephole.server.library import Library
from peephole.server.security import gate_for
from peephole.store.pack import pack

OURS = {"origin": "http://127.0.0.1"}
PATH = "/api/v1/captures/steps/notes"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_timeline(tmp_path / "steps.peep")


@pytest.fixture
def client(folder: Path) -> Iterator[TestClient]:
    with TestClient(create_app(Library([folder])), base_url="http://127.0.0.1") as client:
        yield client


def put(client: TestClient, headers: dict[str, str] | None = None, **body: Any) -> Any:
    sent = {"kind": "slice", "row": 3, "text": "look", **body}
    return client.post(PATH, json=sent, headers=OURS if headers is None else headers)


def test_notes_are_added_changed_listed_and_removed(client: TestClient, folder: Path) -> None:
    assert client.get(PATH).json() == {"notes": [], "reason": ""}
    added = put(client).json()["notes"]
    assert [(one["id"], one["kind"], one["view"], one["params"]) for one in added] == [
        ("n1", "slice", "timeline", {"slice": "3"})
    ]
    assert added[0]["label"] and added[0]["dur"] > 0
    assert put(client, kind="range", start=5, end=50).json()["notes"][1]["params"]["r1"] == "50"
    assert client.put(f"{PATH}/n1", json={"text": "seen"}, headers=OURS).json()["notes"][0]["text"] == "seen"
    assert [one["id"] for one in client.request("DELETE", f"{PATH}/n1", json={}, headers=OURS).json()["notes"]] == [
        "n2"
    ]
    assert client.put(f"{PATH}/n1", json={"text": "x"}, headers=OURS).status_code == 409
    assert sorted(path.name for path in folder.glob("*.json")) == ["manifest.json", "notes.json"]


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 403),
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({**OURS, "host": "evil.example"}, 421),
        ({**OURS, "sec-fetch-site": "cross-site"}, 403),
        ({**OURS, "sec-fetch-site": "same-site"}, 403),
    ],
)
def test_nobody_else_may_write(client: TestClient, folder: Path, headers: dict[str, str], status: int) -> None:
    assert put(client, headers).status_code == status
    assert client.request("DELETE", f"{PATH}/n1", json={}, headers=headers).status_code == status
    assert not (folder / "notes.json").exists()


def test_a_form_is_not_json(client: TestClient, folder: Path) -> None:
    text = json.dumps({"kind": "slice", "row": 3, "text": "x"})
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""):
        answer = client.post(PATH, content=text, headers={**OURS, "content-type": kind})
        assert answer.status_code == 415
    assert not (folder / "notes.json").exists()


def test_behind_a_token_it_is_needed(folder: Path) -> None:
    gate = gate_for("192.168.0.3", 80, "secret")
    with TestClient(create_app(Library([folder]), gate), base_url="http://192.168.0.3") as client:
        body = {"kind": "slice", "row": 3, "text": "look"}
        headers = {"origin": "http://192.168.0.3"}
        assert client.post(PATH, json=body, headers=headers).status_code == 401
        assert not (folder / "notes.json").exists()
        known = {**headers, "authorization": "Bearer secret"}
        assert client.post(PATH, json=body, headers=known).status_code == 200


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"text": "x" * 200_000}, 413),
        ({"text": "x" * 10_001}, 409),
        ({"text": "  "}, 409),
        ({"text": 5}, 400),
        ({"kind": "file"}, 400),
        ({"kind": ["slice"]}, 400),
        ({"row": "../x"}, 400),
        ({"row": True}, 400),
        ({"row": 10**30}, 400),
        ({"row": -1}, 409),
        ({"row": 10**12}, 409),
        ({"kind": "match", "step": 1, "match": 0}, 409),
        ({"kind": "range", "start": 5, "end": 5}, 409),
    ],
)
def test_what_cannot_be_pinned_is_one_sentence(client: TestClient, folder: Path, body: Any, status: int) -> None:
    answer = put(client, **body)
    assert answer.status_code == status and answer.json()["error"].endswith("."), answer.text
    assert not (folder / "notes.json").exists()


@pytest.mark.parametrize("name", ["..%2f..%2fmanifest.json", "%2e%2e", "manifest.json", "n1/../../x", "\x00"])
def test_no_other_file_is_reached(client: TestClient, folder: Path, name: str) -> None:
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    for method in ("PUT", "DELETE"):
        answer = client.request(method, f"{PATH}/{name.replace(chr(0), '%00')}", json={"text": "x"}, headers=OURS)
        assert answer.status_code in (404, 405, 409)
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def test_a_packed_capture_says_why_it_takes_none(folder: Path, tmp_path: Path) -> None:
    packed = pack(folder, tmp_path / "packed.peep.zip")
    with TestClient(create_app(Library([packed])), base_url="http://127.0.0.1") as client:
        path = "/api/v1/captures/packed/notes"
        assert "packed capture" in client.get(path).json()["reason"]
        answer = client.post(path, json={"kind": "slice", "row": 3, "text": "x"}, headers=OURS)
        assert answer.status_code == 409 and "packed capture" in answer.json()["error"]


def test_a_damaged_file_does_not_hide_the_capture(client: TestClient, folder: Path) -> None:
    (folder / "notes.json").write_text("{")
    found = client.get(PATH).json()
    assert found["notes"] == [] and "notes.json is damaged" in found["reason"]
    assert put(client).status_code == 409


def test_the_terminal_lists_them(client: TestClient, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["notes", str(folder)]) == 0
    assert "no notes" in capsys.readouterr().out
    put(client, text="slow \x1b[31mhere")
    put(client, kind="range", start=5_000_000, end=6_000_000, text="warm-up")
    assert main(["notes", str(folder)]) == 0
    shown = capsys.readouterr().out
    assert "warm-up" in shown and "1.00 ms" in shown and "\x1b[31m" not in shown
    assert main(["notes", str(folder), "--json"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["id"] for row in rows] == ["n1", "n2"] and rows[1]["params"]["r0"] == "5000000"
    assert set(rows[0]) == {"id", "kind", "label", "text", "created", "at", "view", "params"}
    assert main(["info", str(folder)]) == 0
    assert "notes      2" in capsys.readouterr().out
