"""Graphs as torch prints them (Python source of a module) back into instructions: names, targets, arguments, types."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from peephole.sources.torch.rows import (
    GET_ATTR,
    OUTPUT,
    PLACEHOLDER,
    arg_text,
    metadata_text,
    method_name,
    op_name,
    shape_text,
)

_CLASS: Final = re.compile(r"^(\s*)class (\S+?)\(torch\.nn\.Module\):\s*$")
_DEF: Final = re.compile(r"^\s*def forward\(")
_ORIGIN: Final = re.compile(r"^# File: (.+?):(\d+) in (.*?), code: ?(.*)$")
_ASSIGN: Final = re.compile(r'^([A-Za-z_]\w*)(?:\s*:\s*"([^"]*)"|\s*:\s*([^=]+?))?\s*=\s(?!=)(.*)$', re.DOTALL)
_INPUT: Final = re.compile(r'^([A-Za-z_]\w*)\s*:\s*"([^"]*)"\s*(?:#.*)?$')
_FLATTEN: Final = re.compile(r"^([\w, ]+?),? = fx_pytree\.tree_flatten_spec\(")
_LET_GO: Final = re.compile(r";\s+(?:[A-Za-z_]\w*\s*=\s*)+None\s*$")
_INPLACE: Final = re.compile(r"^([A-Za-z_]\w*)\s*(\+|&|//|<<|%|\*\*|\*|@|\||>>|-|/|\^)=\s(.*?);\s\s?(.*)$")
_SET_ITEM: Final = re.compile(r"^([A-Za-z_]\w*)\[(.*?)\]\s=\s(.*?);\s\s?(.*)$")
_UNFLATTEN: Final = re.compile(r"^pytree\.tree_unflatten\((.*), self\._out_spec\)$", re.DOTALL)
_TOKEN: Final = re.compile(
    r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*|\d[\w.]*(?:[eE][+-]?\d+)?|\s+|."""
)
_NAME: Final = re.compile(r"^[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*$")
_COMMENT: Final = re.compile(r"\s*# .*$")
_OPEN, _SHUT = "([{", ")]}"

_BINARY: Final = {
    **{"==": "eq", "!=": "ne", "<": "lt", ">": "gt", "<=": "le", ">=": "ge", "+": "add", "-": "sub", "*": "mul"},
    **{"//": "floordiv", "/": "truediv", "%": "mod", "**": "pow", "<<": "lshift", ">>": "rshift", "&": "and_"},
    **{"|": "or_", "^": "xor", "@": "matmul"},
}
_UNARY: Final = {"-": "neg", "+": "pos", "~": "invert"}
_DTYPES: Final = {
    **{f"u{bits}": f"uint{bits}" for bits in (8, 16, 32, 64)},
    **{f"i{bits}": f"int{bits}" for bits in (8, 16, 32, 64)},
    **{f"f{bits}": f"float{bits}" for bits in (16, 32, 64)},
    **{f"c{bits}": f"complex{bits}" for bits in (32, 64, 128)},
    **{"bf16": "bfloat16", "b8": "bool", "f8e5m2": "float8_e5m2", "f8e4m3fn": "float8_e4m3fn"},
    **{"f8e5m2fnuz": "float8_e5m2fnuz", "f8e4m3fnuz": "float8_e4m3fnuz", "f8e8m0fnu": "float8_e8m0fnu"},
    **{"f4e2m1fnx2": "float4_e2m1fn_x2"},
}
_TYPE: Final = re.compile(r"^([a-z]\w*)\[([^\]]*)\]")


@dataclass(slots=True)
class Instruction:
    """One instruction; `src` are names in the order of the arguments."""

    name: str
    op: str
    arg: str | None = None
    src: tuple[str, ...] = ()
    dtype: str | None = None
    shape: str | None = None
    metadata: str | None = None
    body: str | None = None
    """The part of the module that it stands for, by its name in `Graph.parts`."""


