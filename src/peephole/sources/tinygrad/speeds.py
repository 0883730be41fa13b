"""How fast a kernel was: tinygrad's estimates of what it does, per second. Standard library only."""

from __future__ import annotations

from typing import Any, Final

from peephole.sources.tinygrad.symbolic import Amount, amount_of, evaluate
from peephole.sources.tinygrad.text import NOT_UNDERSTOOD, Texts, fields_of

_ESTIMATES: Final = (("flops", "ops"), ("bytes_per_s", "mem"), ("lds_bytes_per_s", "lds"))


def rates(estimates: Any, dur: int, variables: Any, texts: Texts) -> dict[str, Any]:
    """The args of a run that took that long, with these symbolic values."""
    if estimates is None or not dur:
        return {}
    args: dict[str, Any] = {}
    own = fields_of(estimates)
    for name, field in _ESTIMATES:
        amount = evaluate(own.get(field), variables if isinstance(variables, dict) else {}, texts)
        if amount is not None:
            args[name] = int(amount * 1e9 / dur)
    return args


def amounts(estimates: Any, texts: Texts) -> dict[str, Amount] | None:
    """What these args are rates of, for whoever knows lengths and values later; None when it cannot be told."""
    own = {} if estimates is None else fields_of(estimates)
    try:
        found = {name: amount_of(own.get(field), texts) for name, field in _ESTIMATES}
    except NOT_UNDERSTOOD:
        return None
    return {name: amount for name, amount in found.items() if amount is not None}
