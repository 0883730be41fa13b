"""What an FX node is, as texts: target, arguments, element type, shape, where it comes from. Standard library only."""

from __future__ import annotations

import re
import sys
from typing import Any, Final

from peephole.sources.torch.rows import arg_text, dtype_text, metadata_text, method_name, op_name, shape_text

LONGEST: Final = 20_000
"""Characters of an argument text; constants may be as long as their tensors."""
_FRAME: Final = re.compile(r'File "([^"]+)", line (\d+)')
_KEY: Final = re.compile(r"\['([^']*)'\]")
_SCOPE: Final = re.compile(r"^[LG]\['[^']*'\]\.?")


class Origins:
    """Texts of where nodes come from, made once for each stack."""

    def __init__(self, home: str) -> None:
        self.home = home
        """The folder of torch: files in it are not lines of the program."""
        self._lines: dict[str, tuple[str | None, int]] = {}

    def line(self, stack: str) -> tuple[str | None, int]:
        """File and line of the program's innermost frame in a stack as text."""
        found = self._lines.get(stack)
        if found is None:
            frames = _FRAME.findall(stack)
            own = [frame for frame in frames if not frame[0].startswith(self.home)] or frames
            found = (own[-1][0], int(own[-1][1])) if own else (None, -1)
            self._lines[stack] = found
        return found

    def metadata(self, meta: dict[str, Any]) -> str | None:
        """The text of a node's `metadata`."""
        stack = meta.get("stack_trace")
        file, line = self.line(stack) if isinstance(stack, str) else (None, -1)
        operation = _operation(meta)
        if operation and meta.get("partitioner_tag") == "is_backward":
            operation += " bw"
        module = _module(meta.get("nn_module_stack")) or _module(meta.get("fwd_nn_module_stack"))
        return metadata_text(operation, file, line, module)


def _operation(meta: dict[str, Any]) -> str | None:
    """The function of the program that a node computes: `linear`."""
    for key in ("source_fn_stack", "fwd_source_fn_stack"):
        stack = meta.get(key)
        if stack:
            target = stack[-1][1]
            if type(target).__module__ == "torch._ops":
                return _plain_name(target)  # its own name is that of the overload, "default"
            name = target if isinstance(target, str) else getattr(target, "__name__", None)
            if isinstance(name, str):
                return name.rpartition(".")[2]
    aten = meta.get("original_aten")
    return _plain_name(aten) if aten is not None else None


def _plain_name(operator: Any) -> str:
    """`addmm` of `aten.addmm.default`."""
    return str(operator).split(".")[1] if str(operator).count(".") > 1 else str(operator)


def _module(stack: Any) -> str | None:
    """The path of the module that a node belongs to: `layers.0.qkv`."""
    if not isinstance(stack, dict) or not stack:
        return None
    last = next(reversed(stack.values()))
    path = last[0] if isinstance(last, tuple) and last and isinstance(last[0], str) else ""
    path = _SCOPE.sub("", path).replace("._modules", "").replace("_modules", "")
    path = _KEY.sub(r".\1", path).replace("..", ".").strip(".")
    return path or None


def op_text(op: str, target: Any) -> str:
    """The op of a node by FX's kind and target."""
    if op == "call_function":
        return _function(target)
    if op == "call_method":
        return method_name(str(target))
    return op if op in ("placeholder", "output", "get_attr") else f"{op} {target}"


def _function(target: Any) -> str:
    fx = sys.modules.get("torch.fx.node")
    if type(target).__module__ == "torch._ops" or fx is None:
        return op_name(str(target))
    inner = target
    for _ in range(8):
        inner = getattr(inner, "func", None) or inner
    try:
        return op_name(fx._get_qualified_name(inner))
    except Exception:  # it knows functions of torch and of modules; a pass may make one of its own
        name = getattr(inner, "__qualname__", None) or type(inner).__name__
        module = getattr(inner, "__module__", None)
        return f"{module}.{name}" if module else str(name)


class Arguments:
    """The arguments of one node as text, with its sources in order."""

    def __init__(self, node_type: type) -> None:
        self._node = node_type
        self.sources: list[Any] = []

    def text(self, args: tuple[Any, ...], keywords: dict[str, Any]) -> str | None:
        """What `nodes.arg` says; fills `sources`."""
        self.sources = []
        positional = [self._one(value) for value in args]
        named = [(name, self._one(value)) for name, value in keywords.items()]
        text = arg_text(positional, named)
        return text if text is None or len(text) <= LONGEST else f"{text[:LONGEST]}…"

    def _one(self, value: Any) -> str:
        if isinstance(value, self._node):
            self.sources.append(value)
            return f"%{len(self.sources) - 1}"
        if isinstance(value, tuple):
            return f"({', '.join(map(self._one, value))}{',' if len(value) == 1 else ''})"
        if isinstance(value, list):
            return f"[{', '.join(map(self._one, value))}]"
        if isinstance(value, dict):
            return f"{{{', '.join(f'{key!r}: {self._one(one)}' for key, one in value.items())}}}"
        if isinstance(value, slice):
            return f"slice({', '.join(map(self._one, (value.start, value.stop, value.step)))})"
        if isinstance(value, (int, float, str, bool)) or value is None:
            return repr(value)
        if callable(value) and not hasattr(value, "shape"):
            name = getattr(value, "__qualname__", None) or getattr(value, "__name__", None)
            if isinstance(name, str):
                return _function(value)
        return plain_repr(value)


def plain_repr(value: Any) -> str:
    """An object's text without the address that Python puts into some."""
    return re.sub(r" at 0x[0-9a-f]+", "", repr(value) if not hasattr(value, "node") else str(value))


def type_of(value: Any, dtypes: dict[Any, str]) -> tuple[str | None, str | None]:
    """Element type and shape of a node's value; None where it has none or is several."""
    dtype = getattr(value, "dtype", None)
    if dtype is None:
        return None, None
    name = dtypes.get(dtype)
    if name is None:
        name = dtypes[dtype] = dtype_text(str(dtype))
    shape = getattr(value, "shape", None)
    return name, None if shape is None else shape_text(tuple(shape))
