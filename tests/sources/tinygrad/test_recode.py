"""Which names the functions of tinygrad's modules use, and how."""

from __future__ import annotations

import dis
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from types import CodeType

from peephole.sources.tinygrad.live.recode import named


def inside(code: CodeType) -> Iterator[CodeType]:
    yield code
    for const in code.co_consts:
        if isinstance(const, CodeType):
            yield from inside(const)


def test_names_are_found_as_python_finds_them() -> None:
    spec = find_spec("tinygrad")
    assert spec is not None and spec.origin is not None
    many = [f"a{i}" for i in range(700)]  # more than one byte counts
    long = compile("def f(x):\n" + "".join(f" {name}; x.{name} = {name}\n" for name in many), "long", "exec")
    codes = list(inside(long))
    for name in ("helpers", "device", "uop/ops", "engine/realize"):
        path = Path(spec.origin).parent / f"{name}.py"
        codes += inside(compile(path.read_text(), str(path), "exec"))
    seen = 0
    for code in codes:
        theirs = [(one.opname, one.argval) for one in dis.get_instructions(code) if one.opcode in dis.hasname]
        assert list(named(code)) == theirs
        seen += len(theirs)
    assert seen > 5000
