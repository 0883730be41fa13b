"""The calls of a thread as the page asks for them, against what the terminal says."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from tests.timeline_capture import MS, write_timeline

from peephole.cli.main import main
from peephole.query.calls.tree import call_tree
from peephole.query.calls.view import calls_view
from peephole.server.app import create_app
from peephole.server.library import Library
from peephole.store.capture import open_capture
from peephole.store.writer import CaptureWriter

from .conftest import BASE


@pytest.fixture(scope="module")
def capture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_timeline(tmp_path_factory.mktemp("calls") / "steps.peep")


@pytest.fixture(scope="module")
def client(capture: Path) -> Iterator[TestClient]:
    with TestClient(create_app(Library([capture])), base_url=BASE) as client:
        yield client


def ask(client: TestClient, query: str = "", status: int = 200) -> Any:
    answer = client.get(f"/api/v1/captures/steps/calls{query}")
    assert answer.status_code == status, answer.text
    return answer.json()


def nodes(found: Any) -> list[tuple[int, str, int, int, int]]:
    names = [found["functions"]["name"][number] if number >= 0 else found["title"] for number in found["function"]]
    return list(zip(found["depth"], names, found["count"], found["total"], found["self"], strict=True))


def test_page_and_terminal_agree(client: TestClient, capture: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for mode in ("tree", "inverted"):
        assert main(["show", str(capture), "--calls", "-s", "TINY", "--json", *["--inverted"] * (mode != "tree")]) == 0
        rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        expected = [(r["depth"] + 1, r["name"], r["count"], r["total_ns"], r["self_ns"]) for r in rows]
        assert nodes(ask(client, f"?thread=TINY&mode={mode}"))[1:] == expected
    assert main(["show", str(capture), "-t", "-1", "--json"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    tiny = {r["name"]: (r["total_ns"], r["self_ns"], r["count"], r["share"]) for r in rows if r["track"] == "TINY"}
    tracks = client.get("/api/v1/captures/steps/timeline").json()["tracks"]
    only = tracks["id"][tracks["name"].index("TINY")]
    top = client.get(f"/api/v1/captures/steps/top?group=host&tracks={only}").json()
    shares = [round(total / top["total"], 6) for total in top["sum"]]
    assert dict(zip(top["name"], zip(top["sum"], top["self"], top["runs"], shares, strict=True), strict=True)) == tiny


def test_a_thread_a_range_a_search_and_a_focus(client: TestClient) -> None:
    whole = ask(client)
    assert whole["thread"] == "TINY" and whole["busy"] == 60 * MS and whole["slices"] == 18
    assert whole["threads"]["title"] == ["USER", "TINY"] and whole["threads"]["nested"] == [False, True]
    assert nodes(whole)[:2] == [(0, "TINY", 18, 60 * MS, 0), (1, "do_to_program for r_512_16_4", 6, 60 * MS, 30 * MS)]
    both = ask(client, "?thread=*")
    assert both["thread"] == "*" and both["busy"] == (60 + 6 * 19) * MS
    part = ask(client, f"?t0=0&t1={5 * MS}")
    assert [(name, total) for _, name, _, total, _ in nodes(part)][1:] == [
        ("do_to_program for r_512_16_4", 5 * MS), ("simplify ranges", 2 * MS), ("linearize/render", MS),
    ]  # fmt: skip
    found = ask(client, "?q=simplify")
    assert [(name, total, own) for _, name, _, total, own in nodes(found)] == [
        ("TINY", 12 * MS, 0), ("do_to_program for r_512_16_4", 12 * MS, 0), ("simplify ranges", 12 * MS, 12 * MS),
    ]  # fmt: skip
    outer = "do_to_program%20for%20r_512_16_4"
    focus = ask(client, f"?focus={outer}/linearize%252Frender")
    assert nodes(focus) == [(0, "linearize/render", 6, 18 * MS, 18 * MS)] and focus["found"]
    assert focus["path"]["total"] == [60 * MS, 60 * MS] and focus["path"]["function"][0] == -1
    assert not ask(client, "?focus=nothing")["found"]


def test_the_longest_slices_of_a_function(client: TestClient) -> None:
    found = ask(client)
    number = found["functions"]["number"][found["functions"]["name"].index("linearize/render")]
    runs = ask(client, f"/slices?name={number}")["slices"]
    assert [run["dur"] for run in runs] == [3 * MS] * 6 and runs[0]["start"] == 4 * MS
    inside = ask(client, f"/slices?name={number}&t0=0&t1={5 * MS}")["slices"]
    assert [(run["start"], run["dur"]) for run in inside] == [(4 * MS, MS)]


def test_what_cannot_be_answered_is_said(client: TestClient) -> None:
    assert "choose one" in ask(client, "?thread=nobody", 404)["error"]
    assert "mode" in ask(client, "?mode=sideways", 400)["error"]
    assert "longer" in ask(client, f"?q={'x' * 5000}", 400)["error"]


def test_the_smallest_are_folded_and_counted(tmp_path: Path) -> None:
    with CaptureWriter(tmp_path / "x.peep") as writer:
        writer.append("tracks", {"id": [0], "name": ["t"]})
        rows = [(0, 100_000, "main"), *((1000 * i, 10 + i, f"f{i}") for i in range(90))]
        rows += [(1000 * i, 5, f"g{i}") for i in range(90)]
        start, dur, name = zip(*rows, strict=True)
        writer.append("slices", {"track": [0] * len(rows), "start": start, "dur": dur, "name": name})
    capture = open_capture(tmp_path / "x.peep")
    tree = call_tree(capture, together="t")
    view = calls_view(capture, tree, most=50)
    assert len(view.depth) <= 50 and int(view.folded.sum()) + len(view.depth) == 182
    assert set(view.depth.tolist()) == {0, 1, 2}
    names = [view.functions[number].name if number >= 0 else "" for number in view.function.tolist()]
    f89 = names.index("f89")
    assert view.folded[f89] == 1 and view.folded[1] > 30
    assert int(calls_view(capture, tree, ["main", "f89"], most=50).folded.sum()) == 0


def test_a_tree_that_is_cut_says_at_which_depth(tmp_path: Path) -> None:
    levels = 32_020
    with CaptureWriter(tmp_path / "deep.peep") as writer:
        writer.append("tracks", {"id": [0, 1], "name": ["deep", "flat"], "kind": ["thread", "thread"]})
        start, dur = list(range(levels)), [2 * levels - at for at in range(levels)]
        writer.append("slices", {"track": [0] * levels, "start": start, "dur": dur, "name": ["f"] * levels})
        writer.append("slices", {"track": [1, 1], "start": [0, 1], "dur": [9, 2], "name": ["a", "b"]})
    with TestClient(create_app(Library([tmp_path / "deep.peep"])), base_url=BASE) as client:
        cut = {title: client.get(f"/api/v1/captures/deep/calls?thread={title}").json()["depthCut"]
               for title in ("deep", "flat")}  # fmt: skip
    assert cut == {"deep": 32_000, "flat": 0}
