"""The dtypes of rebuilt nodes against tinygrad's own rules."""

from __future__ import annotations

import pytest

from peephole.compilers.tinygrad.dtypes import KNOWN_OPS, derive, promote


def test_tinygrads_rules_for_dtypes() -> None:
    tinygrad = pytest.importorskip("tinygrad.dtype")
    names = {str(d).removeprefix("dtypes."): d for d in tinygrad.promo_lattice} | {"double": tinygrad.dtypes.double}
    for a, left in names.items():
        for b, right in names.items():
            expected = str(tinygrad.least_upper_dtype(left, right)).removeprefix("dtypes.")
            assert promote((a, b)) == derive("ADD", (a, b), lambda _: False) == expected
        root = str(tinygrad.least_upper_float(left)).removeprefix("dtypes.")
        assert derive("SQRT", (a,), lambda _: False) == root


def test_every_op_of_tinygrad_has_a_rule() -> None:
    uop = pytest.importorskip("tinygrad.uop")
    own = {"CALL", "WHERE", "STACK", "WMMA", "GETTUPLE", "SHL", "SHR"}
    assert {op.name for op in uop.Ops} - KNOWN_OPS - own == set()