@dataclass(slots=True)
class Graph:
    """Instructions in order, and the graphs that some of them call."""

    instructions: list[Instruction] = field(default_factory=list)
    parts: dict[str, Graph] = field(default_factory=dict)
    unread: list[str] = field(default_factory=list)
    """Lines that are no instruction as far as is known here."""


def is_graph(text: str) -> bool:
    """Whether a text is a printed graph."""
    return bool(_CLASS.match(text.lstrip("\n").partition("\n")[0]))


def parse(text: str) -> Graph | None:
    """The graph that a text prints; None when it prints none."""
    lines = text.splitlines()
    first = next((i for i, line in enumerate(lines) if _CLASS.match(line)), None)
    if first is None:
        return None
    open_graphs: list[tuple[int, Graph]] = []
    root: Graph | None = None
    at = first
    reader: _Forward | None = None
    while at < len(lines):
        line = lines[at]
        if found := _CLASS.match(line):
            depth, graph = len(found[1]), Graph()
            while open_graphs and open_graphs[-1][0] >= depth:
                open_graphs.pop()
            if open_graphs:
                open_graphs[-1][1].parts[found[2]] = graph
            elif root is None:
                root = graph
            open_graphs.append((depth, graph))
            reader = None
            at += 1
        elif _DEF.match(line) and open_graphs:
            signature, at = _signature(lines, at)
            reader = _Forward(open_graphs[-1][1])
            reader.signature(signature)
        else:
            text, at = _statement(lines, at)
            if reader is not None:
                reader.line(text)
    for graph in _every(root):
        for instruction in graph.instructions:
            if instruction.op == GET_ATTR and instruction.body not in graph.parts:
                instruction.body = None
    return root if root is not None and any(graph.instructions for graph in _every(root)) else None


def _every(graph: Graph | None) -> Iterator[Graph]:
    if graph is not None:
        yield graph
        for part in graph.parts.values():
            yield from _every(part)


def _signature(lines: list[str], at: int) -> tuple[str, int]:
    """The text between the parentheses of a def, which may go over lines, and the line after it."""
    depth, text = 0, []
    for row in range(at, len(lines)):
        line = lines[row].partition("#")[0] if row > at else lines[row]
        for token in _TOKEN.findall(line):
            depth += (token in _OPEN) - (token in _SHUT) if len(token) == 1 else 0
        text.append(line)
        if depth <= 0:
            whole = "\n".join(text)
            return whole[whole.index("(") + 1 : whole.rfind(")")], row + 1
    return "", len(lines)


def _statement(lines: list[str], at: int) -> tuple[str, int]:
    """A statement on one line, or a return that goes over several, and the line after it."""
    text = lines[at].strip()
    if not text.startswith("return") or not text.endswith(tuple(_OPEN)):
        return text, at + 1
    for end in range(at + 1, len(lines)):
        line = lines[end].strip()
        code = _COMMENT.sub("", line)
        text += code if code.startswith(tuple(_SHUT)) else f"{code} "
        if code.startswith(tuple(_SHUT)):
            # one result is written with its comma, which only a tuple needs
            return re.sub(r",\s*(?=[\])])", ",", text).replace(",]", "]"), end + 1
    return text, len(lines)


