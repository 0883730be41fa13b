"""Inductor's reasons for not fusing, in words of somebody who does not know Inductor."""

from __future__ import annotations

import re
from typing import Final

_WORDS: Final[tuple[tuple[str, str], ...]] = (
    (
        r"intermediate nodes between",
        "something else must run after the first and before the second, so one kernel cannot do both",
    ),
    (
        r"no shared data due to indexing mismatch",
        "they use the same buffer but go through it in different orders, so one loop would not read it once for both",
    ),
    (r"no shared data", "they read and write nothing in common, so one kernel would save no memory traffic"),
    (
        r"memory deps did not match",
        "the second does not read what the first writes element by element, so it has to wait for all of it",
    ),
    (r"device mismatch \((.*?) vs (.*?)\)", r"they run on different devices: \1 and \2"),
    (r"node1 is extern|node2 is extern", "one of them is a library's kernel, which Inductor calls and does not write"),
    (r"node[12] is nop|is nop", "one of them computes nothing"),
    (r"must go before", "the order of the program puts the second before the first"),
    (r"grouped node", "one of them belongs to a group that the compiler keeps by itself"),
    (r"explicit(?:ly)? disabled", "fusion was switched off for a buffer between them"),
    (r"different buf(?:fer)? layouts", "they want the shared buffer laid out differently in memory"),
    (
        r"numel/rnumel mismatch \((\w[\w -]*)\) \((.*?)\), \((.*?)\)",
        r"they loop over different sizes (\2 against \3), so one loop does not fit both",
    ),
    (r"numel/rnumel mismatch", "they loop over different sizes, so one loop does not fit both"),
    (r"tiling mismatch", "they cut their loops into tiles differently"),
    (r"[Ss]plit scan", "a scan that is split over blocks cannot go with a reduction"),
    (
        r"prologue|epilogue",
        "what would go before or after a matrix multiplication's template is not of a kind it takes",
    ),
    (r"foreach", "one of them works on a list of tensors, and the lists do not go together"),
    (r"register spilling", "the fused kernel would need more registers than there are"),
    (r"slowdown", "it was measured, and the fused kernel was slower"),
    (r"cutlass", "the matrix multiplication of CUTLASS does not take it"),
)
_COMPILED: Final = [(re.compile(pattern), words) for pattern, words in _WORDS]


def in_words(reason: str) -> str:
    """A reason in plain words; empty for one that is not known, or none."""
    for pattern, words in _COMPILED:
        found = pattern.search(reason)
        if found:
            return found.expand(words)
    return ""
