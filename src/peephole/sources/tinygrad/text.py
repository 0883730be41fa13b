"""One text for one thing, whether it is a live object of tinygrad or the stand-in that a pickle left. Standard library.

A text is what a reader of a graph wants to see and what tells two different arguments apart: fields that have the
value that the class gives them by default are left out, colours are taken off names, bytes are only counted. It is
bounded, since a hostile pickle can make a small object with an endless text.
"""

from __future__ import annotations

import enum
import json
import re
import zlib
from collections.abc import Callable, Mapping
from typing import Any, Final

from peephole.sources.tinygrad.enums import ENUMS, REFERENCE, members

_MOST_PARTS: Final = 4000
_DEEPEST: Final = 40
_ANSI: Final = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_DTYPES: Final = {
    "signed char": "char",
    "unsigned char": "uchar",
    "unsigned short": "ushort",
    "unsigned int": "uint",
    "unsigned long": "ulong",
    "float8_e4m3": "fp8e4m3",
    "float8_e5m2": "fp8e5m2",
    "float8_e4m3fnuz": "fp8e4m3fnuz",
    "float8_e5m2fnuz": "fp8e5m2fnuz",
    "__bf16": "bfloat16",
}
"""The C name that a dtype is pickled with to the name that tinygrad prints, where they differ."""

_FIELDS: Final[Mapping[str, tuple[str, ...]]] = {
    "CallInfo": ("grad_fxn", "name", "precompile", "precompile_backward", "aux"),
    "CallInfo5": ("grad_fxn", "metadata", "name", "precompile", "precompile_backward"),
    "UOp": ("op", "dtype", "src", "arg", "tag"),
}
"""Fields of the classes that are pickled as the arguments of their construction."""

_DEFAULTS: Final[Mapping[str, Mapping[str, Any]]] = {
    "KernelInfo": {"axis_types": (), "dont_use_locals": False, "applied_opts": (), "beam": 0},
    "ParamArg": {"addrspace": "AddrSpace.GLOBAL", "volatile": False},
    "CallInfo": {"precompile": False, "precompile_backward": False, "metadata": ()},
    "ProgramInfo": {"vars": (), "globals": (), "outs": (), "ins": (), "aux": ()},
    "BufferizeOpts": {"addrspace": "AddrSpace.GLOBAL", "removable": True},
    "Target": {"renderer": "", "arch": "", "interface": "", "indices": ""},
    "Metadata": {"caller": "", "backward": False},
    "Kernel": {"metadata": ()},
}
"""What a field has when nobody set it; None is left out of every class. Enum members are compared by their text."""
_NEVER: Final = frozenset(("grad_fxn", "fxn"))
"""Functions of the running program, which tinygrad does not pickle."""
NOT_UNDERSTOOD: Final = (
    ValueError, TypeError, KeyError, AttributeError, IndexError, ArithmeticError, RecursionError
)  # fmt: skip
"""What reading an object that is not as tinygrad makes it leads to."""

_INFIX: Final = {
    "ADD": "+", "MUL": "*", "SUB": "-", "IDIV": "//", "CDIV": "//", "FLOORDIV": "//", "MOD": "%", "CMOD": "%",
    "FLOORMOD": "%", "CMPLT": "<", "CMPNE": "!=", "CMPEQ": "==", "AND": "&", "OR": "|", "XOR": "^", "SHL": "<<",
    "SHR": ">>",
}  # fmt: skip


def plain(text: str) -> str:
    """A text without terminal colours."""
    return _ANSI.sub("", text) if "\x1b" in text else text


def label(value: Any) -> str:
    """The text of what should be one, without colours; of anything else, whose text may be endless, its class."""
    if isinstance(value, str):
        return plain(value)
    short = value is None or type(value) in (bool, float) or (type(value) is int and value.bit_length() < 64)
    return str(value) if short else type(value).__name__


def fields_of(value: Any) -> Mapping[str, Any]:
    """The fields of an object of tinygrad by name, live or stand-in."""
    if isinstance(value, type):
        return {}  # a class stands where one of its objects belongs
    own = getattr(value, "__dict__", None)
    if own:
        return own  # type: ignore[no-any-return]
    args = getattr(value, "args", None)
    if type(args) is tuple:
        name = type(value).__name__
        names = _FIELDS.get(name, ())
        if name == "CallInfo" and len(args) > 1 and type(args[1]) is tuple:
            names = _FIELDS["CallInfo5"]
        return dict(zip(names, args, strict=False))
    slots = getattr(type(value), "__slots__", ())
    return {name: getattr(value, name, None) for name in slots} if isinstance(slots, tuple) else {}


