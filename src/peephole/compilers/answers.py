"""What a compiler answers about schedules, kernels and lines of code: the words that every compiler answers in."""

from __future__ import annotations

from dataclasses import dataclass

from peephole.compilers.labels import Look
from peephole.model.stacks import StackFrame
from peephole.model.tables import NONE
from peephole.replay.rule import Rule


@dataclass(frozen=True, slots=True)
class Buffer:
    """Memory that kernels of a schedule share."""

    node: int
    """Id of its node."""
    op: str
    own: bool
    """One of the program's own; else one that was made for this schedule."""
    name: str
    """What a user calls it: `buffer 3`."""
    slot: int
    dtype: str
    elements: int | None
    device: str
    writers: list[int]
    readers: list[int]
    look: Look
    """As a box of the schedule's graph."""


@dataclass(frozen=True, slots=True)
class Edge:
    """Kernel `first` has to run before kernel `second`, because of that buffer (an index into `buffers`)."""

    first: int
    second: int
    buffer: int
    kind: str


@dataclass(frozen=True, slots=True)
class Kernel:
    """One kernel. `context` is the one that it was compiled in, -1 for none (a copy has none)."""

    index: int
    name: str
    context: int
    node: int
    kind: str
    """`kernel` or `copy`."""
    members: list[int]
    """Ids of the nodes of the user's graph that it computes."""
    ops: list[str]
    """Their operations, movements and constants left out."""
    buffers: list[int]
    """Its arguments in order, as indices into `buffers`."""
    look: Look
    """As a box of the schedule's graph."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """How a graph was split into kernels. `made_in` is the context whose passes show it: an earlier one when it was
    cached."""

    context: int
    name: str
    made_in: int
    kernels: list[Kernel]
    buffers: list[Buffer]
    edges: list[Edge]
    root: Look
    """What all of them hang on in the schedule's graph."""


@dataclass(frozen=True, slots=True)
class Forced:
    """The node that was put into memory, and the tensor operations of the user's program that it came from."""

    id: int
    op: str
    dtype: str
    shape: str | None
    tensors: list[str]
    """`exp@prog.py:4` where the recording has it, else the operation."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """Where the trace shows it: the step and match, and the rule's source line."""

    step: int
    step_name: str
    match: int
    file: str | None
    line: int
    source: str | None


@dataclass(frozen=True, slots=True)
class Boundary:
    """One buffer between the two, and why it is there."""

    buffer: Buffer
    kind: str
    reason: str
    text: str
    kept: str | None
    forced: Forced | None
    evidence: Evidence | None
    user_line: str | None


@dataclass(frozen=True, slots=True)
class Why:
    """The answer for two kernels; `first` runs before `second`.

    relation: `dependent` (one reads what the other wrote, or overwrites what it reads), `between` (a third kernel
    stands between), `independent`, `other schedule`.
    """

    relation: str
    first: Kernel
    second: Kernel
    first_schedule: Schedule
    second_schedule: Schedule
    boundaries: list[Boundary]
    between: list[Kernel]
    """The kernels of a shortest path from the first to the second."""
    common: list[Kernel]
    """Kernels that both read from, when they are independent."""
    text: str


@dataclass(frozen=True, slots=True)
class Operation:
    """A tensor operation of the program, and the nodes of the user's graph that it made."""

    name: str
    line: str | None
    """`file:line` where it was called; None when the recording does not know it."""
    source: str | None
    nodes: list[int]


@dataclass(frozen=True, slots=True)
class Link:
    """A link of the chain from a line of the program over an instruction to the kernels that compute it."""

    stage: str
    """`line` of the program, `dynamo` (the user's graph), `traced` (the graph that passes begin with), `rule` that took
    or put it, `pass` that brought, altered or took it, `lowered` (the graph that code is made of), `fused` (what it is
    inside of a fusion), `kernel`."""
    name: str
    op: str
    step: int
    """The pass in whose graph it stands; -1 for a line."""
    match: int
    node: int
    """Id of its node; -1 for a line or a rule."""
    context: int
    """Of a kernel that was compiled by itself; -1 otherwise."""
    line: str | None
    source: str | None


@dataclass(frozen=True, slots=True)
class Origin:
    """Where one kernel of a schedule came from. `context` is its compilation, -1 for none."""

    context: int
    name: str
    schedule: int
    index: int
    operations: list[Operation]
    realized_at: str | None
    """`file:line` that had the schedule made."""
    realized_source: str | None


@dataclass(frozen=True, slots=True)
class LineOrigin:
    """One line of a source, counted from 1."""

    line: int
    kind: str
    """`op` for a line that a node was written as, `signature`, `brace` (closes a block), `none` for no node."""
    ops: list[str]
    """The op that the line is of, then those that are written inside it."""
    node: int
    """Id of the node that the line is of; -1 for none."""
    step: int
    """The pass in which that node appeared; -1 when it was in the kernel's AST already."""
    step_name: str
    match: int
    """The match that made it; 0 when it was there when the pass began, which no rule is known for."""
    rule: Rule | None
    operations: list[int]
    """What it computes: places in `LineOrigins.operations`."""
    row: int = NONE
    """The line of the op list that has this node, counted from 1; -1 for none."""
    alike: int = 0
    """How many ops of that kind are in the list."""


@dataclass(frozen=True, slots=True)
class LineOrigins:
    """The lines of a kernel's source. `artifact` is the row of the source, -1 when there is none."""

    context: int
    artifact: int
    note: str | None
    """Why lines are left open, in a sentence; None when none is."""
    operations: list[Operation] | None
    """Tensor operations of the program; None when they were not asked for."""
    lines: list[LineOrigin]


@dataclass(frozen=True, slots=True)
class ProblemWords:
    """What a compiler's own text about a problem says, in parts; what it does not say is empty."""

    kind: str
    """One of `PROBLEMS`."""
    title: str
    """What it is, in a few words."""
    reason: str
    """Why, on a line."""
    hint: str = ""
    """What to do about it, as far as that can be checked."""
    wanted: str = ""
    got: str = ""
    """The guard that failed, and what was there instead."""
    missed: str = ""
    """The compilation whose guard it is."""
    link: str = ""
    """A page about it."""
    stack: tuple[StackFrame, ...] = ()
    """The user's frames, innermost first."""


@dataclass(frozen=True, slots=True)
class FoundProblem:
    """A problem that a compiler sees in what was recorded, beside those that its passes decided."""

    context: int
    """The compilation that it is of."""
    words: ProblemWords
    file: str
    line: int
    bytes: int
    """How large it is; -1 when that is not known."""
