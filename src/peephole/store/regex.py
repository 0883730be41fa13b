"""Regular expressions over many texts in a time that grows with their length alone, whatever the expression."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from peephole.errors import AskedError


def matching(texts: Sequence[str], pattern: str) -> NDArray[np.bool_]:
    """Which texts have the pattern in them, in any case; AskedError when it is not one.

    It is RE2's syntax: no look-around, no references back. A link from a stranger may hold a pattern, so that it must
    not be able to keep the server busy for ever, as one of Python's own could.
    """
    import pyarrow.compute as pc  # large, and only needed here

    clean = [text.encode("utf-8", "replace").decode() for text in texts]
    try:
        found = pc.match_substring_regex(pa.array(clean, pa.string()), pattern, ignore_case=True)
    except pa.ArrowInvalid as error:
        why = str(error).partition("regular expression: ")[2].partition(":")[0].strip()
        raise AskedError(f"/{pattern[:80]}/ is not a regular expression ({why or 'RE2 cannot read it'}).") from None
    result: NDArray[np.bool_] = found.to_numpy(zero_copy_only=False).astype(bool)
    return result