def arguments(value: Any) -> tuple[Any, ...]:
    """What a stand-in was constructed of; nothing for anything else, be it the class of one."""
    args = getattr(value, "args", ())
    return args if type(args) is tuple else ()


class Texts:
    """Makes texts; knows the release, by which enum members got their numbers.

    `most` bounds the parts of all texts together: in a few bytes a file can name one large object a million times.
    """

    def __init__(self, release: str = REFERENCE, most: int = 1 << 62) -> None:
        self.release = release
        self._budget = most
        self._enums = members(release)
        self._left = 0
        self._depth = 0
        self._dtypes: dict[int, tuple[Any, str]] = {}

    def op(self, value: Any) -> str:
        """The bare name of an op: `ADD`."""
        return self.member(value)

    def member(self, value: Any) -> str:
        """The bare name of an enum member."""
        if isinstance(value, enum.Enum):
            return value.name
        args = arguments(value)
        number = args[0] if args else value
        name = self._enums.get(type(value).__name__, {}).get(number) if type(number) is int else None
        return name or label(number)[:40]

    def dtype(self, value: Any) -> str:
        """A dtype as tinygrad prints it: `dtypes.float.vec(4)`."""
        cached = self._dtypes.get(id(value))
        if cached is not None and cached[0] is value:
            return cached[1]
        text = self._dtype(value)
        if len(self._dtypes) < 10_000:
            self._dtypes[id(value)] = (value, text)
        return text

    def arg(self, value: Any) -> str | None:
        """The text of a node's argument or tag; null for None. A text of several lines is taken as it is."""
        if value is None:
            return None
        if type(value) is str and "\n" in value:
            return plain(value)
        return self.any(value)

    def any(self, value: Any) -> str:
        """The text of anything, bounded."""
        most = self._left = min(_MOST_PARTS, self._budget)
        self._depth = 0
        try:
            return self._any(value)
        finally:
            self._budget -= most - max(self._left, 0)

    def _any(self, value: Any) -> str:
        self._left -= 1
        if self._left < 0 or self._depth > _DEEPEST:
            return "…"
        make = _SIMPLE.get(type(value))
        if make is not None:
            return make(value)
        self._depth += 1
        try:
            return self._compound(value)
        finally:
            self._depth -= 1

    def _compound(self, value: Any) -> str:
        if isinstance(value, (tuple, list)):
            inner = self._join(value)
            if isinstance(value, list):
                return f"[{inner}]"
            return f"({inner},)" if len(value) == 1 else f"({inner})"
        if isinstance(value, dict):
            return "{" + ", ".join(f"{self._any(k)}: {self._any(v)}" for k, v in self._some(value.items())) + "}"
        if isinstance(value, enum.Enum):
            return f"{type(value).__name__}.{value.name}"
        if isinstance(value, float):
            return float.__repr__(value)
        if isinstance(value, int):
            return _SIMPLE[int](int(value))
        if isinstance(value, type):
            return value.__name__
        name = type(value).__name__
        if name in ENUMS:
            return f"{name}.{self.member(value)}"
        if name in ("DType", "PtrDType", "ImageDType"):
            return self.dtype(value)
        if name == "InvalidType":
            return "Invalid"
        if name == "UOp":
            return self._uop(value)
        if name == "ConstFloat":
            return self._any(arguments(value)[0]) if arguments(value) else name
        fields = fields_of(value)
        if not fields:
            args = getattr(value, "args", None)
            if type(args) is tuple and args:
                return f"{name}({self._join(args)})"
            return f"{getattr(value, '__name__', name)}"
        return f"{name}({', '.join(self._fields(name, fields))})"

    def _fields(self, name: str, fields: Mapping[str, Any]) -> list[str]:
        defaults = _DEFAULTS.get(name, {})
        parts = []
        for field, value in self._some(fields.items()):
            if value is None or field in _NEVER or field.startswith("_"):
                continue
            text = self._any(value)
            default = defaults.get(field)
            if default is not None and text == (default if default and type(default) is str else repr(default)):
                continue
            parts.append(f"{field}={text}")
        return parts

    def _some(self, items: Any) -> Any:
        for item in items:
            if self._left < 0:
                return
            yield item

    def _join(self, values: Any) -> str:
        parts = [self._any(value) for value in self._some(values)]
        if len(parts) < len(values):
            parts.append("…")
        return ", ".join(parts)

    def _uop(self, value: Any) -> str:
        """A symbolic expression: `(i*4)+j` where it is one, else op and sources."""
        op, dtype, src, arg = uop_fields(value)
        name = self.op(op)
        if name == "CONST":
            return self._any(arg)
        if name in ("PARAM", "DEFINE_VAR") and (label := variable_name(arg)):
            return label
        if name in _INFIX and len(src) == 2:
            return f"({self._any(src[0])}{_INFIX[name]}{self._any(src[1])})"
        if name == "CAST" and len(src) == 1:
            return self._any(src[0])
        parts = [self.dtype(dtype)] + [self._any(item) for item in self._some(src)]
        if arg is not None:
            parts.append(f"arg={self._any(arg)}")
        return f"{name}({', '.join(parts)})"

    def _dtype(self, value: Any) -> str:
        args = getattr(value, "args", None)
        if type(args) is not tuple:
            return label(value) if type(value).__module__ == "builtins" else repr(value)
        if len(args) < 4 or type(args[2]) is not str:
            return self._any_args(value, args)
        kind = type(value).__name__
        # (priority, size, name, fmt[, count, scalar]) and for a pointer (…, base, addrspace, v, size)
        count = args[4] if len(args) > 4 and type(args[4]) is int else 1
        if kind in ("PtrDType", "ImageDType") and len(args) > 8 and self._depth < _DEEPEST:
            self._depth += 1
            base = self.dtype(args[6])
            self._depth -= 1
            lanes = "" if type(args[8]) is int and args[8] == 1 else f".vec({self._short(args[8])})"
            if kind == "ImageDType" and len(args) > 10:
                return f"dtypes.{args[2]}({self._short(args[10])})" + lanes
            size = self._short(args[9]) if len(args) > 9 else -1
            space = self.member(args[7])
            inside = f"{size}" if space == "GLOBAL" else f"{size}, AddrSpace.{space}"
            return f"{base}.ptr({inside})" + lanes
        scalar = arguments(args[5]) if len(args) > 5 else ()
        name = scalar[2] if len(scalar) > 2 else args[2]
        text = f"dtypes.{_DTYPES.get(name, name)}" if type(name) is str else "dtypes.?"
        return text + (f".vec({count})" if count != 1 else "")

    def _short(self, value: Any) -> str:
        """The text of a number or a few of them."""
        left, self._left = self._left, 20
        try:
            return self._any(value)
        finally:
            self._left = left

    def _any_args(self, value: Any, args: tuple[Any, ...]) -> str:
        return f"{type(value).__name__}({', '.join(repr(a)[:40] if type(a) in _SIMPLE else '…' for a in args[:12])})"


