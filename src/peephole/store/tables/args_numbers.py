"""Numbers out of the args of slices, a column at a time: no text is made for what is only summed up."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from peephole.model.json_text import json_object
from peephole.store.tables import arrow

Floats = NDArray[np.float64]


def numbers_in(args: pa.ChunkedArray, keys: Sequence[str]) -> dict[str, Floats]:
    """The numbers that the JSON objects have under these keys, NaN where there is none."""
    found = {key: np.full(len(args), np.nan) for key in keys}
    if args.null_count == len(args):
        return found
    text = args.combine_chunks() if isinstance(args, pa.ChunkedArray) else args
    if pa.types.is_dictionary(text.type):
        text = arrow.as_type(text, pa.string())
    # one object without others in it, and without a word that hides something
    simple = (arrow.count_text(text, "{") == 1) & ~arrow.with_text(text, "\\")
    for key in keys:
        if not arrow.with_text(text, f'"{key}"').any():
            continue
        form = rf'[{{,]\s*"{key}"\s*:\s*(?P<n>-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)\s*[,}}]'
        values = arrow.numbers_of(text, form)
        found[key] = np.where(simple & np.isfinite(values), values, np.nan)
    for row in np.flatnonzero(~simple & arrow.valid(text)).tolist():
        facts = json_object(text[row].as_py()) or {}
        for key in keys:
            value = facts.get(key)
            if (type(value) is float and math.isfinite(value)) or (type(value) is int and abs(value) < 1e308):
                found[key][row] = value
    return found
