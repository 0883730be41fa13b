"""AMD's thread traces and counters as tinygrad recorded them, and the programs that ran. Standard library only."""

from __future__ import annotations

import json
import struct
from typing import Any, Final

from peephole.model.tables import NONE
from peephole.sources.tinygrad.clock import Offsets
from peephole.sources.tinygrad.contexts import Contexts
from peephole.sources.tinygrad.text import fields_of, label, plain
from peephole.sources.tinygrad.tracks import Out

_MACHINES: Final = {
    0x2F: "gfx906", 0x30: "gfx908", 0x3F: "gfx90a", 0x40: "gfx940", 0x41: "gfx1100", 0x43: "gfx1150", 0x44: "gfx1103",
    0x46: "gfx1101", 0x47: "gfx1102", 0x48: "gfx1200", 0x4A: "gfx1151", 0x4B: "gfx941", 0x4C: "gfx942", 0x4E: "gfx1201",
    0x4F: "gfx950",
}  # fmt: skip
"""What the flags of an AMD binary say that it was made for."""
_AMD: Final = 224


def _machine(library: Any) -> str:
    """The architecture of a binary; empty when it is none of AMD's or unknown."""
    if type(library) is not bytes or library[:5] != b"\x7fELF\x02" or len(library) < 64:
        return ""
    (machine,), (flags,) = struct.unpack_from("<H", library, 18), struct.unpack_from("<I", library, 48)
    return _MACHINES.get(flags & 0xFF, "") if machine == _AMD else ""


class Hardware:
    """Collects SQTT, PMC and program events; they are written at the end, when the device has said what it is."""

    def __init__(self, out: Out, offsets: Offsets, contexts: Contexts) -> None:
        self._out = out
        self._offsets = offsets
        self._contexts = contexts
        self._programs: dict[tuple[str, int], Any] = {}
        self._traces: list[tuple[str, Any]] = []
        self._libraries: list[Any] = []
        self._machines: dict[str, str] = {}

    def program(self, event: Any) -> None:
        """Takes a ProfileProgramEvent."""
        fields = fields_of(event)
        if type(fields.get("tag")) is int:
            self._programs[label(fields.get("device")), fields["tag"]] = event
        self._libraries.append(event)
        if machine := _machine(fields.get("lib")):
            self._machines.setdefault(label(fields.get("device")), machine)

    def trace(self, kind: str, event: Any) -> None:
        """Takes a ProfileSQTTEvent, ProfilePMCEvent or ProfilePMAEvent."""
        self._traces.append((kind, event))

    def finish(self) -> None:
        """Writes everything that was collected."""
        for event in self._libraries:
            fields = fields_of(event)
            library = fields.get("lib")
            if type(library) is bytes:
                device = label(fields.get("device"))
                self._out.row(
                    "artifacts",
                    context=self._context(event),
                    kind="binary",
                    language=self.arch(device),
                    name=label(fields.get("name")),
                    content=library,
                )
        runs: dict[Any, list[Any]] = {}
        for kind, event in self._traces:
            self._write(kind, event, runs)
        self._libraries.clear()
        self._traces.clear()

    def arch(self, device: str) -> str:
        """`gfx1100`, from what the device said of itself, else from its programs; empty when nothing tells."""
        props = self._offsets.props.get(device) or self._offsets.props.get(device.split(":", maxsplit=1)[0]) or {}
        version = props.get("gfx_target_version")
        if type(version) is not int:
            return self._machines.get(device, "")
        return f"gfx{version // 10000}{version // 100 % 100:x}{version % 100:x}"

    def _only_program(self, device: str) -> Any:
        """The program of a trace that does not name one, when there is no other that it could be of."""
        own = [event for event in self._libraries if label(fields_of(event).get("device")) == device]
        return own[0] if len(own) == 1 else None

    def _context(self, event: Any) -> int:
        fields = fields_of(event)
        key = fields.get("profile_key")
        if type(key) is bytes and key in self._contexts.by_key:
            return self._contexts.by_key[key]
        name = fields.get("name")
        return self._contexts.called(plain(name)) if type(name) is str else NONE

    def _write(self, kind: str, event: Any, runs: dict[Any, list[Any]]) -> None:
        fields = fields_of(event)
        device, blob, kernel = fields.get("device"), fields.get("blob"), fields.get("kern")
        if type(device) is not str or not isinstance(blob, (bytes, bytearray)):
            self._out.problem("a hardware trace has no device or no content")
            return
        program = self._programs.get((device, kernel)) if type(kernel) is int else None
        if program is None and kernel is None:
            program = self._only_program(device)
        name = label(fields_of(program).get("name") if program is not None else kernel or "a kernel")
        # a run is one exec_tag of a kernel; without it (0.11 and older) each engine's second trace is the second run
        seen = runs.setdefault((device, name), [])
        engine = fields.get("se") if type(fields.get("se")) is int else None
        count = runs.setdefault((device, name, kind, engine), [])
        count.append(None)
        tag = fields.get("exec_tag")
        tag = tag if type(tag) is int else len(count)
        if tag not in seen:
            seen.append(tag)
        props: dict[str, Any] = {k: v for k, v in fields.items() if type(v) in (int, str, bool) and k != "device"}
        if isinstance(fields.get("sched"), (list, tuple)):
            props["sched"] = [
                {k: v for k, v in fields_of(sample).items() if type(v) in (int, str)}
                for sample in fields["sched"][:1000]
            ]
        props["device"] = {
            k: v for k, v in (self._offsets.props.get(device) or {}).items() if type(v) in (int, str, float)
        }
        if program is not None:
            base = fields_of(program).get("base")
            props["base"] = base if type(base) is int else None
        self._out.row(
            "hardware",
            kernel=name,
            context=self._context(event if program is None else program),
            device=device,
            run=seen.index(tag),
            kind=kind,
            unit="" if engine is None else f"SE:{engine}",
            arch=self.arch(device),
            props=json.dumps(props, separators=(",", ":")),
            content=bytes(blob),
        )