def uop_fields(value: Any) -> tuple[Any, Any, tuple[Any, ...], Any]:
    """Op, dtype, sources and argument of a node."""
    args = getattr(value, "args", None)
    if type(args) is tuple and len(args) >= 4 and not hasattr(value, "src"):
        return args[0], args[1], args[2] if type(args[2]) is tuple else (), args[3]
    return value.op, value.dtype, value.src, value.arg


def variable_name(arg: Any) -> str:
    """The name of a symbolic variable, or nothing."""
    if type(arg) is tuple and arg and type(arg[0]) is str:
        return plain(arg[0])
    name = fields_of(arg).get("name") if arg is not None and not isinstance(arg, (tuple, int, str)) else None
    return plain(name) if type(name) is str else ""


_SIMPLE: Final[dict[type, Callable[[Any], str]]] = {
    type(None): lambda _: "None",
    bool: repr,
    int: lambda value: repr(value) if value.bit_length() < 10_000 else "…",
    float: repr,
    str: lambda value: repr(plain(value)),
    bytes: lambda value: f"<{len(value)} bytes {zlib.crc32(value):08x}>",
    bytearray: lambda value: f"<{len(value)} bytes {zlib.crc32(value):08x}>",
}


def said(text: str) -> dict[str, Any]:
    """What tinygrad tells about a range, as the arguments of a slice: JSON, or any text."""
    if text.startswith("JSON"):
        try:
            value = json.loads(text[4:])
        except ValueError:
            return {"metadata": text[:2000]}
        return {str(k): v for k, v in value.items()} if isinstance(value, dict) else {"metadata": value}
    return {"metadata": text[:2000]}
