"""Which SIMD the instructions of a trace are of, and where waves go after a jump to a computed address."""

from __future__ import annotations

from typing import Any

import pytest
from tests.query.hardware import kernels, streams

from peephole.query.hardware.decode import SILENT, decode
from peephole.query.hardware.mapping import map_instructions, traced_unit
from peephole.query.hardware.packets import Arch


@pytest.mark.parametrize("arch", [Arch.RDNA3, Arch.RDNA4])
@pytest.mark.parametrize("unit", [(0, 0, 0), (0, 0, 3), (5, 0, 1), (2, 1, 2)])
def test_the_header_says_which_unit_was_traced(arch: Arch, unit: tuple[int, int, int]) -> None:
    """The same waves on another SIMD are the same instructions."""
    _, program = kernels.kernel("loop")
    packets = decode(kernels.walk_waves(program, 4, arch=arch, unit=unit).blob(), SILENT)
    wgp, sa, simd = unit
    assert traced_unit(packets) == (wgp | sa << (3 if arch is Arch.RDNA3 else 4), simd)
    mapped = map_instructions(packets, program)
    first = map_instructions(decode(kernels.walk_waves(program, 4, arch=arch).blob(), SILENT), program)
    assert mapped.instruction.tolist() == first.instruction.tolist()
    assert mapped.wave.tolist() == first.wave.tolist()
    assert int((mapped.instruction >= 0).sum()) > 200
    assert not mapped.problems


def test_without_a_header_it_is_the_first_unit() -> None:
    stream = streams.Stream(Arch.RDNA3)
    stream.named("VALUINST", wave=1)
    assert traced_unit(decode(stream.blob())) == (0, 0)
    assert traced_unit(decode(b"")) == (0, 0)


def jump(wave: int, target: int, *, between: int = 0) -> Any:
    """A wave that jumps to a computed address; `between` instructions issue before the trace says where it landed."""
    stream = streams.Stream(Arch.RDNA3)
    stream.traces(0, 0, 0)
    stream.named("WAVESTART", wave=wave, simd=0, cu=0, sa=0)
    stream.named("INST", wave=wave, op=0, delta=1)
    stream.named("INST", wave=wave, op=0, delta=1)
    for _ in range(between):
        stream.named("INST", wave=wave, op=0, delta=1)
    stream.named("TS_DELTA_S8_W3", rest=wave << 11 | (target // 4) << 16, delta=1)
    stream.named("VALUINST", wave=wave, delta=1)
    stream.named("WAVEEND", wave=wave, simd=0, cu=0, sa=0, delta=1)
    return decode(stream.blob(), SILENT)


def test_a_computed_jump_is_followed_where_the_trace_says() -> None:
    _, program = kernels.kernel("computed_jump")
    base = 0x7F_0000_0000
    landing = base + int(program.pc[4])
    assert map_instructions(jump(9, landing), program, base).instruction.tolist() == [0, 1, 4, 5]
    # what issued before the trace said where the wave is cannot be known, nor what comes behind it
    late = map_instructions(jump(9, landing, between=1), program, base)
    assert late.instruction.tolist()[:4] == [0, 1, -1, -1]
    assert late.problems == {"instruction after a jump to a computed address": 2}
    outside = map_instructions(jump(9, 0x1000), program, base)
    assert outside.instruction.tolist()[:3] == [0, 1, -1]


def test_waves_that_lost_packets_are_not_guessed_at() -> None:
    """Where packets are missing nobody knows how far a wave got; the next wave in its slot is known again."""
    _, program = kernels.kernel("straight")
    stream = streams.Stream(Arch.RDNA3)
    stream.traces(0, 0, 0)
    for lost in (True, False):
        stream.named("WAVESTART", wave=3, simd=0, cu=0, sa=0)
        stream.named("INST", wave=3, op=0, delta=1)
        if lost:
            stream.named("TS_DELTA_OR_MARK", rest=1 << 8, delta=500)
        stream.named("VALUINST", wave=3, delta=1)
        stream.named("ALUEXEC", op=1, delta=1)
        stream.named("WAVEEND", wave=3, simd=0, cu=0, sa=0, delta=1)
    mapped = map_instructions(decode(stream.blob(), SILENT), program)
    assert mapped.instruction.tolist() == [0, -1, -1, -1, 0, 1, -1, 2]
    assert mapped.link.tolist() == [-1, -1, -1, -1, -1, -1, 4, -1]
    assert mapped.problems == {
        "execution without a traced dispatch": 1, "instruction of a wave that lost packets": 1,
    }  # fmt: skip