class _Forward:
    """Reads the lines of one `forward`."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._known: set[str] = set()
        self._parameters: dict[str, str | None] = {}
        """Inputs of the signature that are no instructions yet, with their types."""
        self._origin: str | None = None

    def signature(self, text: str) -> None:
        """Takes the inputs."""
        for part in _split(text):
            name, _, annotation = part.strip().partition(":")
            name = name.partition("=")[0].strip()
            if name.isidentifier() and name != "self":
                quoted = re.match(r'\s*"([^"]*)"', annotation)
                self._parameters[name] = quoted[1] if quoted else None

    def line(self, text: str) -> None:
        """Takes a line of the body."""
        if not text:
            return
        if text.startswith("#"):
            if found := _ORIGIN.match(text):
                self._origin = metadata_text(None, found[1], int(found[2][:9]))
            elif text.startswith("# No stacktrace"):
                self._origin = None
            return
        if found := _INPUT.match(text):
            # an input of a flattened signature, which is listed in order by the line below
            self._parameters[found[1]] = found[2]
            return
        if found := _FLATTEN.match(text):
            listed = [name.strip() for name in found[1].split(",") if name.strip()]
            self._parameters = {name: self._parameters.get(name) for name in listed}
            self._inputs()
            return
        alias = _ASSIGN.match(text)
        if alias and alias[4].strip() in self._parameters and alias[4].strip() not in self._known:
            self._aliased(alias[1], alias[4].strip())
            return
        self._inputs()
        if text.startswith("return"):
            self._returned(text[6:].strip())
            return
        text = _LET_GO.sub("", text)
        if found := _INPLACE.match(text):
            name = f"operator.i{_BINARY[found[2]].rstrip('_')}"
            self._called(found[4], name, [found[1], found[3]])
        elif (found := _SET_ITEM.match(text)) and not _ASSIGN.match(text):
            self._called(found[4], "operator.setitem", [found[1], found[2], found[3]])
        elif found := _ASSIGN.match(text):
            self._assigned(found[1], found[2], found[4].strip(), text)
        else:
            self._graph.unread.append(text)

    def _inputs(self) -> None:
        """The inputs that nothing stands for: the signature's names are the instructions'."""
        for name, type in self._parameters.items():
            if name not in self._known:
                self._put(Instruction(name, PLACEHOLDER, None), type)
        self._parameters = {}

    def _aliased(self, name: str, target: str) -> None:
        for other in list(self._parameters):
            if other == target:
                break
            self._put(Instruction(other, PLACEHOLDER, None), self._parameters.pop(other))
        self._put(Instruction(name, PLACEHOLDER, None if name == target else target), self._parameters.pop(target))

    def _put(self, instruction: Instruction, type: str | None) -> None:
        instruction.dtype, instruction.shape = types_of(type)
        if instruction.op not in (PLACEHOLDER, OUTPUT):
            instruction.metadata = self._origin
        self._graph.instructions.append(instruction)
        self._known.add(instruction.name)

    def _returned(self, text: str) -> None:
        if found := _UNFLATTEN.match(text):
            text = found[1]
        if text[:1] == "(" and text.endswith(",)") and len(parts := _split(text[1:-1])) > 1:
            text = f"({', '.join(parts)})"
        src: list[str] = []
        arg = arg_text([self._argument(text, src)])
        self._put(Instruction("output", OUTPUT, arg, tuple(src)), None)

    def _called(self, rest: str, op: str, args: list[str]) -> None:
        """An operation that is written as a statement; the name follows it."""
        found = _ASSIGN.match(rest)
        if found is None:
            self._graph.unread.append(rest)
            return
        src: list[str] = []
        texts = [self._argument(arg, src) for arg in args]
        self._put(Instruction(found[1], op, arg_text(texts), tuple(src)), found[2])

    def _assigned(self, name: str, type: str | None, text: str, line: str) -> None:
        split = self._expression(text)
        if split is None:
            self._graph.unread.append(line)
            return
        op, args = split
        if op == GET_ATTR:
            target = args[0]
            self._put(Instruction(name, op, None if target == name else target, body=target), type)
            return
        src: list[str] = []
        plain: list[str] = []
        keywords: list[tuple[str, str]] = []
        for arg in args:
            key = re.match(r"^([A-Za-z_]\w*)\s*=\s*(?!=)(.*)$", arg, re.DOTALL)
            if key:
                keywords.append((key[1], self._argument(key[2], src)))
            else:
                plain.append(self._argument(arg, src))
        self._put(Instruction(name, op, arg_text(plain, keywords), tuple(src)), type)

    def _expression(self, text: str) -> tuple[str, list[str]] | None:
        """The op of an expression and its arguments as they are written; None when it is of no known form."""
        tokens = _TOKEN.findall(text)
        if not tokens:
            return None
        if _NAME.match(text):
            head, _, rest = text.partition(".")
            if head == "self" and rest:
                return GET_ATTR, [rest]
            if head in self._known and rest:
                owner, _, attribute = text.rpartition(".")
                return "getattr", [owner, repr(attribute)]
            return None
        if _NAME.match(tokens[0]) and len(tokens) > 2:
            end = _matching(tokens, 1)
            if tokens[1] == "(" and end == len(tokens) - 1:
                return self._call(tokens[0], _split("".join(tokens[2:end])))
            if tokens[1] == "[" and end == len(tokens) - 1:
                return "operator.getitem", [tokens[0], "".join(tokens[2:end])]
            if tokens[1] == "[" and tokens[0].startswith("self.") and "(" in tokens[end:]:
                return None
        if tokens[0] in _UNARY and len(tokens) > 1 and _NAME.match("".join(tokens[1:])):
            return f"operator.{_UNARY[tokens[0]]}", ["".join(tokens[1:])]
        return self._binary(tokens)

    def _call(self, target: str, args: list[str]) -> tuple[str, list[str]]:
        head, _, rest = target.partition(".")
        if head == "self" and rest:
            return f"call_module {rest}", args
        if head in self._known and rest:
            owner, _, method = target.rpartition(".")
            return method_name(method), [owner, *args]
        return op_name(target), args

    def _binary(self, tokens: list[str]) -> tuple[str, list[str]] | None:
        depth = 0
        for at, token in enumerate(tokens):
            if len(token) == 1 and token in _OPEN:
                depth += 1
            elif len(token) == 1 and token in _SHUT:
                depth -= 1
            elif token.isspace() and depth == 0:
                # FX writes `a + b` with blanks around the operator and none elsewhere at this level
                end = at + 1
                while end < len(tokens) and not tokens[end].isspace():
                    end += 1
                if name := _BINARY.get("".join(tokens[at + 1 : end])):
                    return f"operator.{name}", ["".join(tokens[:at]), "".join(tokens[end + 1 :])]
        return None

    def _argument(self, text: str, src: list[str]) -> str:
        """An argument with its sources as %0, %1, which are added to `src`."""
        tokens = _TOKEN.findall(text.strip())
        out: list[str] = []
        for at, token in enumerate(tokens):
            if token in self._known and not _is_word(tokens, at):
                out.append(f"%{len(src)}")
                src.append(token)
            else:
                out.append(token)
        return "".join(out)


def _is_word(tokens: list[str], at: int) -> bool:
    """Whether a name is that of a keyword or of something that is called."""
    after = tokens[at + 1] if at + 1 < len(tokens) else ""
    if after.isspace():
        after = tokens[at + 2] if at + 2 < len(tokens) else ""
        return after == "=" and tokens[at + 3 : at + 4] != ["="]
    return after in ("(", "=")


def _matching(tokens: list[str], at: int) -> int:
    """Where the bracket that opens at a token is shut; -1 when it is not."""
    depth = 0
    for place in range(at, len(tokens)):
        if len(tokens[place]) == 1:
            depth += (tokens[place] in _OPEN) - (tokens[place] in _SHUT)
            if depth == 0:
                return place
    return -1


def _split(text: str) -> list[str]:
    """The parts of a list of arguments."""
    parts: list[str] = []
    depth, current = 0, list[str]()
    for token in _TOKEN.findall(text.replace("\n", " ")):
        if len(token) == 1:
            depth += (token in _OPEN) - (token in _SHUT)
        if token == "," and depth == 0:
            parts.append("".join(current).strip())
            current = []
        else:
            current.append(token)
    last = "".join(current).strip()
    return [part for part in [*parts, last] if part]


def types_of(annotation: str | None) -> tuple[str | None, str | None]:
    """Element type and shape of `f32[8, 32][32, 1]cpu`; None for what it does not say."""
    if not annotation:
        return None, None
    found = _TYPE.match(annotation)
    if found is None or found[1] not in _DTYPES:
        return None, None
    return _DTYPES[found[1]], shape_text([size.strip() for size in found[2].split(",") if size.strip()])
