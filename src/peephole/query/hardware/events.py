"""A thread trace as rows to print or draw: clock, unit, operation, duration, delay, instruction."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass

from peephole.query.hardware.mapping import QUEUE_NAMES
from peephole.query.hardware.packets import cycles, op_name, shown_as
from peephole.query.hardware.program import NO_PROGRAM
from peephole.query.hardware.traces import HardwareTrace


@dataclass(frozen=True, slots=True)
class HardwareEvent:
    """One thing that a wave or a unit did."""

    clock: int
    unit: str
    """`WAVE:3` for what a wave of the traced SIMD did, `VALU`, or `CU:1 SIMD:0 WAVE:3` for the life of a wave."""
    op: str
    duration: int
    """Clocks; 1 where the operation does not say."""
    delay: int | None
    """For an execution: clocks since its dispatch."""
    pc: int | None
    instruction: str


def events(trace: HardwareTrace) -> Iterator[HardwareEvent]:
    """Everything in stream order; without a mapping, the packets as they are."""
    if trace.mapped is None or not len(trace.mapped):
        yield from _packets(trace)
        return
    yield from heapq.merge(_mapped(trace), _lives(trace), key=lambda event: event.clock)


def _lives(trace: HardwareTrace) -> Iterator[HardwareEvent]:
    """The waves of all units, the traced one among them, from start to end."""
    waves = trace.waves
    columns = zip(waves.start.tolist(), waves.end.tolist(), waves.cu.tolist(), waves.simd.tolist(), waves.wave.tolist(),
                  strict=True)  # fmt: skip
    for start, end, cu, simd, wave in columns:
        yield HardwareEvent(start, f"CU:{cu} SIMD:{simd} WAVE:{wave}", "WAVE", end - start, None, None, "")


def _packets(trace: HardwareTrace) -> Iterator[HardwareEvent]:
    packets = trace.packets
    columns = zip(
        packets.time.tolist(), packets.cu.tolist(), packets.simd.tolist(), packets.wave.tolist(), packets.op.tolist(),
        strict=True,
    )  # fmt: skip
    for row, (time, cu, simd, wave, op) in enumerate(columns):
        kind = packets.name(row)
        place = [f"{name}:{value}" for name, value in (("CU", cu), ("SIMD", simd), ("WAVE", wave)) if value >= 0]
        name = op_name(packets.arch, kind, op) if op >= 0 else kind
        yield HardwareEvent(time, " ".join(place) or kind, name, 1, None, None, "")


def _mapped(trace: HardwareTrace) -> Iterator[HardwareEvent]:
    packets, mapped, program = trace.packets, trace.mapped, trace.program or NO_PROGRAM
    assert mapped is not None
    times, ops = packets.time.tolist(), packets.op.tolist()
    pcs = program.pc.tolist()
    packet_rows, instructions = mapped.packet.tolist(), mapped.instruction.tolist()
    for packet, wave, inst, link in zip(
        packet_rows, mapped.wave.tolist(), instructions, mapped.link.tolist(), strict=True
    ):
        time = times[packet]
        if wave < 0:
            unit = QUEUE_NAMES[-1 - wave]
            origin = packet_rows[link] if link >= 0 else -1
            source = instructions[link] if link >= 0 else -1
            op = unit if origin < 0 else shown_as(packets.arch, packets.name(origin), ops[origin])
            length = 1 if origin < 0 else cycles(op)
            delay = time - times[origin] if origin >= 0 else None
            text = program.text[source] if 0 <= source < len(program) else ""
            pc = pcs[source] if 0 <= source < len(program) else None
            yield HardwareEvent(time, unit, op, length, delay, pc, text)
            continue
        op = shown_as(packets.arch, packets.name(packet), ops[packet])
        known = 0 <= inst < len(program)
        text = program.text[inst] if known else ""
        yield HardwareEvent(time, f"WAVE:{wave}", op, 1, None, pcs[inst] if known else None, text)
