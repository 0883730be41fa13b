"""What a log says about breaks, recompilations, specialisations and failures, as decisions."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, Final

from peephole.model.tables import NONE
from peephole.sources.torch.rows import BREAK, FALLBACK, RECOMPILE, SPECIALIZATION

RESTART: Final = "restart"
"""Kind of decision: tracing was begun again for another reason than a break."""
_BREAK_AT: Final = re.compile(r"^Graph break in user code at (.+?):(\d+)\s*$", re.MULTILINE)
_FILE: Final = re.compile(r'^\s*File "(.+?)", line (\d+)', re.MULTILINE)
_TRACE: Final = re.compile(r"^(?:User code traceback:|Traceback \(most recent call last\))", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Decision:
    """A decision without its step; the line is the function's when the text has none."""

    kind: str
    reason: str
    file: str = ""
    line: int = NONE


def of_break(text: str) -> Decision:
    """A graph break: Dynamo's text, and the user's line."""
    end = _TRACE.search(text)
    place = _BREAK_AT.search(text) or _last_frame(text[end.start() :] if end else "")
    return Decision(BREAK, text, *_place(place))


def of_recompile(text: str, place: tuple[str, int]) -> list[Decision]:
    """A recompilation: a decision for each reason, which begins with the compile id that it missed."""
    reasons = [text]
    if text.lstrip().startswith("["):  # several come as JSON, one as it is
        try:
            found = json.loads(text)
            reasons = [str(reason) for reason in found] if isinstance(found, list) else reasons
        except (ValueError, RecursionError):
            pass
    return [Decision(RECOMPILE, reason, *place) for reason in reasons]


def of_specialization(facts: dict[str, Any], stack: list[list[Any]]) -> Decision:
    """A size that was taken as a constant."""
    symbol, value, why = (facts.get(key) for key in ("symbol", "value", "reason"))
    sources = facts.get("sources")
    names = [str(source) for source in sources] if isinstance(sources, list) else []
    text = f"{symbol}" + (f" ({', '.join(names)})" if names else "") + f" = {value}: {why}"
    return Decision(SPECIALIZATION, text, *((stack[0][0], stack[0][1]) if stack else ("", NONE)))


def of_metrics(facts: dict[str, Any], breaks: list[str]) -> list[Decision]:
    """What the metrics of a compilation tell: that it failed, was begun again, or ran without CUDA graphs."""
    found = []
    kind, reason = facts.get("fail_type"), facts.get("fail_reason")
    if kind or reason:
        file, line = facts.get("fail_user_frame_filename"), facts.get("fail_user_frame_lineno")
        place = (file, line) if isinstance(file, str) and isinstance(line, int) else ("", NONE)
        found.append(Decision(FALLBACK, f"{kind or 'Failure'}: {reason or ''}".strip(), *place))
    restarts = facts.get("restart_reasons")
    for text in sorted(map(str, restarts)) if isinstance(restarts, list) else []:
        if not any(text.strip() in one for one in breaks):
            found.append(Decision(RESTART, text.strip()))
    if isinstance(skipped := facts.get("cudagraph_skip_reason"), str) and skipped:
        found.append(Decision(FALLBACK, f"CUDA graphs were not used: {skipped}"))
    return found


def _place(match: re.Match[str] | None) -> tuple[str, int]:
    return (match[1], int(match[2][:9])) if match else ("", NONE)


def _last_frame(text: str) -> re.Match[str] | None:
    text = text.partition("\n\nTraceback (most recent")[0]
    return next(iter([*_FILE.finditer(text)][-1:]), None)
