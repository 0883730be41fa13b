"""Operators of an execution trace, as the protocol of compilers asks about them."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from peephole.compilers.labels import Family, Look, NodeText, cut
from peephole.compilers.protocol import Compiler
from peephole.compilers.torch.labels import look

NAME = "chakra"
_COLLECTIVE: Final = ("nccl", "gloo", "c10d", "record_param_comms", "COMM_")
_ELEMENTS: Final = {"float": "f32", "double": "f64", "c10::Half": "f16", "c10::BFloat16": "bf16", "long int": "i64",
                    "long": "i64", "int": "i32", "bool": "b8", "unsigned char": "u8", "signed char": "i8",
                    "short": "i16", "short int": "i16"}  # fmt: skip


class Chakra(Compiler):
    """What is known about operators that ran."""

    track = "operators"

    def look(self, text: NodeText) -> Look:
        """As the same operator looks in a graph of torch.compile."""
        namespace, _, own = text.op.rpartition("::")
        if text.op.startswith(_COLLECTIVE) or "COMM_COLL" in text.arg:
            family = Family.COPY
        elif "Backward" in own or namespace.startswith("autograd"):
            family = Family.CALL
        else:
            family = Family.OTHER
        short = own if namespace in ("aten", "prims") else text.op
        found = look(NodeText(f"aten.{own}.default" if namespace == "aten" else text.op, *self._typed(text)))
        if text.op == "tensor":
            found = replace(found, family=Family.MEMORY)
        elif found.family == Family.OTHER or family == Family.COPY:
            found = replace(found, family=family)
        return replace(found, name=cut(short), whole=(text.op, found.whole[1], found.whole[2]))

    def type_name(self, dtype: str) -> str:
        """`f32` for C's `float`."""
        return _ELEMENTS.get(dtype, dtype)

    def _typed(self, text: NodeText) -> tuple[str, str, str]:
        return self.type_name(text.dtype), text.arg, text.shape


compiler = Chakra(NAME)
