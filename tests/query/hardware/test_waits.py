"""Waits say what they wait for: each generation packs its counters differently."""

from __future__ import annotations

import pytest

from peephole.query.hardware.waits import awaited, decode_wait, words

FULL = {"gfx1100": 0xFFF7, "gfx1030": 0xFF7F, "gfx950": 0xCF7F}
"""The number of an s_waitcnt that waits for nothing; LLVM's tests of its encoder have these."""


@pytest.mark.parametrize(
    ("arch", "op", "text", "said"),
    [
        # numbers of real kernels (tinygrad's, compiled by AMD's compiler)
        ("gfx1100", "S_WAITCNT", "s_waitcnt(64519)", "lgkmcnt(0)"),
        ("gfx1100", "S_WAITCNT", "s_waitcnt(64535)", "lgkmcnt(1)"),
        ("gfx1100", "S_WAITCNT", "s_waitcnt(2039)", "vmcnt(1)"),
        ("gfx1100", "S_WAITCNT", "s_waitcnt(1015)", "vmcnt(0)"),
        ("gfx950", "S_WAITCNT", "s_waitcnt(3952)", "vmcnt(0)"),
        ("gfx950", "S_WAITCNT", "s_waitcnt(49279)", "lgkmcnt(0)"),
        ("gfx950", "S_WAITCNT", "s_waitcnt(49535)", "lgkmcnt(1)"),
        ("gfx1200", "S_WAIT_LOADCNT", "s_wait_loadcnt(1)", "loadcnt(1)"),
        ("gfx1200", "S_WAIT_DSCNT", "s_wait_dscnt()", "dscnt(0)"),
        ("gfx1200", "S_WAIT_KMCNT", "s_wait_kmcnt()", "kmcnt(0)"),
        ("gfx1200", "S_WAIT_LOADCNT_DSCNT", "s_wait_loadcnt_dscnt(258)", "loadcnt(1) dscnt(2)"),
        ("gfx1200", "S_WAIT_ALU", "s_wait_alu(65534)", "sa_sdst(0)"),
        ("gfx1200", "S_WAIT_ALU", "s_wait_alu(65533)", "va_vcc(0)"),
        ("gfx1100", "S_WAITCNT_DEPCTR", "s_waitcnt_depctr(4095)", "va_vdst(0)"),
        ("gfx1100", "S_WAITCNT_VSCNT", "s_waitcnt_vscnt(NULL, 0)", "vscnt(0)"),
        ("gfx1100", "S_DELAY_ALU", "s_delay_alu(1)", "instid0(VALU_DEP_1)"),
        ("gfx1100", "S_DELAY_ALU", "s_delay_alu(274)", "instid0(VALU_DEP_2) instskip(NEXT) instid1(VALU_DEP_2)"),
        # everything at once, and nothing
        ("gfx1100", "S_WAITCNT", "s_waitcnt()", "vmcnt(0) expcnt(0) lgkmcnt(0)"),
        ("gfx1030", "S_WAITCNT", "s_waitcnt(112)", "vmcnt(0) lgkmcnt(0)"),
        *((arch, "S_WAITCNT", f"s_waitcnt({number})", "nothing") for arch, number in FULL.items()),
    ],
)
def test_counters_have_names(arch: str, op: str, text: str, said: str) -> None:
    found = decode_wait(op, text, arch)
    assert found is not None and found.text == said


@pytest.mark.parametrize("op", ["V_ADD_F32", "S_NOP", "", "S_WAKEUP"])
def test_what_is_no_wait_says_nothing(op: str) -> None:
    assert decode_wait(op, "x(5)", "gfx1100") is None


def test_a_wait_leads_to_what_has_to_be_done_first() -> None:
    ops = ("GLOBAL_LOAD_B32", "S_LOAD_B64", "GLOBAL_LOAD_B32", "GLOBAL_STORE_B32", "DS_LOAD_B32", "S_WAITCNT")

    def wait(text: str, arch: str = "gfx1100", joins: frozenset[int] = frozenset()) -> int:
        found = decode_wait("S_WAITCNT", text, arch)
        assert found is not None
        return awaited(ops, 5, found, arch, joins)

    assert wait("s_waitcnt(1015)") == 2, "vmcnt(0): the last load"
    assert wait("s_waitcnt(2039)") == 0, "vmcnt(1): the one before it; stores are counted elsewhere since gfx10"
    assert wait("s_waitcnt(3952)", "gfx950") == 3, "on gfx9 stores count too"
    assert wait("s_waitcnt(64519)") == 4 and wait("s_waitcnt(64535)") == 1
    assert wait("s_waitcnt(3063)") == -1, "vmcnt(2): there are but two"
    assert wait("s_waitcnt(2039)", joins=frozenset({2})) == -1, "what came before a place where paths join is not known"


def test_words() -> None:
    found = decode_wait("S_WAITCNT", "s_waitcnt(1)", "gfx1100")
    assert found is not None
    assert words(found) == (
        "waits until all vector memory operations are done and all but 1 exports are done"
        " and all LDS, scalar memory and message operations are done"
    )
