"""The text of one operation in its parts: results, name, operands, what else it says, type, location.

Custom forms are free text, so this knows no dialect: results stand before `=`, the first word is the operation, `%x`
are operands, and whatever is left is what it says.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field
from typing import Final

MOST_TEXT: Final = 4000
"""Characters of what an operation says that are kept; a hash stands for the rest."""
LONG_STRING: Final = 200
_RESULTS: Final = re.compile(r"((?:%[\w$.-]+(?::\d+)?(?:,\s*)?)+)\s*=\s*")
_RESULT: Final = re.compile(r"%([\w$.-]+)(?::(\d+))?")
_NAME: Final = re.compile(r'"([^"\\]+)"|([A-Za-z_$][\w$]*(?:\.[\w$]+)*)')
_TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*"|%([\w$.-]+)(?:#(\d+))?(\s*:(?![:\d])|\s*=(?!=))?', re.DOTALL)
_SYMBOL: Final = re.compile(
    r"(?:(?:public|private|nested|protected|readonly|mutable|internal|external|weak|linkonce|ordinal\(\d+\))\s+)*"
    r'@("(?:[^"\\]|\\.)*"|[\w$.-]+)'
)
_SYM_NAME: Final = re.compile(r'\bsym_name = "((?:[^"\\]|\\.)*)"')
_SHAPED: Final = re.compile(r"(?:tensor|memref|vector)<((?:\[?[\d?]+\]?x)*)([^,<>]+(?:<[^<>]*>)?)")
_BRACKETS: Final = re.compile(r"->|=>|<=|>=|[()\[\]{}<>]")
_OPENS: Final = "([{<"
_AS: Final = re.compile(r"\s+as\s+[^%\s]")
_RESULT_OF: Final = re.compile(r"->\s*\(?$")
_OPENING: Final = re.compile(r"\s*\(?\{\s*$|\(\{\s*(?=\))")
"""What is left of the braces of regions."""
START: Final = re.compile(
    r'(?:%[\w$.-]+(?::\d+)?(?:,\s*%[\w$.-]+(?::\d+)?)*\s*=\s*)?(?:"[\w$]+(?:\.[\w$-]+)+"\s*\(|[A-Za-z_$][\w$]*\.[\w$.]+'
    r"|(?:module|func|return|call|yield|br|cond_br|constant|operation|operand|operands|type|types|result|results|rewrite|"
    r"replace|erase|attribute|terminator|unrealized_conversion_cast)\b)|%[\w$.-]+(?::\d+)?(?:,\s*%[\w$.-]+(?::\d+)?)*\s*="
)
"""How an operation begins: with results, a quoted name, a name of a dialect, or one that leaves out its dialect."""


@dataclass(slots=True)
class OperationText:
    """The parts; texts in which operands are `%` and nothing else."""

    name: str
    results: list[tuple[str, int]]
    """Names of results, and how many each stands for."""
    operands: list[tuple[str, int]]
    """Names and which of the results of that name."""
    defined: list[str]
    """Names that the head of an operation with regions gives to their arguments: `%i` of `scf.for %i = …`."""
    says: str
    """Everything else, operands as `%`."""
    dtype: str
    shape: str
    loc: str
    symbol: str
    kinds: dict[str, str] = field(default_factory=dict)
    """Types of the names that it defines, where they stand beside them."""
    mentioned: list[str] = field(default_factory=list)
    """All names of values behind its own, in order: operands, those it defines, those a result is written into."""


def read_operation(text: str, has_regions: bool) -> OperationText:
    """The parts of an operation's text, its regions cut out."""
    results: list[tuple[str, int]] = []
    begin = 0
    if found := _RESULTS.match(text):
        results = [(one[1], int((one[2] or "1")[:6])) for one in _RESULT.finditer(found[1])]
        begin = found.end()
    named = _NAME.match(text, begin)
    name = (named[1] or named[2]) if named else text[begin:].split(" ", maxsplit=1)[0][:80]
    body = text[named.end() if named else begin + len(name) :]
    body, loc = without_location(body)
    operands: list[tuple[str, int]] = []
    mentioned: list[str] = []
    defined: list[str] = []
    kinds: dict[str, str] = {}

    def replaced(token: re.Match[str]) -> str:
        if token[1] is None:
            return _short(token[0])
        mentioned.append(token[1])
        if _AS.match(body, token.end()) or _RESULT_OF.search(body, max(0, token.start() - 200), token.start()):
            # an operand again, that a result is written into: which one it is, since its name changes at every print
            place = next((at for at, (name, _) in enumerate(operands) if name == token[1]), "")
            return f"%{place}{token[3] or ''}"
        mark = (token[3] or "").strip()
        if has_regions and ((mark == ":" and not (token[3] or "").startswith(" ")) or mark == "="):
            defined.append(token[1])
            if mark == ":":
                kinds[token[1]] = _first_type(body, token.end())
            return f"%{token[3]}"
        operands.append((token[1], int((token[2] or "0")[:6])))
        return f"%{token[3] or ''}"

    says = _TOKEN.sub(replaced, body).strip()
    if has_regions:
        says = _OPENING.sub("", says).strip()
    kind = _type_of(says)
    dtype, shape = shaped(kind)
    symbol = _SYMBOL.match(body.strip())
    generic = _SYM_NAME.search(body) if symbol is None and named is not None and named[1] else None
    own = symbol[1].strip('"') if symbol else generic[1] if generic else ""
    return OperationText(name, results, operands, defined, says, dtype, shape, loc, own, kinds, mentioned)


