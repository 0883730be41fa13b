"""What a kernel's context made: source, op list, binary, estimates. Standard library only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeGuard

from peephole.sources.tinygrad.steps import error_of
from peephole.sources.tinygrad.text import Texts, arguments, fields_of, plain

Fields = Mapping[int, tuple[Any, ...]]
Takes = tuple[frozenset[int], frozenset[int], tuple[str | None, ...]]
"""Which of a kernel's buffers it writes and reads, by their place, and the dtype of each (None: not known)."""

_LANGUAGES: Final = (
    ("LLVM", "llvm"),
    ("PTX", "ptx"),
    ("NAK", "text"),
    ("NIR", "text"),
    ("LVP", "text"),
    ("WGSL", "wgsl"),
    ("Metal", "metal"),
    ("Python", "text"),
    ("X86", "asm"),
    ("Asm", "asm"),
)
"""Part of the renderer's name to the language of what it renders; any other renders C."""
_LONGEST_LIST: Final = 200_000
_NO_NAME: Final = "test"
"""What tinygrad calls a kernel before its optimizer has named it."""


@dataclass(slots=True)
class Program:
    """The outcome of one compilation, as far as the trace holds it."""

    source: str | None = None
    binary: bytes | None = None
    parts: tuple[int, ...] = ()
    """The nodes that the program consists of."""
    linear: tuple[int, ...] = ()
    """The nodes of the linear program."""
    info: Mapping[str, Any] = field(default_factory=dict)
    """The fields of tinygrad's ProgramInfo."""
    oplist: str | None = None
    error: str | None = None
    language: str = "c"
    estimates: Any = None
    """tinygrad's Estimates (ops, mem, lds), perhaps symbolic."""
    arch: str = field(default="")

    def artifacts(self, context: int) -> Iterator[dict[str, Any]]:
        """Rows of the artifacts table."""
        if self.oplist is not None:
            yield _artifact(context, "oplist", "text", "op list", self.oplist.encode("utf-8", "replace"))
        if self.source is not None:
            yield _artifact(context, "source", self.language, "source", self.source.encode("utf-8", "replace"))
        if self.binary is not None:
            yield _artifact(context, "binary", self.arch, "binary", self.binary)
        if self.error is not None:
            yield _artifact(context, "error", "text", "error", self.error.encode("utf-8", "replace"))


def _artifact(context: int, kind: str, language: str, name: str, content: bytes) -> dict[str, Any]:
    return {"context": context, "kind": kind, "language": language, "name": name, "content": content}


def program_of(key: Any, steps: Sequence[Any], fields: Fields, texts: Texts, listed: bool = True) -> Program | None:
    """What this context compiled; None when it is no kernel's. Without `listed` the op list is left out."""
    program = Program()
    spec = getattr(key, "ret", None)
    if type(spec).__name__ == "ProgramSpec":  # 0.11 and 0.12 hand it over with the name
        _from_spec(program, spec)
    found = False
    for step in steps:
        own = fields_of(step)
        name = own.get("name")
        if name in ("View Program", "linearize/render", "render"):
            found = True
            error = error_of(own.get("matches"), fields, texts)
            program.error = error or program.error
            _from_node(program, _last_root(own, raised=error is not None), fields, texts)
    if listed and program.linear:
        program.oplist = op_list(program.linear, fields, texts)
    if type(spec).__name__.endswith("Renderer"):
        program.language = next((to for part, to in _LANGUAGES if part in type(spec).__name__), "c")
        target = fields_of(spec).get("target") or next(iter(arguments(spec)), None)
        arch = fields_of(target).get("arch") if target is not None else None
        program.arch = arch if type(arch) is str else ""
    return program if found or program.source is not None else None


def _from_spec(program: Program, spec: Any) -> None:
    own = fields_of(spec)
    source, library = own.get("src"), own.get("lib")
    program.source = source if type(source) is str else None
    program.binary = library if type(library) is bytes else None
    program.estimates = own.get("estimates")


def kernel_name(group: Sequence[Any], fields: Fields) -> str | None:
    """What the last pass over a kernel calls it; None as long as it has no name."""
    for step in reversed(group):
        node = fields.get(fields_of(step).get("sink", -1))
        info = node[3] if type(node) is tuple and len(node) >= 5 else None
        if type(info).__name__ in ("KernelInfo", "ProgramInfo"):
            name = fields_of(info).get("name")
            return plain(name) if type(name) is str and name != _NO_NAME else None
    return None


