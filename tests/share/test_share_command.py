"""`peephole share`: what it says, what it refuses, what the file holds and hides."""

from __future__ import annotations

import base64
import gzip
import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from tests.rank_traces import write_ranks
from tests.recorded_programs import Recorded
from tests.share.test_same_answers import answers, value, write_busy
from tests.timeline_capture import write_timeline

from peephole.cli.main import main
from peephole.cli.share import read_size
from peephole.fleet.run import make_run
from peephole.share import replies
from peephole.share.asking import without_homes
from peephole.share.making import make_copy
from peephole.store.capture import open_capture
from peephole.store.writer import CaptureWriter


@pytest.fixture(scope="module")
def steps(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_timeline(tmp_path_factory.mktemp("steps") / "steps.peep")


HOMES = ["/".join(["", *parts]) for parts in (("home", "alice"), ("Users", "al ice"), ("root",))]
"""Folders of made-up users, put together here: no path of a machine stands in the repository."""


def manifest_of(copy: Path) -> Any:
    found = re.search(r'id="peephole-copy">([^<]*)</script>', copy.read_text("utf-8"))
    assert found
    return json.loads(found[1])


def test_it_says_what_is_inside_and_what_is_not(
    steps: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "x.html"
    assert main(["share", str(steps), "-o", str(out), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["bytes"] == out.stat().st_size < 2_000_000
    assert said["views"] == ["timeline", "calls", "top", "memory", "code"]
    assert any("slices" in one["what"] and one["bytes"] > 0 for one in said["inside"])
    copy = manifest_of(out)["copy"]
    assert copy["views"] == said["views"] and copy["leftOut"] == said["left_out"] and copy["of"] == "steps"
    assert abs(copy["bytes"] - said["bytes"]) < 20_000
    assert main(["share", str(steps), "-o", str(out), "--views", "timeline,top", "memory"]) == 0
    text = capsys.readouterr().out
    assert "opens from disk: timeline, top, memory\n" in text and "- The view Calls" in text


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--limit", "100kB"], "at the very least"),
        (["--limit", "501kB"], "give a larger --limit than 501.0 kB"),
        (["--limit", "1"], "give a larger --limit than 1 B"),
        (["--limit", "big"], "is not a size"),
        (["--limit", "20mib!"], "is not a size"),
        (["--views", "rewrites", "schedule"], "steps has nothing that rewrites and schedule could show"),
        (["--views", "tape"], "no view called 'tape'; there are timeline, calls"),
        (["--interval", "5s", "6s"], "lies between 5s and 6s"),
        (["--interval", "1ms", "1ms"], "lies between 1ms and 1ms"),
        (["--interval", "2ms", "1ms"], "ends before it begins"),
        (["--interval", "nowhere"], "nowhere"),
    ],
)
def test_what_cannot_be_done_is_one_sentence(
    steps: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], words: str
) -> None:
    out = tmp_path / "x.html"
    assert main(["share", str(steps), "-o", str(out), *options]) == 2
    said = capsys.readouterr().err
    assert words in said and said.count("\n") == 1 and not list(tmp_path.iterdir())


def test_an_empty_capture_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with CaptureWriter(tmp_path / "none.peep"):
        pass
    assert main(["share", str(tmp_path / "none.peep"), "-o", str(tmp_path / "x.html")]) == 2
    assert "is empty" in capsys.readouterr().err and not (tmp_path / "x.html").exists()


def test_a_run_of_ranks_names_what_can_be_shared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = make_run(write_ranks(tmp_path, 2).files, tmp_path / "all ranks.peep")
    out = tmp_path / "x.html"
    assert main(["share", str(path), "-o", str(out)]) == 2
    said = capsys.readouterr().err
    assert "is a run of many ranks" in said and said.count("\n") == 1 and not out.exists()
    words = shlex.split(said.strip().removesuffix(".").rpartition(": peephole ")[2])
    assert main([*words, "-o", str(out)]) == 0 and out.exists()


@pytest.mark.parametrize(("written", "count"), [("2mb", 2_000_000), ("2MiB", 2 << 20), ("1.5 M", 1_500_000), ("9", 9)])
def test_sizes_are_read_as_people_write_them(written: str, count: int) -> None:
    assert read_size(written) == count


def test_every_text_that_the_page_lists_is_inside(tmp_path: Path) -> None:
    with CaptureWriter(tmp_path / "it.peep") as writer:
        writer.append("contexts", {"id": [0], "name": ["0/0 forward"], "kind": ["half"]})
        kinds = ["graph", "source", "guards", "table"]
        texts = {"name": kinds, "content": [f"the {kind}".encode() for kind in kinds]}
        writer.append("artifacts", {"context": [0] * 4, "kind": kinds, "language": ["text"] * 4, **texts})
    make_copy(open_capture(tmp_path / "it.peep"), tmp_path / "x.html", None, None, 20_000_000)
    (_, about), *_ = answers(tmp_path / "x.html", ["contexts/0"])
    rows = [one["row"] for one in value(about)["artifacts"]]
    assert len(rows) == len(kinds)
    found = answers(tmp_path / "x.html", [f"artifacts/{row}" for row in rows])
    assert [status for status, _ in found] == [200] * len(kinds)


def test_an_interval_is_all_that_is_there(tmp_path: Path) -> None:
    capture = open_capture(write_busy(tmp_path / "it.peep"))
    make_copy(capture, tmp_path / "x.html", ["5ms", "9ms"], None, 20_000_000)
    (_, whole), (_, wide), (_, top) = answers(
        tmp_path / "x.html", ["timeline", "timeline/window?t0=0&t1=99000000&px=4000&lanes=1:0", "top?group=host"]
    )
    assert value(whole)["span"] == 4_000_000 and value(whole)["origin"] == str(1_700_000_000_123_456_789 + 5_000_000)
    assert sum(value(wide)[0]["n"]) == 67  # a step each 60 µs, the last ones cut at the edges
    assert max(value(top)["longest"]) == 50_000
    assert any(
        item["what"].startswith("What happened outside") for item in manifest_of(tmp_path / "x.html")["copy"]["leftOut"]
    )


def test_too_many_slices_leave_their_picture(tmp_path: Path) -> None:
    capture = open_capture(write_busy(tmp_path / "it.peep"))
    whole = make_copy(capture, tmp_path / "x.html", None, ["timeline", "top", "calls"], 20_000_000)
    made = make_copy(capture, tmp_path / "y.html", None, ["timeline", "top", "calls"], whole.bytes - 30_000)
    assert any("from afar" in item.what for item in made.inside) and made.bytes <= whole.bytes - 30_000
    window = "timeline/window?t0=0&t1=24000000&px=300&lanes=0:0"
    found = answers(tmp_path / "y.html", [window, "timeline/slice?row=5", "top?group=kernels", "calls"])
    assert [status for status, _ in found] == [200, 404, 200, 200]
    assert "from afar only" in value(found[1][1])["error"]
    # the picture is the one that all slices give
    assert value(found[0][1])[1] == value(answers(tmp_path / "x.html", [window])[0][1])[1]


def test_no_name_can_leave_its_place(tmp_path: Path) -> None:
    attack = '</script><img src=x onerror="window.hacked=1">--><!-- </style>'
    with CaptureWriter(tmp_path / "it.peep") as writer:
        writer.describe(name=attack, host="secret-host")
        writer.append("tracks", {"id": [0], "name": [attack], "kind": ["thread"]})
        place = json.dumps({"location": f"{HOMES[0]}/x.py:3"})
        writer.append("slices", {"track": [0], "start": [5], "dur": [9], "name": [attack], "args": [place]})
    make_copy(open_capture(tmp_path / "it.peep"), tmp_path / "x.html", None, None, 20_000_000)
    text = (tmp_path / "x.html").read_text("utf-8")
    # elements of ours alone: the manifest, each part, the script
    parts = manifest_of(tmp_path / "x.html")["parts"]
    assert text.count("</script") == 2 + len(set(parts.values()))
    assert "<img" not in text and text.count("</style>") == 1
    for part in re.findall(r'id="peephole-part-\d+">([^<]*)</script>', text):
        assert b"secret-host" not in gzip.decompress(base64.b64decode(part))
        assert b"alice" not in gzip.decompress(base64.b64decode(part))


def test_home_folders_are_hidden() -> None:
    named = [f"{home}/{name}.py" for home, name in zip(HOMES, "xzt", strict=True)]
    body = json.dumps([*named, "C:\\Users\\alice\\y.py", "/roots/u"]).encode()
    assert json.loads(without_homes(body)) == ["~/x.py", "~/z.py", "~/t.py", "~\\y.py", "/roots/u"]


def test_graphs_left_out_for_their_time_are_said_to_be(
    add: Recorded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def left_out(limit: int) -> str:
        made = make_copy(add.capture, tmp_path / "x.html", None, None, limit, lambda done, total: far.append(done))
        return "; ".join(item.what for item in made.left_out if item.what.startswith("Rewrites"))

    far: list[int] = []
    assert left_out(20_000_000) == "" and far == sorted(far) and far[-1] > 1
    monkeypatch.setattr(replies, "GRAPHS", 5)
    assert left_out(20_000_000).endswith(": no more than 5 graphs are made")


def test_what_could_not_be_read_of_the_input_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with CaptureWriter(tmp_path / "part.peep") as writer:
        writer.append("slices", {"track": [0], "start": [5], "dur": [9], "name": ["k"]})
        writer.problem("files of another program, left out", 1, "other.json")
    words = ["share", str(tmp_path / "part.peep"), "-o", str(tmp_path / "x.html")]
    assert main(words) == 0
    assert capsys.readouterr().out.endswith("1 × files of another program, left out (other.json)\n")
    assert main([*words, "--views", "timeline"]) == 0
    said = capsys.readouterr().out
    assert "- The view Calls" in said and "Problems" not in said and "Schedule" not in said, "it has none of these"
    assert main([*words, "--json"]) == 0
    (lost,) = json.loads(capsys.readouterr().out)["problems"]
    assert lost == {"reason": "files of another program, left out", "count": 1, "example": "other.json"}
