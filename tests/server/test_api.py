from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from peephole.server.app import create_app
from peephole.server.library import Library
from peephole.store.writer import CaptureWriter

HAND = "/api/v1/captures/hand"
HOSTILE = "<img src=x onerror=alert(1)>\"'\u202eabc\x00\x1b[31m"


def get(client: TestClient, path: str, status: int = 200) -> Any:
    answer = client.get(path)
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/json"
    return answer.json()


def test_captures_are_listed_and_described(client: TestClient) -> None:
    listed = get(client, "/api/v1/captures")
    (row,) = listed["captures"]
    assert (row["id"], row["name"]) == ("hand", "hand.peep")
    assert row["stamp"] != ""
    info = get(client, HAND)
    assert (info["name"], info["source"], info["state"], info["live"]) == ("by hand", "test", "sealed", False)
    assert info["tables"]["matches"] == 2
    kinds = {"schedule": 1, "kernel": 1, "track:device": 1, "track:tiny": 1, "artifact:source": 1, "artifact:binary": 1}
    assert info["kinds"] == {**kinds, "problems": 0}


def test_names_are_data(client: TestClient) -> None:
    answer = client.get(f"{HAND}/contexts")
    assert answer.json()["name"][0] == HOSTILE
    assert "\u202e" not in answer.text  # escaped on the wire


def test_contexts_count_their_steps_and_matches(client: TestClient) -> None:
    contexts = get(client, f"{HAND}/contexts")
    assert (contexts["steps"], contexts["matches"], contexts["code"]) == ([1, 1], [2, 0], [0, 1])
    one = get(client, f"{HAND}/contexts/0")
    assert one["stack"] == [{"file": "/prog.py", "line": 3, "function": "main", "source": "x.realize()"}]
    assert get(client, f"{HAND}/contexts/1")["stack"] == []  # what is no JSON is no stack
    assert [artifact["kind"] for artifact in get(client, f"{HAND}/contexts/1")["artifacts"]] == ["source", "binary"]


def test_steps_come_as_columns(client: TestClient) -> None:
    steps = get(client, f"{HAND}/steps")
    assert [steps["names"][code] for code in steps["name"]] == ["symbolic", "View Base AST"]
    assert get(client, f"{HAND}/contexts/1/steps")["id"] == [1]


def test_matches_come_in_pages(client: TestClient) -> None:
    matches = get(client, f"{HAND}/steps/0/matches")
    assert (matches["total"], matches["first"], matches["dur"]) == (2, 1, [1500, 700])
    assert [matches["ops"][code] for code in matches["op"]] == ["MUL", "ADD"]
    assert [matches["ops"][code] for code in matches["became"]] == ["PARAM", "PARAM"]
    assert get(client, f"{HAND}/steps/0/matches?first=2&count=1")["line"] == [31]
    assert get(client, f"{HAND}/steps/0/matches?first=99")["line"] == []


def test_the_graph_after_a_match(client: TestClient) -> None:
    before = get(client, f"{HAND}/steps/0/graph")
    assert (before["match"], before["matches"], len(before["id"])) == (0, 2, 6)
    after = get(client, f"{HAND}/steps/0/graph?match=1")
    ops = [after["ops"][code] for code in after["op"]]
    assert sorted(ops) == ["ADD", "CONST", "PARAM", "SINK"]
    add = ops.index("ADD")
    sources = after["src"][after["srcStart"][add] : after["srcStart"][add + 1]]
    assert [ops[at] for at in sources] == ["PARAM", "CONST"]
    assert sorted(row["op"] for row in after["removed"]) == ["CONST", "MUL"]
    sink = ops.index("SINK")
    assert after["identity"][sink] == before["identity"][[before["ops"][c] for c in before["op"]].index("SINK")]
    assert after["root"] == sink


def test_a_node_by_its_number(client: TestClient) -> None:
    node = get(client, f"{HAND}/nodes/3")
    assert (node["op"], node["src"], node["shape"], node["metadata"]) == ("ADD", [2, 5], "(4,)", None)
    assert get(client, f"{HAND}/nodes/900") == {"id": 900, "known": False}


def test_when_a_node_came_and_went(client: TestClient) -> None:
    before = get(client, f"{HAND}/steps/0/graph")
    identity = {before["ops"][code]: before["identity"][at] for at, code in enumerate(before["op"])}
    ask = f"{HAND}/steps/0/history?identity="
    assert get(client, f"{ask}{identity['MUL']}") == {"created": 0, "deleted": 1, "touched": [1]}
    assert get(client, f"{ask}{identity['MUL']}&match=1") == {"created": 0, "deleted": 1, "touched": [1]}
    assert get(client, f"{ask}{identity['ADD']}&match=1") == {"created": 0, "deleted": 2, "touched": [1, 2]}
    assert get(client, f"{ask}{identity['SINK']}") == {"created": 0, "deleted": -1, "touched": [2]}
    assert get(client, f"{ask}999") == {"created": -1, "deleted": -1, "touched": []}


def test_the_rule_of_a_match(client: TestClient) -> None:
    match = get(client, f"{HAND}/steps/0/matches/1")
    assert (match["file"], match["line"], match["dur"]) == ("/nowhere/rules.py", 30, 1500)
    assert any(kind == "-" for kind, _ in match["diff"])
    assert match["lines"] == []


