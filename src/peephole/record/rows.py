"""How a row of any table becomes the payload of a journal record; made from the declaration of the tables."""

from __future__ import annotations

import json
import keyword
from array import array
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from peephole.model.journal import NULL_LENGTH, PREFIX, TABLE_KINDS, fixed_columns, record_format, tail_columns
from peephole.model.tables import TABLES, Table
from peephole.record.secrets import is_secret_name, masked

_NULL: Final = PREFIX.pack(NULL_LENGTH)
_MANY_KEYS: Final = 4096
_quote: Final = json.encoder.encode_basestring_ascii
_SHORT_BITS: Final = 2048
"""An int of so many bits has fewer digits than any limit that Python can be given."""

Encode = Callable[..., bytes | None]
"""encode(texts, intern, **columns): the payload, None when a text could not be written, TypeError for a wrong or
missing column."""


def _compile(table: Table) -> Encode:
    """A function with the table's columns as its parameters: half the time of a loop over the declaration."""
    parameters, texts, tails = [], [], []
    for column in table.columns:
        name = _parameter(column.name)
        optional = column.default is not None or column.type in ("str", "text", "bytes", "ids")
        parameters.append(f"{name}={column.default!r}" if optional else name)
        if column.type == "str":
            texts.append(f" if {name} is None: {name} = 0")
            texts.append(f" else: {name} = ({name}.__class__ is str and texts.get({name})) or intern({name})")
            texts.append(f" if {name} < 0: return None")
    for column in tail_columns(table):
        name = _parameter(column.name)
        tails.append(f" if {name} is None: payload += NULL")
        tails.append(f" else: {name} = {column.type}_bytes({name}); payload += prefix(len({name})) + {name}")
    values = ", ".join(_parameter(column.name) for column in fixed_columns(table))
    lines = [f"def encode(texts, intern, *, {', '.join(parameters)}):", *texts, f" payload = pack({values})", *tails]
    scope: dict[str, Any] = {
        "NULL": _NULL,
        "prefix": PREFIX.pack,
        "pack": record_format(table).pack,
        "text_bytes": text_bytes,
        "bytes_bytes": _content_bytes,
        "ids_bytes": _ids_bytes,
    }
    exec(compile("\n".join([*lines, " return payload"]), f"<rows of {table.name}>", "exec"), scope)
    encode: Encode = scope["encode"]
    return encode


def _parameter(name: str) -> str:
    return f"{name}_" if keyword.iskeyword(name) else name


def text_of(value: Any) -> str:
    """Any object's text; a program's class may fail to give one in any way, which must not stop the program."""
    if value.__class__ is str:
        return value
    try:
        return str.__str__(value) if isinstance(value, str) else str(value)
    except Exception as error:
        if isinstance(value, int):  # Python writes only so many digits
            return f"<int of {int.bit_length(value)} bits>"
        return f"<{type(value).__name__}: {type(error).__name__}>"


def text_bytes(text: Any) -> bytes:
    """Any object's text in UTF-8; lone surrogates are kept."""
    return text_of(text).encode("utf-8", "surrogatepass")


def json_text(value: Any) -> str:
    """JSON of any object: what JSON does not know becomes its text, NaN and infinities too."""
    try:
        return _encode(value)
    except Exception:  # a cycle, a key that is no text, a number too large to be written, a mapping of the program's
        return json.dumps(_plain(value, 0), separators=(",", ":"))


_first: Final[dict[str, str]] = {}
_more: Final[dict[str, str]] = {}
"""How an object's first member begins, and how further ones do, by their keys."""


def _learn(keys: Iterable[Any]) -> None:
    if len(_first) >= _MANY_KEYS:
        _first.clear()
        _more.clear()
    for key in keys:
        if key.__class__ is str and not is_secret_name(key):  # those take the long way
            _first[key] = f"{{{_quote(key)}:"
            _more[key] = f",{_quote(key)}:"


def args_bytes(args: dict[str, Any]) -> bytes:
    """JSON of a span's args in UTF-8. What nearly all are, a few plain values, takes half of the encoder's time."""
    text, begins = "", _first
    try:
        for key, value in args.items():
            kind = value.__class__
            if kind is int:
                text += f"{begins[key]}{value}"
            elif kind is str:
                text += f"{begins[key]}{_quote(value)}"
            elif kind is float and value - value == 0:
                text += f"{begins[key]}{value!r}"
            else:
                return text_bytes(args_text(args))
            begins = _more
    except KeyError:
        _learn(list(args))
        return text_bytes(args_text(args))
    except Exception:  # too many digits, or changed meanwhile by another thread
        return text_bytes(args_text(args))
    return f"{text or '{'}}}".encode()


def args_text(args: dict[str, Any]) -> str:
    """The same as a text: what looks like a secret is masked."""
    try:
        if any(map(is_secret_name, args)):
            args = {key: masked(key, value) for key, value in args.items()}
    except Exception:  # a key of the program's that is no text
        return json_text(args)
    return json_text(args)


def _plain(value: Any, depth: int) -> Any:
    if depth > 8:
        return text_of(value)
    try:
        if isinstance(value, Mapping):
            return {text_of(key): _plain(item, depth + 1) for key, item in list(value.items())}
        if isinstance(value, (list, tuple)):
            return [_plain(item, depth + 1) for item in value]
        if isinstance(value, float):
            return value if value - value == 0 else text_of(value)
        if isinstance(value, int):
            return value if int.bit_length(value) <= _SHORT_BITS else text_of(value)
    except Exception:
        return text_of(value)
    return None if value is None else text_of(value)


def _ids_bytes(ids: Iterable[int]) -> bytes:
    packed = array("q", ids)
    if _SWAP:
        packed.byteswap()
    return packed.tobytes()


def _content_bytes(content: Any) -> bytes:
    return text_bytes(content) if isinstance(content, str) else bytes(content)


def _make_encode() -> Callable[[Any], str]:
    make = getattr(json.encoder, "c_make_encoder", None)
    if make is None:
        return json.JSONEncoder(default=text_of, allow_nan=False, separators=(",", ":")).encode
    # JSONEncoder makes one of these for every text; it is most of what a small one costs
    chunks = make(None, text_of, json.encoder.encode_basestring_ascii, None, ":", ",", False, False, False)

    def encode(value: Any) -> str:
        return "".join(chunks(value, 0))

    return encode


_encode: Final = _make_encode()
_SWAP: Final = array("h", [1]).tobytes() != b"\x01\x00"
FORMATS: Final = {name: (TABLE_KINDS[name], _compile(table)) for name, table in TABLES.items()}
"""The kind and the encoder of every table's records."""