def without_location(text: str) -> tuple[str, str]:
    """A text without the location at its end, and the location."""
    stripped = text.rstrip()
    if not stripped.endswith(")"):
        return text, ""
    at = stripped.rfind(" loc(")
    while at >= 0:
        if _balanced(stripped[at:]):
            return stripped[:at], stripped[at + 5 : -1]
        at = stripped.rfind(" loc(", 0, at)
    return text, ""


def shaped(kind: str) -> tuple[str, str]:
    """Element type and shape of a type; the type itself and nothing for one without a shape."""
    found = _SHAPED.match(kind)
    if found is None:
        return kind[:200], ""
    sizes = [size for size in found[1].split("x") if size]
    return found[2].strip(), f"({', '.join(sizes)}{',' if len(sizes) == 1 else ''})"


def kept(text: str) -> str:
    """A text of bounded length, with a hash of what was cut off: two that differ stay different."""
    if len(text) <= MOST_TEXT:
        return text
    return f"{text[:MOST_TEXT]}… ({len(text):,} characters, {digest(text)})"


def digest(text: str) -> str:
    """A short hash."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()


def _short(string: str) -> str:
    """A string, of a long one (a constant's bytes) its beginning and a hash."""
    if len(string) <= LONG_STRING:
        return string
    return f'{string[:40]}…" ({len(string):,} characters, {digest(string)})'


def _first_type(text: str, at: int) -> str:
    """The type that begins there, up to the comma or bracket that ends it."""
    depth = 0
    for mark in re.compile(r"->|[()\[\]{}<>,]").finditer(text, at, at + 400):
        sign = mark[0]
        if sign in ("(", "[", "{", "<"):
            depth += 1
        elif sign in (")", "]", "}", ">"):
            depth -= 1
        if depth < 0 or (depth == 0 and sign == ","):
            return text[at : mark.start()].strip()
    return text[at : at + 100].strip()


def _type_of(says: str) -> str:
    """The type of the first result, as far as the text tells it: what stands behind the last colon."""
    text = says[-2000:]
    at = text.rfind(" : ")
    while at >= 0 and not _balanced(text[at:]):
        at = text.rfind(" : ", 0, at)
    if at < 0 and " -> " not in text:
        return ""
    kind = text[at + 3 :].strip() if at >= 0 else text
    for word in (" -> ", " to ", " into "):
        place = kind.rfind(word)
        while place >= 0 and not _balanced(kind[place + len(word) :]):
            place = kind.rfind(word, 0, place)
        if place >= 0:
            kind = kind[place + len(word) :]
            break
    kind = kind.partition(" from ")[0].strip()
    if kind.startswith("(") and kind.endswith(")"):
        return _first_type(kind, 1)
    parts, rest = [], kind
    while rest:
        first = _first_type(rest + ",", 0)
        parts.append(first)
        rest = rest[len(first) + 1 :].lstrip()
        if len(parts) > 16:
            break
    return parts[-1] if parts else kind


def _balanced(text: str) -> bool:
    depth = 0
    for mark in _BRACKETS.findall(text):
        if len(mark) == 1:
            depth += 1 if mark in _OPENS else -1
            if depth < 0:
                return False
    return depth == 0