def test_artifacts(client: TestClient) -> None:
    code = get(client, f"{HAND}/code")
    assert code == {"context": [1], "lines": [3], "ops": [0], "error": [0], "machine": [0], "runs": [3], "total": [600]}
    rows = [artifact["row"] for artifact in get(client, f"{HAND}/contexts/1")["artifacts"]]
    texts = {
        get(client, f"{HAND}/artifacts/{row}")["kind"]: get(client, f"{HAND}/artifacts/{row}")["text"] for row in rows
    }
    assert texts["source"].startswith("void r_16_4")
    assert texts["binary"].startswith("00000000  00 01 02")


def test_runs_of_a_kernel_are_counted(client: TestClient) -> None:
    assert get(client, f"{HAND}/contexts/1/runs") == {"context": 1, "count": 3, "total": 600, "all": 600}
    assert get(client, f"{HAND}/contexts/0/runs") == {"context": 0, "count": 0, "total": 0, "all": 600}


def test_search_finds_every_kind_of_name(client: TestClient) -> None:
    def kinds(query: str) -> set[str]:
        return {hit["kind"] for hit in get(client, f"{HAND}/search?q={query}")["hits"]}

    assert "kernel" in kinds("r_16")
    assert kinds("symbolic") == {"step"}
    assert "rule" in kinds("rules.py:31")
    assert "op" in kinds("SINK")
    nothing = get(client, f"{HAND}/search?q=r_16_5")
    assert nothing["hits"] == []
    assert nothing["near"][0]["text"] == "r_16_4"
    assert nothing["searched"]["matches"] == 2


def test_a_wrong_query_is_a_bad_request_or_said_in_the_answer(client: TestClient) -> None:
    assert get(client, f"{HAND}/search?q=r_16")["error"] is None
    said = get(client, f"{HAND}/search?q=kind:zzz")
    assert (said["hits"], said["query"]) == ([], "kind:zzz")
    assert said["error"].startswith("There is no kind zzz; there are kernel,")
    answer = client.get(f"{HAND}/timeline/search?q=/(/")
    assert answer.status_code == 400
    assert answer.json()["error"].startswith("/(/ is not a regular expression")


def test_a_rule_hit_leads_to_its_match(client: TestClient) -> None:
    (hit,) = get(client, f"{HAND}/search?q=rules.py:31")["hits"]
    assert (hit["context"], hit["step"], hit["match"], hit["count"]) == (0, 0, 2, 1)


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/api/v1/captures/none", 404),
        ("/api/v1/nothing", 404),
        (f"{HAND}/contexts/77", 404),
        (f"{HAND}/steps/77/graph", 404),
        (f"{HAND}/steps/77/matches", 404),
        (f"{HAND}/steps/x/graph", 400),
        (f"{HAND}/steps/-1/graph", 400),
        (f"{HAND}/steps/{10**30}/graph", 400),
        (f"{HAND}/steps/{'9' * 5000}/graph", 400),
        (f"{HAND}/steps/0/graph?match=3", 404),
        (f"{HAND}/steps/0/graph?match={2**53 - 1}", 404),
        (f"{HAND}/steps/0/graph?match=1e3", 400),
        (f"{HAND}/steps/0/matches?first=0", 400),
        (f"{HAND}/steps/0/matches/9", 404),
        (f"{HAND}/artifacts/9", 404),
        (f"{HAND}/source?file=/etc/passwd&line=1", 404),
        (f"{HAND}/source?file=/nowhere/rules.py&line=1", 404),
        (f"{HAND}/steps/%D9%A1/graph", 400),
    ],
)
def test_bad_requests_get_a_sentence(client: TestClient, path: str, status: int) -> None:
    error = get(client, path, status)["error"]
    assert error.endswith(".")
    assert "Traceback" not in error


def test_a_capture_that_is_gone_is_one_sentence(tmp_path: Path) -> None:
    client = TestClient(create_app(Library([tmp_path / "gone.peep"])), base_url="http://127.0.0.1")
    assert "no capture" in get(client, "/api/v1/captures/gone", 422)["error"]


def test_two_captures_of_one_name_have_two_handles(tmp_path: Path) -> None:
    library = Library([tmp_path / "a" / "x y.peep", tmp_path / "b" / "x y.peep", tmp_path / "a" / "x y.peep"])
    assert [shelf.handle for shelf in library.shelves()] == ["x-y", "x-y-2"]


def test_a_step_of_a_context_that_is_not_there_counts_for_none(tmp_path: Path) -> None:
    with CaptureWriter(tmp_path / "odd.peep") as writer:
        writer.append("contexts", {"id": [3, 8], "name": ["a", "b"], "kind": ["kernel", "kernel"]})
        writer.append("steps", {"id": [0, 1, 2], "context": [-1, 3, 9], "name": ["p"] * 3, "matches": [5, 1, 7]})
    odd = TestClient(create_app(Library([tmp_path / "odd.peep"])), base_url="http://127.0.0.1")
    found = odd.get("/api/v1/captures/odd/contexts").json()
    assert (found["id"], found["steps"], found["matches"]) == ([3, 8], [1, 0], [1, 0])
