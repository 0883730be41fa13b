"""The hardware traces of a capture: which there are, and one of them decoded."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from peephole.errors import PeepholeError
from peephole.model.json_text import json_object
from peephole.model.plain_names import plain
from peephole.query.hardware.counters import Counter, unpack
from peephole.query.hardware.decode import SILENT, Decoder, Packets
from peephole.query.hardware.hotspots import Hotspots, hotspots
from peephole.query.hardware.instruction_facts import InstructionFacts, instruction_facts
from peephole.query.hardware.line_table import line_table
from peephole.query.hardware.losses import Losses, losses
from peephole.query.hardware.mapping import Mapped, map_instructions, traced_unit
from peephole.query.hardware.packets import Arch
from peephole.query.hardware.program import NO_PROGRAM, Program, disassemble
from peephole.query.hardware.stalls import stall_counters
from peephole.query.hardware.waves import Waves, waves
from peephole.store.capture import Capture

_BUFFER_STEP = 1 << 20
_FULL = (0, _BUFFER_STEP - 32)
"""Trace buffers are whole MiB; the hardware stops writing at the last 32 bytes."""
_STREAMS = {Arch.RDNA3: "gfx11", Arch.RDNA4: "gfx12", Arch.CDNA: "gfx9"}
_CDNA_HEADER = 8
"""Bytes that the recording program writes before a stream of CDNA, which has no header of its own."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One row of the hardware table, without its content."""

    row: int
    kernel: str
    context: int
    device: str
    run: int
    kind: str
    unit: str
    arch: str
    props: dict[str, Any]

    @property
    def kernel_run(self) -> str:
        """The kernel, from its second run on with the run's number: `gemm`, `gemm n2`."""
        return f"{self.kernel} n{self.run + 1}" if self.run > 0 else self.kernel

    @property
    def engine(self) -> int:
        """The number in `SE:12`; -1 when the unit has none."""
        number = self.unit.rpartition(":")[2]
        return int(number) if number.isascii() and number.isdigit() and len(number) < 9 else -1

    @property
    def source(self) -> str:
        """What `show -s` calls it: `gemm SQTT SE:0 PKTS`, `gemm PMC`, `PMA gemm`."""
        if self.kind == "pma":
            return f"PMA {self.kernel_run.replace(' n', 'n') if self.run else self.kernel}"
        return f"{self.kernel_run} PMC" if self.kind == "pmc" else f"{self.kernel_run} SQTT {self.unit} PKTS"

    @property
    def counted(self) -> bool:
        """Whether it is counters, or samples that can be counted, and no trace in time."""
        return self.kind in ("pmc", "pma")


def entries(capture: Capture) -> list[Entry]:
    """Every trace and set of counters, in the order of the table but for engines: those of a run by their number."""
    frame = capture.read("hardware", ["kernel", "context", "device", "run", "kind", "unit", "arch", "props"])
    found = []
    for row in range(len(frame)):
        texts = {name: frame.texts(name)[row] or "" for name in ("kernel", "device", "kind", "unit", "arch", "props")}
        found.append(
            Entry(
                row, plain(texts["kernel"]), int(frame["context"][row]), texts["device"], int(frame["run"][row]),
                texts["kind"], texts["unit"], texts["arch"], json_object(texts["props"]) or {},
            )
        )  # fmt: skip
    runs: dict[tuple[str, int, str, str], int] = {}
    place = {
        entry.row: runs.setdefault((entry.kernel, entry.run, entry.device, entry.kind), entry.row) for entry in found
    }
    return sorted(found, key=lambda entry: (place[entry.row], entry.engine, entry.row))


def content(capture: Capture, entry: Entry) -> bytes:
    """The raw bytes of a trace."""
    return capture.read("hardware", ["content"], slice(entry.row, entry.row + 1)).blobs("content")[0] or b""


def counters(capture: Capture, entry: Entry) -> list[Counter]:
    """The counters of a PMC entry, or how often warps were met waiting, of PMA samples."""
    if entry.kind == "pma":
        return stall_counters(content(capture, entry), entry.props)
    sched = entry.props.get("sched")
    return unpack(sched if isinstance(sched, list) else [], content(capture, entry))


def binary_of(capture: Capture, entry: Entry) -> bytes | None:
    """The kernel's binary: that of its context, else the one of its name; None when the capture has none."""
    return _artifact(capture, entry, "binary")[0]


def source_of(capture: Capture, entry: Entry) -> tuple[list[str], int]:
    """The lines of the kernel's source and the context that they are of; none and -1 when the capture has none."""
    text, context = _artifact(capture, entry, "source")
    return (text or b"").decode("utf-8", "replace").splitlines(), context


