"""Why two kernels of a half are two, from what the scheduler decided: the last word of its rounds counts."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, NamedTuple

from peephole.compilers.answers import Boundary, Evidence, Forced, Kernel, Schedule, Why
from peephole.compilers.torch.halves import Half, Instruction, half_of, halves
from peephole.compilers.torch.labels import moves, short_op, type_name
from peephole.compilers.torch.origin import origins_in, parsed
from peephole.compilers.torch.schedule import RAW, schedule
from peephole.compilers.torch.words import in_words
from peephole.compilers.traces import trace_of
from peephole.errors import PeepholeError

if TYPE_CHECKING:
    from peephole.store.capture import Capture


class Said(NamedTuple):
    """A decision of the scheduler about two of its nodes."""

    step: int
    ordinal: int
    kind: str
    a: frozenset[str]
    b: frozenset[str]
    reason: str
    file: str | None
    line: int


def computed_in(capture: Capture, name: str) -> list[tuple[int, int]]:
    """Half and place of the kernels that compute an FX node, a buffer or a scheduler node of that name.

    Where nothing has that name, those that compute an operation that is called so: `gelu`, `Linear`, `aten.mm.default`.
    """
    found: list[tuple[int, int]] = []
    alike: list[tuple[int, int]] = []
    moved: list[tuple[int, int]] = []
    for half in halves(capture):
        wanted = set(name.split("_")) if name.startswith("op") and name[2:3].isdigit() else set()
        written = {row for one in half.memory.values() if one.name == name for row in one.src}
        for at, call in enumerate(half.calls):
            if name in call.parts or call.row in written or (wanted and wanted <= half.scheduled(call)):
                found.append((half.context, at))
            members = (half.fx[part] for part in call.parts if part in half.fx)
            called = [one.op for one in members if _plain(name) in _called(one)]
            if called:
                (moved if all(map(moves, called)) else alike).append((half.context, at))
    return found or alike or moved


def _called(one: Instruction) -> set[str]:
    """What a user may call an instruction: its op, and the operations of the program that it comes from."""
    return set(map(_plain, (one.op, short_op(one.op), *(parsed(text)[0] for text in origins_in(one.metadata)))))


def _plain(name: str) -> str:
    """The same for a layer and its function: `LayerNorm`, `layer_norm`."""
    return name.replace("_", "").casefold()


def why_kernels(capture: Capture, half_a: int, a: int, half_b: int, b: int) -> Why:
    """Why these two are two."""
    if (half_b, b) < (half_a, a):
        half_a, a, half_b, b = half_b, b, half_a, a
    first_schedule, second_schedule = schedule(capture, half_a), schedule(capture, half_b)
    for made, at in ((first_schedule, a), (second_schedule, b)):
        if not 0 <= at < len(made.kernels):
            raise PeepholeError(f"{made.name} has no kernel {at}; it has {len(made.kernels)}.")
    first, second = first_schedule.kernels[a], second_schedule.kernels[b]
    both = (first, second, first_schedule, second_schedule)
    half = half_of(capture, half_a)
    if half_a != half_b:
        other = half_of(capture, half_b)
        text = f"{half.name} and {other.name} are compiled one without the other, so nothing of them is ever fused."
        return Why("other schedule", *both, [], [], [], text)
    if a == b:
        return Why("same", *both, [], [], [], _fused_how(capture, half, a))
    last = _last_word(_said(capture, half), half.scheduled(half.calls[a]), half.scheduled(half.calls[b]))
    shared = [edge.buffer for edge in first_schedule.edges if (edge.first, edge.second) == (a, b)]
    if shared:
        boundaries = [_boundary(capture, half, first_schedule, slot, last, (first, second)) for slot in shared]
        return Why("dependent", *both, boundaries, [], [], "")
    between = _path(first_schedule, a, b)
    if between:
        names = ", ".join(kernel.name for kernel in between)
        return Why("between", *both, [], between, [], f"the second needs {names}, which needs the first.")
    inputs = [set(kernel.buffers) for kernel in (first, second)]
    common = [
        kernel
        for kernel in first_schedule.kernels
        if any(kernel.index in first_schedule.buffers[slot].writers for slot in inputs[0] & inputs[1])
        and kernel.index not in (a, b)
    ]
    text = _independent(last, (first, second), bool(inputs[0] & inputs[1]))
    return Why("independent", *both, [], [], common, text)


def _independent(last: Said | None, kernels: tuple[Kernel, Kernel], share: bool) -> str:
    if last is not None and last.kind == "refused":
        return f"neither reads what the other writes; {_sentence(last)}."
    library = [kernel.name for kernel in kernels if kernel.kind == "extern"]
    if library:
        return (
            f"neither reads what the other writes, and {library[0]} is a library's kernel, which Inductor only calls."
        )
    if share:
        return "neither reads what the other writes, and Inductor did not try to fuse them."
    return "they share no buffer; Inductor only tries to fuse what shares one."


def _boundary(
    capture: Capture, half: Half, made: Schedule, slot: int, last: Said | None, kernels: tuple[Kernel, Kernel]
) -> Boundary:
    buffer = made.buffers[slot]
    trace = trace_of(capture)
    library = [kernel for kernel in kernels if kernel.kind == "extern"]
    if last is not None and last.kind == "refused":
        reason, text = last.reason, _sentence(last)
    elif library:
        reason = "library kernel"
        text = f"{library[0].name} is a library's kernel: Inductor calls it and writes no code that could be fused"
    else:
        reason, text = "not tried", "the scheduler never asked whether these two may be fused"
    evidence = None
    if last is not None:
        name = trace.text("name", trace.step_row(last.step)) or ""
        evidence = Evidence(
            last.step, name, last.ordinal, last.file, last.line, trace.places.line(last.file, last.line)
        )
    one = half.memory[int(trace.table.rows([buffer.node])[0])]
    nodes = [half.fx[name] for name in one.parts if name in half.fx]
    texts = [text for node in nodes for text in origins_in(node.metadata)] or origins_in(one.metadata)
    origins = list(dict.fromkeys(texts))
    forced, line = None, None
    if nodes:
        last_node = nodes[-1]
        forced = Forced(
            last_node.id, short_op(last_node.op), type_name(last_node.dtype), last_node.shape or None, origins
        )
        places = (parsed(text)[1] for node in reversed(nodes) for text in origins_in(node.metadata))
        line = next((place for place in places if place), None)
    return Boundary(buffer, RAW, reason, text, None, forced, evidence, line)


def _sentence(said: Said) -> str:
    words = in_words(said.reason)
    return f"{words} (Inductor: {said.reason})" if words else f"Inductor says: {said.reason}"


def _fused_how(capture: Capture, half: Half, at: int) -> str:
    own = half.scheduled(half.calls[at])
    said = [one for one in _said(capture, half) if one.kind == "fused" and one.a | one.b <= own]
    name = half.calls[at].name
    if not said:
        return f"both are computed in {name}."
    trace = trace_of(capture)
    where = trace.text("name", trace.step_row(said[-1].step)) or "fusion"
    return f"both are computed in {name}: they were fused in {where}."


def _last_word(said: list[Said], first: set[str], second: set[str]) -> Said | None:
    """The last decision about parts of the two kernels."""
    for one in reversed(said):
        if (one.a <= first and one.b <= second) or (one.a <= second and one.b <= first):
            return one
    return None


def _said(capture: Capture, half: Half) -> list[Said]:
    """What the scheduler decided in this half, in order."""
    trace = trace_of(capture)
    with trace.lock:
        kept: dict[int, list[Said]] = trace.derived.setdefault("said", {})
        if half.context not in kept:
            kept[half.context] = _read_said(capture, half)
        return kept[half.context]


def _read_said(capture: Capture, half: Half) -> list[Said]:
    trace = trace_of(capture)
    if not capture.count("decisions"):
        return []
    frame = capture.read("decisions")
    kinds, reasons, files = frame.texts("kind"), frame.texts("reason"), frame.texts("file")
    nodes = trace.instructions()

    def parts(id: int) -> frozenset[str]:
        row = int(trace.table.rows([id])[0]) if id >= 0 else -1
        return frozenset((nodes.name(row) or "").split("_")) if row >= 0 else frozenset(("?",))

    rounds = {step: place for place, step in enumerate(half.rounds)}
    found = []
    for row, step in enumerate(frame["step"].tolist()):
        if step in rounds:
            a, b = int(frame["a"][row]), int(frame["b"][row])
            said = Said(
                step,
                int(frame["ordinal"][row]),
                kinds[row] or "",
                parts(a),
                parts(b),
                reasons[row] or "",
                files[row],
                int(frame["line"][row]),
            )
            found.append((rounds[step], said.ordinal, said))
    return [said for _, _, said in sorted(found, key=lambda one: one[:2])]


def _path(made: Schedule, first: int, second: int) -> list[Kernel]:
    """The kernels of a shortest path from one to the other."""
    after: dict[int, list[int]] = {}
    for edge in made.edges:
        after.setdefault(edge.first, []).append(edge.second)
    came: dict[int, int] = {first: -1}
    queue = deque([first])
    while queue:
        at = queue.popleft()
        for following in after.get(at, ()):
            if following not in came:
                came[following] = at
                queue.append(following)
    path: list[Kernel] = []
    at = came.get(second, -1)
    while at not in (-1, first):
        path.append(made.kernels[at])
        at = came[at]
    return path[::-1]
