"""MLIR, as the protocol of compilers asks about it: operations of any dialect, so little is known about each."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from peephole.compilers.labels import CONSTANT, LONGEST, Family, Look, NodeText, cut, short_number
from peephole.compilers.protocol import Compiler
from peephole.model.tables import GRAPH

if TYPE_CHECKING:
    from peephole.compilers.answers import Link, Origin
    from peephole.store.capture import Capture

NAME = "mlir"
_FAMILIES: Final[dict[Family, str]] = {
    Family.MEMORY: "argument alloc alloca dealloc global subspan import binding",
    Family.READ: "load extract extract_slice gather slice dynamic_slice transfer_read extractvalue extractelement",
    Family.WRITE: "store insert insert_slice scatter dynamic_update_slice transfer_write insertvalue insertelement",
    Family.LOOP: "for while if parallel forall execute_region index_switch case switch reduce_window",
    Family.CONSTANT: "constant iota splat poison undef zero",
    Family.MOVEMENT: (
        "reshape transpose broadcast broadcast_in_dim expand_shape collapse_shape cast bitcast concatenate pad reverse "
        "shuffle shape_cast subview getelementptr reinterpret_cast convert index_cast"
    ),
    Family.REDUCTION: "reduce multi_reduction reduction all_reduce reduce_scatter dot contract",
    Family.COPY: "copy fill memcpy all_gather collective_permute clone transfer",
    Family.ORDER: "return yield br cond_br terminator barrier wait await signal unreachable fence",
    Family.CALL: "call dispatch custom_call matmul generic conv dot_general launch_func call_indirect invoke",
}
_FAMILY: Final = {op: family for family, ops in _FAMILIES.items() for op in ops.split()}
_ARITHMETIC: Final = ("arith.", "math.", "stablehlo.", "mhlo.", "llvm.f", "llvm.intr.", "complex.", "index.", "tosa.")
_OPERANDS: Final = re.compile(r"%\s*(?:,\s*)?")
_TYPES: Final = re.compile(r" : [^{]*$")
_VALUE: Final = re.compile(r"^(?:\{value = |<\{value = )?(?:dense<)?([^<>{}\s:]+)>?")


class Mlir(Compiler):
    """What the names of operations tell."""

    track = "MLIR"

    def look(self, text: NodeText) -> Look:
        """Name and what it says, element type and shape, a colour by the operation's name."""
        kind = f"{text.dtype}[{text.shape[1:-1].rstrip(',')}]" if text.shape else text.dtype
        said = " ".join(_OPERANDS.sub("", _TYPES.sub("", text.arg)).split())
        short = text.op.rpartition(".")[2]
        family = _FAMILY.get(short) or (Family.ARITHMETIC if text.op.startswith(_ARITHMETIC) else Family.OTHER)
        fold = CONSTANT if _value(text) else 0
        return Look(
            cut(text.op),
            short_number(said) or cut(said),
            cut(kind, LONGEST + 10),
            family,
            fold,
            whole=(text.op, text.arg[:2000], kind),
        )

    def constants(self, texts: Sequence[NodeText], src: Sequence[Sequence[int]], root: int) -> list[str | None]:
        """Scalars stand in the labels of their users."""
        return [_value(text) if at != root else None for at, text in enumerate(texts)]

    def argument(self, text: NodeText, constants: tuple[str | None, ...]) -> str:
        """What an operation says, with the scalars that it reads."""
        if text.op == GRAPH:
            return self.look(text).arg
        known = ",".join(value for value in constants if value is not None)
        return cut(" ".join(part for part in (known, self.look(text).arg) if part))

    def origins(self, capture: Capture) -> list[Origin]:
        """See `origin`."""
        from peephole.compilers.mlir.origin import all_origins

        return all_origins(capture)

    def chain(self, capture: Capture, step: int, node: int) -> list[Link]:
        """See `origin`."""
        from peephole.compilers.mlir.origin import chain

        return chain(capture, step, node)

    def named(self, capture: Capture, name: str) -> list[tuple[int, int]]:
        """See `origin`."""
        from peephole.compilers.mlir.origin import named

        return named(capture, name)


def _value(text: NodeText) -> str | None:
    if text.op.rpartition(".")[2] != "constant" or text.shape not in ("", "()"):
        return None
    found = _VALUE.match(text.arg)
    return short_number(found[1]) or cut(found[1], 12) if found else None


compiler = Mlir(NAME)