def _last_root(step: Mapping[str, Any], *, raised: bool) -> int:
    """The root after the last match that replaced the root itself: these passes do nothing else.

    Of one that raised, what the failing rule was given: of a compile error the source.
    """
    root = step.get("sink")
    matches = step.get("matches")
    for match in (matches[:-1] if raised else matches) if type(matches) is list else ():
        if type(match) is tuple and len(match) > 1 and match[0] == root:
            root = match[1]
    return root if type(root) is int else -1


def _from_node(program: Program, root: int, fields: Fields, texts: Texts) -> None:
    node = fields.get(root)
    if type(node) is not tuple or len(node) < 5 or type(node[2]) is not tuple or texts.op(node[0]) != "PROGRAM":
        return
    for number in node[2][:10]:
        part = fields.get(number) if type(number) is int else None
        if type(part) is not tuple or len(part) < 5:
            continue
        op, value = texts.op(part[0]), part[3]
        if op == "SOURCE" and type(value) is str:
            program.source = value
        elif op == "BINARY" and type(value) is bytes:
            program.binary = value
        elif op == "LINEAR" and are_numbers(part[2]):
            program.linear = part[2]
        elif op == "SINK" and type(value).__name__ == "KernelInfo":
            program.estimates = fields_of(value).get("estimates") or program.estimates
    program.parts = node[2] if are_numbers(node[2]) else ()
    if type(node[3]).__name__ == "ProgramInfo":
        program.info = fields_of(node[3])


def _parameters(numbers: Sequence[int], fields: Fields, texts: Texts) -> dict[int, str]:
    """The dtypes of a linear program's parameters by their slot."""
    found = {}
    for number in numbers[:_LONGEST_LIST]:
        node = fields.get(number)
        if type(node) is tuple and len(node) > 3 and type(node[3]).__name__ == "ParamArg":
            slot = fields_of(node[3]).get("slot")
            if type(slot) is int:
                found[slot] = texts.dtype(node[1])
    return found


def takes_of(program: Program, fields: Fields, texts: Texts) -> Takes | None:
    """Which buffers a kernel takes; None where tinygrad does not say."""
    parts = [program.info.get(name) for name in ("outs", "ins", "globals")]
    if not all(are_numbers(part) for part in parts):
        return None
    outs, ins, slots = parts
    dtypes = _parameters(program.linear, fields, texts)
    return frozenset(outs or ()), frozenset(ins or ()), tuple(dtypes.get(slot) for slot in slots or ())


def are_numbers(value: Any) -> TypeGuard[tuple[int, ...]]:
    """Whether something is a tuple of whole numbers, which in a file from a stranger is not certain."""
    return type(value) is tuple and all(type(number) is int for number in value)


def op_list(numbers: Sequence[int], fields: Fields, texts: Texts) -> str:
    """The linear program as text: place, op, dtype, sources by place (constants by value), argument."""
    places = {number: place for place, number in enumerate(numbers[:_LONGEST_LIST])}
    ops: dict[int, str] = {}
    known: dict[int, str] = {}
    """What stands for a source; to take its node apart each time would cost the recorded program the most."""
    lines = []
    for place, number in enumerate(numbers[:_LONGEST_LIST]):
        node = fields.get(number)
        if type(node) is not tuple or len(node) < 5:
            continue
        op = ops.get(id(node[0]))
        if op is None:
            op = ops[id(node[0])] = texts.op(node[0])
        known[number] = _as_source(op, node, str(places[number]), texts)
        sources = []
        for source in node[2] if are_numbers(node[2]) else ():
            text = known.get(source)
            if text is None:
                text, other = str(places.get(source, "--")), fields.get(source)
                if type(other) is tuple and len(other) > 3 and (other_op := ops.get(id(other[0]))) is not None:
                    text = known[source] = _as_source(other_op, other, text, texts)
            sources.append(text)
        line = f"{place:4d} {op:<20}: {texts.dtype(node[1]):<32} [{', '.join(sources)}]"
        lines.append(f"{line:<90} {texts.arg(node[3])}" if node[3] is not None else line)
    return "\n".join(lines) + "\n"


def _as_source(op: str, node: tuple[Any, ...], place: str, texts: Texts) -> str:
    """A constant by value, anything else by its place."""
    if op != "CONST":
        return place
    return repr(texts.arg(node[3])) if node[3] is not None else "'None'"
