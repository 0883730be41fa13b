"""Notes are beside the capture, whole or not there, and in every pack; what is not ours is refused and kept."""

from __future__ import annotations

import json
import os
import threading
import zipfile
from pathlib import Path

import pytest
from tests.timeline_capture import write_timeline

from peephole.errors import CaptureError, PeepholeError
from peephole.query.capture.info import info
from peephole.query.capture.notes import notes, pin
from peephole.store.capture import open_capture
from peephole.store.notes import FILE, add_note, change_note, read_notes, remove_note, why_not_writable
from peephole.store.pack import pack

WHEN = "2026-01-02T03:04:05+00:00"


@pytest.fixture
def capture(tmp_path: Path) -> Path:
    return write_timeline(tmp_path / "steps.peep")


def put(path: Path, text: str = "why so long?", start: int = 5) -> str:
    return add_note(path, "range", text, "", {"start": start, "end": start + 10}, WHEN).id


def test_a_note_is_added_changed_and_removed(capture: Path) -> None:
    assert [put(capture, "one"), put(capture, "two\nlines ✎"), put(capture, "three")] == ["n1", "n2", "n3"]
    change_note(capture, "n2", "other")
    remove_note(capture, "n1")
    assert [(note.id, note.text) for note in read_notes(capture)] == [("n2", "other"), ("n3", "three")]
    assert put(capture) == "n4", "an id is not given twice"
    assert (capture / FILE).stat().st_mode & 0o777 == 0o600
    assert [path.name for path in capture.iterdir() if path.name.startswith(".")] == [], "nothing is left behind"


def test_rows_are_looked_up_and_times_count_from_the_begin(capture: Path) -> None:
    opened = open_capture(capture)
    row = 17
    found = pin(opened, "slice", {"row": row})
    add_note(capture, "slice", "this one", found.label, found.at, WHEN)
    pinned = pin(opened, "range", {"start": 1000, "end": 2000})
    add_note(capture, "range", "here", pinned.label, pinned.at, WHEN)
    one, other = notes(opened)
    assert (one.view, one.params, one.note.label) == ("timeline", {"slice": str(row)}, found.label) and found.label
    assert other.params == {"r0": "1000", "r1": "2000", "t0": "950", "t1": "2050"}
    assert info(opened).notes == 2


def test_what_is_not_there_cannot_be_pinned_to(capture: Path) -> None:
    opened = open_capture(capture)
    for kind, numbers in (
        ("slice", {"row": 10**9}),
        ("range", {"start": 5, "end": 5}),
        ("match", {"step": 9, "match": 0}),
    ):
        with pytest.raises(PeepholeError):
            pin(opened, kind, numbers)


def test_notes_are_packed_and_a_pack_is_not_changed(capture: Path, tmp_path: Path) -> None:
    put(capture, "packed")
    packed = pack(capture, tmp_path / "one.peep.zip")
    assert FILE in zipfile.ZipFile(packed).namelist()
    opened = open_capture(packed)
    assert [one.note.text for one in notes(opened)] == ["packed"]
    with pytest.raises(PeepholeError, match="is a packed capture, which is not changed"):
        put(packed)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_says_so(capture: Path) -> None:
    capture.chmod(0o500)
    try:
        with pytest.raises(PeepholeError, match="cannot be written"):
            put(capture)
    finally:
        capture.chmod(0o700)


def test_why_a_folder_takes_no_notes_is_one_sentence(capture: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert why_not_writable(capture) == ""
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert "cannot be written; copy it" in why_not_writable(capture)
    with pytest.raises(PeepholeError, match="cannot be written"):
        put(capture)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b"{",
        b"[" * 100_000,
        b'{"format": 9, "notes": []}',
        b'{"format": 1, "notes": [{"id": "n1", "kind": "wish", "text": "", "label": "", "created": "", "at": {}}]}',
        b'{"format": 1, "notes": [{"id": "n1", "kind": "match", "text": "x", "label": "", "created": "",'
        b' "at": {"step": 1}}]}',
        b'{"format": 1, "notes": [{"id": 5, "kind": "match", "text": "x", "label": "", "created": "",'
        b' "at": {"step": 1, "match": 1e99}}]}',
    ],
)
def test_a_damaged_file_is_refused_and_kept(capture: Path, data: bytes) -> None:
    (capture / FILE).write_bytes(data)
    with pytest.raises(CaptureError, match=r"notes\.json"):
        read_notes(capture)
    with pytest.raises(CaptureError):
        put(capture)
    assert (capture / FILE).read_bytes() == data
    assert info(open_capture(capture)).notes == 0


def test_neither_links_nor_pipes_are_followed(capture: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret.json"
    secret.write_text(json.dumps({"format": 1, "notes": []}))
    (capture / FILE).symlink_to(secret)
    with pytest.raises(CaptureError, match="cannot be read"):
        put(capture)
    assert secret.read_text() == json.dumps({"format": 1, "notes": []})
    (capture / FILE).unlink()
    os.mkfifo(capture / FILE)
    with pytest.raises(CaptureError, match="holds no notes"):
        read_notes(capture)


def test_two_who_write_at_once_lose_nothing(capture: Path) -> None:
    def write(name: str) -> None:
        for number in range(15):
            put(capture, f"{name}{number}")

    threads = [threading.Thread(target=write, args=(name,)) for name in "abc"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = read_notes(capture)
    assert len(found) == 45 and len({note.id for note in found}) == 45


def test_a_text_has_bounds(capture: Path) -> None:
    for text in ("", " \n", "x" * 10_001):
        with pytest.raises(PeepholeError, match="1 to 10,000 characters"):
            put(capture, text)
