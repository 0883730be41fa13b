"""How HLO instructions look in a graph: opcode and what is particular about it, shape with layout, colour, folds."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from peephole.compilers.labels import CONSTANT, LONGEST, Family, Look, NodeText, cut, short_number

_FAMILIES: Final[dict[Family, str]] = {
    Family.MEMORY: "parameter infeed outfeed recv recv-done send send-done rng-get-and-update-state",
    Family.ARITHMETIC: (
        "abs add and atan2 cbrt ceil clamp clz compare complex convert cosine divide dot convolution erf exponential "
        "exponential-minus-one floor imag is-finite log log-plus-one logistic map maximum minimum multiply negate not "
        "or popcnt power real remainder round-nearest-afz round-nearest-even rsqrt select shift-left "
        "shift-right-arithmetic shift-right-logical sign sine sqrt stochastic-convert subtract tan tanh xor fft "
        "cholesky triangular-solve rng rng-bit-generator topk ragged-dot scaled-dot"
    ),
    Family.READ: "dynamic-slice gather get-tuple-element get-dimension-size slice",
    Family.WRITE: "dynamic-update-slice scatter select-and-scatter set-dimension-size",
    Family.LOOP: "while conditional",
    Family.CONSTANT: "constant iota partition-id replica-id",
    Family.MOVEMENT: (
        "bitcast bitcast-convert broadcast concatenate dynamic-reshape pad reshape reverse transpose "
        "reduce-precision sort"
    ),
    Family.REDUCTION: (
        "reduce reduce-window batch-norm-grad batch-norm-inference batch-norm-training all-reduce all-reduce-start "
        "all-reduce-done reduce-scatter scan"
    ),
    Family.COPY: (
        "copy copy-start copy-done all-gather all-gather-start all-gather-done all-to-all ragged-all-to-all "
        "collective-permute collective-permute-start collective-permute-done collective-broadcast"
    ),
    Family.ORDER: "after-all add-dependency opt-barrier optimization-barrier tuple domain",
    Family.CALL: "fusion call custom-call async-start async-update async-done",
}
_FAMILY: Final = {op: family for family, ops in _FAMILIES.items() for op in ops.split()}
_CALLED: Final = re.compile(
    r"(?:^|, )(?:calls|to_apply|body|condition|branch_computations|called_computations|true_computation|"
    r"false_computation|select|scatter)=(?:\{[^{}]*\}|%?[^\s,]+(?:, %[^\s,]+)*)"
)
_CONFIG: Final = re.compile(r"(?:^|, )backend_config=.*$", re.DOTALL)
_SHORT: Final = (
    (re.compile(r"\bdimensions="), "dims="),
    (re.compile(r"\b(lhs|rhs)_contracting_dims="), r"\1="),
    (re.compile(r"\b(lhs|rhs)_batch_dims="), r"\1 batch="),
    (re.compile(r"\bdirection="), ""),
    (re.compile(r"\bcustom_call_target="), ""),
    (re.compile(r"(?:^|, )operand_precision=\{[^}]*\}"), ""),
)
_SCALAR: Final = re.compile(r"\[\]")


def look(text: NodeText) -> Look:
    """How an instruction looks by itself."""
    kind = text.dtype + text.shape
    fold = CONSTANT if _is_value(text) else 0
    return Look(
        cut(text.op),
        argument(text),
        cut(kind, LONGEST + 10),
        _FAMILY.get(text.op, Family.OTHER),
        fold,
        whole=(text.op, " ".join(text.arg.split()), kind),
    )


def argument(text: NodeText, constants: tuple[str | None, ...] = ()) -> str:
    """What is particular about an instruction, without the computations that are drawn in it."""
    if text.op in ("constant", "parameter"):
        return short_number(text.arg) or cut(text.arg)
    said = _CONFIG.sub("", _CALLED.sub("", text.arg)).lstrip(", ")
    for pattern, short in _SHORT:
        said = pattern.sub(short, said)
    said = " ".join(said.replace("dims={}", "").split()).strip(", ")
    known = [value for value in constants if value is not None]
    return cut(" ".join(part for part in (",".join(known), said) if part))


def constants(texts: Sequence[NodeText], src: Sequence[Sequence[int]], root: int) -> list[str | None]:
    """The values of scalars, and of what only spreads them over a shape: they stand in the labels of their users."""
    values: list[str | None] = [None] * len(texts)
    for v, text in enumerate(texts):
        if _is_value(text):
            values[v] = short_number(text.arg) or cut(text.arg, 12)
        elif text.op == "broadcast" and len(src[v]) == 1:
            values[v] = values[src[v][0]]
    if 0 <= root < len(values):
        values[root] = None
    return values


def _is_value(text: NodeText) -> bool:
    return text.op == "constant" and (_SCALAR.match(text.shape) is not None)
