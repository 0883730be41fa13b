"""A graph as tinygrad prints it in Python: `UOp(Ops.ADD, dtypes.float, arg=None, src=(…))`, which its users read and
can run. What is used twice is named where it stands first."""

from __future__ import annotations

from collections.abc import Sequence

from peephole.compilers.labels import NodeText


def python_text(texts: Sequence[NodeText], tags: Sequence[str | None], src: Sequence[Sequence[int]], root: int) -> str:
    """The text of the graph under a node."""
    users = _users(src, root)
    names: dict[int, str] = {}
    written: set[int] = set()
    lines: list[str] = []
    stack: list[tuple[int, int, bool]] = [(root, 0, False)]
    while stack:
        node, depth, done = stack.pop()
        indent = " " * (2 * depth)
        if done:
            lines[-1] += "))," if depth else "))"
            continue
        if node in written:
            lines.append(f"{indent}{names[node]},")
            continue
        written.add(node)
        name = ""
        if users[node] > 1:
            names[node] = f"x{len(names)}"
            name = f"{names[node]}:="
        op, dtype, arg, _ = texts[node]
        tag = f", tag={tags[node]}" if tags[node] is not None else ""
        lines.append(f"{indent}{name}UOp(Ops.{op}, {dtype}, arg={arg or None}{tag}, src=(")
        stack.append((node, depth, True))
        stack.extend((s, depth + 1, False) for s in reversed(src[node]))
    return "\n".join(lines)


def _users(src: Sequence[Sequence[int]], root: int) -> dict[int, int]:
    """How often each node of the graph stands as a source."""
    found = {root: 0}
    stack = [root]
    while stack:
        for s in src[stack.pop()]:
            if s not in found:
                found[s] = 0
                stack.append(s)
            found[s] += 1
    return found
