"""Pickles that were made to be slow, or hold one thing where another belongs: read in seconds, or refused."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from tests.kept_rows import KeptRows

from peephole.errors import CaptureError
from peephole.sources.base import no_progress
from peephole.sources.tinygrad.pickle import files

OPS = b"ctinygrad.uop\nOps\n"
EVENT = b"ctinygrad.helpers\nProfileRangeEvent\n"
KEY = b"ctinygrad.uop.ops\nTracingKey\n"
STEP = b"ctinygrad.uop.ops\nTrackedGraphRewrite\n"
MANY = 130_000


def number(value: int) -> bytes:
    return b"J" + value.to_bytes(4, "little")


def text(value: str) -> bytes:
    return b"X" + len(value).to_bytes(4, "little") + value.encode()


def state(cls: bytes, **fields: bytes) -> bytes:
    """Opcodes of an object with these fields."""
    pairs = b"".join(text(name) + value for name, value in fields.items())
    return cls + b")\x81}(" + pairs + b"ub"


def trace(nodes: bytes, matches: bytes = b"", before: bytes = b"", steps: bytes | None = None) -> bytes:
    """A file of rewrites with one context and one step: keys, rewrites and nodes."""
    key = state(KEY, display_name=text("k"), keys=b")", cat=b"N", ret=b"N")
    step = state(STEP, loc=b"N", sink=number(0), matches=b"](" + matches + b"e", name=text("s"))
    groups = b"](" + (b"](" + step + b"e" if steps is None else steps) + b"e"
    return b"\x80\x04" + before + b"](" + key + b"e" + groups + b"}(" + nodes + b"u\x87."


def node(at: int, op: bytes = OPS + b"K\x01\x85R", src: bytes = b")", arg: bytes = b"N") -> bytes:
    return number(at) + b"(" + op + b"N" + src + arg + b"Nt"


def read(path: Path, data: bytes) -> KeptRows:
    path.write_bytes(data)
    kept = KeptRows()
    begun = time.process_time()
    try:
        files.read([path], kept, no_progress)
    finally:
        # each took minutes, or had no end
        assert time.process_time() - begun < 15
    return kept


def test_the_stranger_a_class_where_an_op_belongs(tmp_path: Path) -> None:
    kept = read(tmp_path / "p", trace(node(0) + node(1, op=OPS)))
    assert [row["op"] for row in kept.rows["nodes"]][1] == "type"
    assert len(kept.rows["steps"]) == 1


def test_a_class_where_any_object_belongs(tmp_path: Path) -> None:
    for cls in (OPS, EVENT, KEY, STEP, b"ctinygrad.dtype\nDType\n", b"ctinygrad.uop.ops\nUOp\n"):
        kept = read(tmp_path / "p", trace(node(0, arg=cls) + number(1) + b"(" + cls + cls + b")" + cls + cls + b"t"))
        assert len(kept.rows["nodes"]) == 2


@pytest.mark.parametrize("word", ["1e", "nan", "1E5x", "sNaN", "Infinity", "1e999999999", ""])
def test_a_decimal_that_is_no_number(tmp_path: Path, word: str) -> None:
    time_ = b"cdecimal\nDecimal\n" + text(word) + b"\x85R"
    event = state(EVENT, device=text("CPU"), name=text("k"), st=time_, en=time_)
    kept = read(tmp_path / "p", b"\x80\x04](" + event + b"e.")
    assert "slices" not in kept.rows or not kept.rows["slices"] or word == ""
    assert kept.problems or word == ""


def test_a_million_references_to_one_event(tmp_path: Path) -> None:
    time_ = b"cdecimal\nDecimal\n" + text("1") + b"\x85R"
    event = state(EVENT, device=text("CPU"), name=text("k"), st=time_, en=time_)
    kept = read(tmp_path / "p", b"\x80\x04](" + event + b"q\x07" + b"h\x07" * 1_000_000 + b"e.")
    assert len(kept.rows["slices"]) == 1
    assert kept.problems["an event that is there again"] == 1_000_000


def test_a_large_argument_of_very_many_nodes(tmp_path: Path) -> None:
    large = b"(" + b"K\x01" * 3900 + b"tq\x07" + b"0"
    nodes = b"".join(node(at, op=b"h\x08", arg=b"h\x07\x85") for at in range(MANY))
    kept = read(tmp_path / "p", trace(nodes, before=large + OPS + b"K\x01\x85Rq\x080"))
    assert len(kept.rows["nodes"]) == MANY


def test_many_nodes_with_one_long_list_of_sources(tmp_path: Path) -> None:
    long = b"(" + b"K\x00" * 100_000 + b"tq\x070"
    nodes = b"".join(node(at, op=b"N", src=b"h\x07") for at in range(50_000))
    with pytest.raises(CaptureError, match="sources of nodes"):
        read(tmp_path / "p", trace(nodes, before=long))


def test_one_list_of_matches_in_many_steps(tmp_path: Path) -> None:
    match = b"(K\x00K\x00" + text("f") + b"K\x01\x86Nt"
    matches = b"](" + match * 20_000 + b"eq\x070"
    step = state(STEP, loc=b"N", sink=number(0), matches=b"h\x07", name=text("s"))
    with pytest.raises(CaptureError, match="same list"):
        read(tmp_path / "p", trace(node(0), before=matches, steps=b"](" + step * 20_000 + b"e"))
    group = b"](" + step * 2_000 + b"eq\x080"
    with pytest.raises(CaptureError, match="same list"):
        read(tmp_path / "p", trace(node(0), before=matches + group, steps=b"h\x08" * 20_000))


def test_a_pointer_of_endless_size(tmp_path: Path) -> None:
    laugh = b")" + b"2\x86" * 60 + b"q\x070"
    scalar = b"K\x01K\x04" + text("float") + text("f") + b"K\x01N"
    pointer = b"ctinygrad.dtype\nPtrDType\n(" + scalar + b"NK\x01h\x07h\x07h\x07tR"
    kept = read(tmp_path / "p", trace(number(0) + b"(" + OPS + b"K\x01\x85R" + pointer + b")NNt", before=laugh))
    assert len(kept.rows["nodes"][0]["dtype"]) < 2000
