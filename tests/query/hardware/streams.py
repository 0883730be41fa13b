"""An encoder of thread traces, from the packet tables: what the decoder must find again."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass, field

from peephole.query.hardware.packets import PACKETS, Arch, Packet

SCHED = [
    {"name": "SQ_INSTS_VALU", "block": "SQ", "xcc": 1, "inst": 1, "se": 2, "sa": 2, "wgp": 2},
    {"name": "GRBM_GUI_ACTIVE", "block": "GRBM", "xcc": 1, "inst": 1, "se": 1, "sa": 1, "wgp": 1},
]
"""Which performance counters a run had, and of how many units."""


@dataclass
class Stream:
    """Appends packets nibble by nibble."""

    arch: Arch
    value: int = 0
    nibbles: int = 0
    packets: list[tuple[Packet, int]] = field(default_factory=list)

    def add(self, packet: Packet, rest: int = 0, **fields: int) -> None:
        """One packet; `rest` fills the bits that no field sets."""
        raw = rest & ((1 << packet.bits) - 1)
        raw = raw >> len(packet.prefix) << len(packet.prefix) | packet.value
        for name, number in fields.items():
            low, width = (packet.sa or 0, 1) if name == "sa" else getattr(packet, name)
            raw = raw & ~(((1 << width) - 1) << low) | (number & ((1 << width) - 1)) << low
        self.value |= raw << (4 * self.nibbles)
        self.nibbles += packet.bits // 4
        self.packets.append((packet, raw))

    def named(self, name: str, rest: int = 0, **fields: int) -> None:
        """One packet by the name of its type."""
        self.add(next(p for p in PACKETS[self.arch] if p.name == name), rest, **fields)

    def header(self) -> None:
        """The packet that every stream begins with."""
        self.named("LAYOUT_HEADER", payload={Arch.RDNA3: 3, Arch.RDNA4: 4, Arch.CDNA: 9}[self.arch])

    def traces(self, wgp: int, sa: int, simd: int) -> None:
        """The header of an RDNA stream whose instructions are those of this SIMD."""
        layout = {Arch.RDNA3: 3, Arch.RDNA4: 4}[self.arch]
        self.named("LAYOUT_HEADER", payload=layout, rest=simd << 13 | wgp << 15 | sa << 19)

    def blob(self) -> bytes:
        """The bytes, with zeros behind so that the last packet has its whole window."""
        return self.value.to_bytes((self.nibbles + 1) // 2, "little") + bytes(16)


def decodes_as(arch: Arch, packet: Packet, raw: int) -> bool:
    """Whether the longest prefix rule finds this very type in these bits."""
    fitting = [p for p in PACKETS[arch] if raw & ((1 << len(p.prefix)) - 1) == p.value]
    return max(fitting, key=lambda p: len(p.prefix)).name == packet.name


def random_stream(arch: Arch, seed: int, count: int, leave_out: Iterable[str] = ()) -> Stream:
    """A stream of all types with random bits, but for `leave_out`."""
    rng = random.Random(seed)
    stream = Stream(arch)
    stream.header()
    types = [p for p in PACKETS[arch] if p.name != "LAYOUT_HEADER" and p.name not in set(leave_out)]
    while len(stream.packets) <= count:
        packet = rng.choice(types)
        rest = rng.getrandbits(packet.bits) >> len(packet.prefix) << len(packet.prefix) | packet.value
        # the reference loses a byte after a 72-bit packet that begins on a byte: place those on the other nibble
        if packet.bits == 72 and stream.nibbles % 2 == 0:
            stream.named("NOP")
        if decodes_as(arch, packet, rest):
            stream.add(packet, rest)
    return stream
