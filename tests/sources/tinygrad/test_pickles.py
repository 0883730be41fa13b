"""The restricted reader: hostile pickles run nothing, ask for no memory, and are refused with one sentence."""

from __future__ import annotations

import io
import os
import pickle
import resource
import struct
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from peephole.errors import CaptureError
from peephole.sources.tinygrad.pickle.reader import load, loads
from peephole.sources.tinygrad.text import Texts


class Runs:
    """Pickled, it runs a command when it is loaded."""

    def __init__(self, function: object, *args: object) -> None:
        self.call = (function, args)

    def __reduce__(self) -> tuple[Any, ...]:
        return self.call


def memo_bomb() -> bytes:
    return b"\x80\x02]r\xff\xff\xff\x7f."


def nested(depth: int) -> bytes:
    """A tuple of a tuple of …, as a dictionary's key: its hash would recurse through all of them in C."""
    return b"\x80\x04}()" + b"\x85" * depth + b"Nu."


def laughs(levels: int) -> bytes:
    """Each tuple holds the one before twice: few bytes, an endless hash and text."""
    body = b")\x94" + b"".join(b"h" + bytes([i]) + b"h" + bytes([i]) + b"\x86\x94" for i in range(levels))
    return b"\x80\x04" + body


HOSTILE = {
    "os.system": pickle.dumps(Runs(os.system, "touch OWNED")),
    "posix.system by protocol 0": b"cposix\nsystem\n(S'touch OWNED'\ntR.",
    "eval": pickle.dumps(Runs(eval, "open('OWNED', 'w')")),
    "getattr of builtins": pickle.dumps(Runs(getattr, [], "append")),
    "inst": b"(S'touch OWNED'\nios\nsystem\n.",
    "obj": b"(cos\nsystem\nS'touch OWNED'\no.",
    "a tinygrad name with a path": b"ctinygrad.helpers\n__builtins__.eval\x00\n)R.",
    "a package that only begins so": b"ctinygradx.os\nsystem\n)R.",
    "extension code": b"\x80\x02\x82\x01.",
    "persistent id": b"Pos.system\n.",
    "a billion elements": b"\x80\x04\x8e" + struct.pack("<Q", 1 << 30) + b"x.",
    "bytes without end": b"\x80\x04B" + struct.pack("<I", 0xFFFFFFF0) + b"x.",
    "bytearray": b"\x80\x05\x96" + struct.pack("<Q", 1 << 40) + b"x.",
    "text": b"\x80\x04\x8d" + struct.pack("<Q", 1 << 62) + b"x.",
    "memo": memo_bomb(),
    "memo by protocol 0": b"]p99999999999\n.",
    "deep key": nested(2_000_000),
    "key of laughs": laughs(60) + b"}h\x3cNs.",
    "set of laughs": laughs(60) + b"\x8f(h\x3c\x90.",
    "many copies of one argument": b"\x80\x04(" + b"N" * 3000 + b"t\x94ctinygrad.helpers\nTarget\nh\x00R.",
    "truncated": pickle.dumps(list(range(5000)))[:-700],
    "empty": b"",
    "text file": b"hello, this is no pickle",
    "elf": b"\x7fELF\x02\x01\x01" + bytes(64),
    "huge number": b"L" + b"9" * 100_000 + b"L\n.",
    "stack underflow": b"\x80\x04R.",
    "wrong memo": b"\x80\x04h\x07.",
    "build a list": b"\x80\x04](}b.",
    "state that is no dictionary": b"\x80\x04ctinygrad.helpers\nTarget\n)\x81K\x01b.",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_pickles_are_refused(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    begun = time.perf_counter()
    with pytest.raises(CaptureError) as refusal:
        loads(HOSTILE[name], "x.pkl")
    assert time.perf_counter() - begun < 60
    assert str(refusal.value).startswith("x.pkl") and str(refusal.value).count("\n") == 0
    assert not (tmp_path / "OWNED").exists()
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 400_000  # KB


def test_the_refusal_names_what_was_asked_for() -> None:
    with pytest.raises(CaptureError, match=r"(posix|nt)\.system"):
        loads(HOSTILE["os.system"], "x.pkl")


def test_deep_recursion_and_laughs_end() -> None:
    """They load, since nothing of them is hashed, and their text is bounded."""
    deep = loads(b"\x80\x04)" + b"\x85" * 300_000 + b".", "x").value
    assert len(Texts().any(deep)) < 10_000
    laugh = loads(laughs(60) + b"h\x3c.", "x").value
    assert len(Texts().any(laugh)) < 200_000
    # taken apart from the outside in: the interpreter's own way back from so deep is not what is tested here
    while deep:
        deep = deep[0]


def test_stand_ins_do_nothing_and_keep_everything() -> None:
    stream = b"\x80\x04\x8c\x10tinygrad.helpers\x8c\x06Target\x93)\x81}\x8c\x06device\x8c\x03CPUsb."
    loaded = loads(stream, "x")
    assert type(loaded.value).__name__ == "Target" and loaded.value.device == "CPU"
    assert loaded.classes == {"tinygrad.helpers.Target"}
    assert not callable(loaded.value)
    with pytest.raises(TypeError):
        pickle.dumps(loaded.value)


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    try:
        loads(b"\x80\x04" + data, "x")
    except CaptureError as error:
        assert str(error).startswith("x ")


plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary(),
    lambda inner: st.lists(inner) | st.tuples(inner, inner) | st.dictionaries(st.text() | st.integers(), inner),
    max_leaves=20,
)


@settings(max_examples=200, deadline=None)
@given(plain, st.integers(3, 5))  # before 3 bytes were made by a call
def test_plain_data_comes_back_as_it_was(value: object, protocol: int) -> None:
    assert loads(pickle.dumps(value, protocol), "x").value == value


def test_reading_needs_no_tinygrad() -> None:
    code = (
        "import sys; sys.modules['tinygrad'] = None\n"
        "from peephole.sources.tinygrad import SOURCE\n"
        "from peephole.sources.tinygrad.live import attach\n"
        "from peephole.sources.tinygrad.pickle import files\n"
        "assert not {'tinygrad.helpers', 'numba', 'pyarrow'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_missing_file() -> None:
    with pytest.raises(CaptureError, match="cannot be read"):
        load(Path("does/not/exist.pkl"))


def test_pickles_of_any_kind_stay_unloaded() -> None:
    """Our unpickler is the only one: the plain one is never asked to load."""
    buffer = io.BytesIO()
    pickle.dump(Runs(print, "loaded"), buffer)
    with pytest.raises(CaptureError, match=r"builtins\.print"):
        loads(buffer.getvalue(), "x")
