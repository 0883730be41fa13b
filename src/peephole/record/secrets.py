"""A command line as a capture may keep it: what looks like a secret is masked, or no argument is kept at all."""

from __future__ import annotations

import os
import re
from typing import Any, Final

MASK: Final = "***"
_KEY: Final = (
    r"pass(?:word|wd|phrase)|secret|token|credentials?|bearer|auth(?:orization)?|(?:api|access|private|secret)[-_]?key"
)
_OPTION: Final = re.compile(rf"-{{1,2}}(?:[\w.]+[-_.])*(?:{_KEY})", re.IGNORECASE)
"""An option whose value is the next word; its last word counts, so that `--token-count` is none."""
_SET: Final = re.compile(
    rf"((?:^|[^a-z])(?:{_KEY})['\"]?\s*[=:]\s*(?:(?:basic|bearer)\s+)?['\"]?)([^\s'\"]+)", re.IGNORECASE
)
"""A name and its value in one word: `--token=…`, `HF_TOKEN=…`, `Authorization: Bearer …`."""
_ADDRESS: Final = re.compile(r"(://[^/@:\s]*:)[^/@\s]+(?=@)")
"""The password in an address."""
_SHAPE: Final = re.compile(
    r"\b(?:hf_\w{20,}|gh[opsu]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|sk-[\w-]{16,}|xox[abps]-[\w-]{10,}"
    r"|AKIA[0-9A-Z]{16}|AIza[\w-]{30,}|eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*)"
)
"""What services give out and is known by its look."""
_OFF: Final = ("0", "no", "off", "false")


_NAME: Final = re.compile(rf"(?:.*[-_.])?(?:{_KEY})", re.IGNORECASE)
_LONG: Final = 16


def is_secret_name(name: str) -> bool:
    """Whether an argument of that name may be a secret."""
    return _NAME.fullmatch(name) is not None


def masked(name: str, value: Any) -> Any:
    """The value of an argument, or the mask; a token may also be a word of a text, which is short."""
    if not isinstance(value, str) or not value:
        return value
    if is_secret_name(name) and (not name.lower().endswith("token") or (len(value) >= _LONG and " " not in value)):
        return MASK
    return value


def kept(words: list[str]) -> list[str]:
    """The words with what looks like a secret masked; the program alone when PEEPHOLE_ARGS says so."""
    if os.environ.get("PEEPHOLE_ARGS", "").lower() in _OFF:
        return words[:1]
    found = []
    value = False
    for number, word in enumerate(words):
        if value and not word.startswith("--"):
            found.append(MASK)
            value = False
            continue
        value = number > 0 and _OPTION.fullmatch(word) is not None
        word = _SET.sub(rf"\g<1>{MASK}", word)
        word = _ADDRESS.sub(rf"\g<1>{MASK}", word)
        found.append(_SHAPE.sub(MASK, word))
    return found
