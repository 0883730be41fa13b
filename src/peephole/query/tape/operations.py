"""Operations of a tape by family: what the colours of picture, page and terminal mean."""

from __future__ import annotations

from typing import Final

_BY_OP: Final = {
    "matmul": "MatMul",
    "dot": "MatMul",
    "tensordot": "MatMul",
    "randn": "UnaryOp",
    "relu": "ReLU",
    "maximum": "ReLU",
    "sum": "Sum",
    "mean": "Mean",
    "allgather": "AllGather",
    "all_gather": "AllGather",
}

FAMILIES: Final = (
    "MatMul", "BinaryOp", "UnaryOp", "ReLU", "Sum", "Mean", "GetData", "AllGather", "GatherShards", "FreeTensor",
    "CreateTensor", "ReshapeOp", "SliceOp", "ConcatOp", "GetStats", "RegisterWorker",
)  # fmt: skip
"""In the order of a legend; any other operation is a family of its own."""

_BY_COMMAND: Final = {"GetWorkerStats": "GetStats", **{name: name for name in FAMILIES}}


def family(op: str, command: str) -> str:
    """The family of an operation: by its own name, else by the command that carries it."""
    known = _BY_OP.get(op)
    if known is not None:
        return known
    base = command[6:] if command.startswith("Worker") and len(command) > 6 else command
    for name in (base, op):
        if name in _BY_COMMAND:
            return _BY_COMMAND[name]
    return op or base or "other"


REDUCING: Final = frozenset(("sum", "mean", "max", "min", "prod"))
SIGNAL_COMMANDS: Final = frozenset(("CompileStart", "CompileEnd", "Signal"))
