"""Compilers: a folder for each, all that is known about its IR, and this table that they are found in.

A compiler is imported when a capture of it is first asked about. Which one a context belongs to is in the capture; a
name that is not in the table is a compiler that fills in nothing.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Final

from peephole.compilers.protocol import Compiler

if TYPE_CHECKING:
    from peephole.compilers.hardware import Instruction
    from peephole.store.capture import Capture

COMPILERS: Final = {
    "tinygrad": "peephole.compilers.tinygrad.compiler",
    "xla": "peephole.compilers.xla.compiler",
    "torch": "peephole.compilers.torch.compiler",
    "mlir": "peephole.compilers.mlir.compiler",
    "chakra": "peephole.compilers.chakra.compiler",
}
"""By the name in `contexts.compiler`, the module whose `compiler` fills the protocol in."""

TRACKED: Final = "track_rewrites"
"""The name of whatever a program recorded with `peephole.track_rewrites`."""


@cache
def compiler_named(name: str) -> Compiler:
    """The compiler of that name; one that fills in nothing when there is none."""
    module = COMPILERS.get(name)
    if module is None:
        return Compiler(name or TRACKED)
    found = import_module(module).compiler
    assert isinstance(found, Compiler)
    return found


def compiler_of(capture: Capture, context: int) -> Compiler:
    """The compiler that a context belongs to."""
    from peephole.compilers.traces import trace_of

    return compiler_named(trace_of(capture).compiler_name(context))


def compilers_in(capture: Capture) -> list[Compiler]:
    """The compilers that a capture has contexts of."""
    from peephole.compilers.traces import trace_of

    return [compiler_named(name) for name in sorted(trace_of(capture).compiler_names)]


def assumed_name(capture: Capture) -> str:
    """The compiler of contexts that name none: captures of the first version do not say it."""
    manifest = capture.manifest
    return next((name for name in COMPILERS if name in manifest.frameworks or name == manifest.source), TRACKED)


def decode_instructions(code: bytes, arch: str) -> list[Instruction]:
    """A GPU's machine code as instructions, by the first compiler that can; PeepholeError when none can."""
    from peephole.compilers.hardware import NoDecoder, Undecodable

    reason = Undecodable(f"Nothing on this machine knows the instructions of {arch}.")
    for name in COMPILERS:
        try:
            return compiler_named(name).instructions(code, arch)
        except NoDecoder:
            continue
        except Undecodable as error:
            reason = error
    raise reason