def _artifact(capture: Capture, entry: Entry, kind: str) -> tuple[bytes | None, int]:
    frame = capture.read("artifacts", ["context", "kind", "name"])
    found = None
    for row in range(len(frame)):
        if frame.texts("kind")[row] != kind:
            continue
        if entry.context >= 0 and int(frame["context"][row]) == entry.context:
            found = row
            break
        if plain(frame.texts("name")[row]) == entry.kernel:
            found = row
    if found is None:
        return None, -1
    blob = capture.read("artifacts", ["content"], slice(found, found + 1)).blobs("content")[0]
    return blob, int(frame["context"][found])


class HardwareTrace:
    """One thread trace, decoded when it is first asked for, and what could not be made of it in words."""

    def __init__(self, capture: Capture, entry: Entry) -> None:
        self.entry = entry
        self._capture = capture
        self.notes: list[str] = []

    @cached_property
    def _blob(self) -> bytes:
        return content(self._capture, self.entry)

    @cached_property
    def packets(self) -> Packets:
        """The packets that do more than pass time, up to the first damage."""
        return self._decoded[0]

    @cached_property
    def counts(self) -> dict[str, int]:
        """Packets by type, all of them."""
        return self._decoded[1].counts()

    @cached_property
    def _decoded(self) -> tuple[Packets, Decoder]:
        decoder = Decoder(self._blob, SILENT, stop=True)
        packets = decoder.rest()
        if decoder.damage is not None:
            byte, clock = decoder.damage
            self.notes.append(
                f"The trace is damaged at byte {byte:,} of {len(self._blob):,}, clock {clock:,}: "
                "what came before it is shown."
            )
        elif not decoder.counts():
            self.notes.append("The trace is empty.")
        return packets, decoder

    @cached_property
    def waves(self) -> Waves:
        """Every wave of every unit."""
        found = waves(self.packets)
        if (unfinished := int((~found.closed).sum())) and self._decoded[1].damage is None:
            full = (len(self._blob) - _CDNA_HEADER * (self.packets.arch is Arch.CDNA)) % _BUFFER_STEP in _FULL
            why = "its buffer was full, SQTT_BUFFER_SIZE makes it larger" if full else "it was stopped or cut before"
            self.notes.append(f"The trace holds no end of {unfinished:,} of {len(found):,} waves: {why}.")
        return found

    @cached_property
    def traced(self) -> tuple[int, int]:
        """The CU and SIMD whose instructions were traced."""
        return traced_unit(self.packets)

    @cached_property
    def binary(self) -> bytes | None:
        """The kernel's binary."""
        return binary_of(self._capture, self.entry)

    @cached_property
    def program(self) -> Program | None:
        """The kernel's instructions; None with a note when they cannot be had."""
        if self.binary is None:
            self.notes.append("The capture holds no binary of this kernel, so its instructions are not known.")
            return None
        try:
            # a device that did not say what it is: the stream does
            return disassemble(self.binary, self.entry.arch or _STREAMS[self.packets.arch])
        except PeepholeError as error:
            self.notes.append(str(error))
            return None

    @cached_property
    def facts(self) -> list[InstructionFacts]:
        """What is known of each instruction besides its figures: what it waits for, and its line of the source."""
        program = self.program
        if program is None:
            return []
        arch = self.entry.arch or _STREAMS[self.packets.arch]
        return instruction_facts(program, arch, line_table(self.binary or b""), self.source[0])

    @cached_property
    def source(self) -> tuple[list[str], int]:
        """The kernel's source and its context."""
        return source_of(self._capture, self.entry)

    @cached_property
    def mapped(self) -> Mapped | None:
        """What the waves and units did, with their instructions where the program is known; None with a note when the
        trace does not tell."""
        if self.packets.arch is Arch.CDNA:
            self.notes.append("CDNA traces hold no program counter to follow: packets are shown without instructions.")
            return None
        if self.entry.props.get("itrace") is False:
            self.notes.append("This engine was traced without instruction detail: waves start and end, no more.")
            return None
        base = self.entry.props.get("base")
        mapped = map_instructions(self.packets, self.program or NO_PROGRAM, base if isinstance(base, int) else 0)
        self.notes += [f"{count:,} x {reason}." for reason, count in mapped.problems.items()]
        return mapped

    @cached_property
    def hotspots(self) -> Hotspots | None:
        """What each instruction cost; None where there is no mapping."""
        if self.mapped is None or self.program is None:
            return None
        return hotspots(self.packets, self.mapped, self.program)

    def words(self) -> list[str]:
        """What could not be shown and what the trace says is missing, a sentence each."""
        _ = self.waves  # it notes waves without an end
        return list(dict.fromkeys([*self.notes, *self.losses.sentences()]))

    @cached_property
    def losses(self) -> Losses:
        """What the trace says is missing."""
        return losses(self.packets)


def find_entry(capture: Capture, source: str) -> Entry | None:
    """The entry that `show -s` names; None when there is none."""
    wanted = plain(source)
    return next((entry for entry in entries(capture) if entry.source == wanted), None)
