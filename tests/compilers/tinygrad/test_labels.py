"""What a box of tinygrad's graphs says, how it is coloured, and what is folded away."""

from __future__ import annotations

from typing import Any

import pytest

from peephole.compilers import compiler_named
from peephole.compilers.labels import CONSTANT, INDEXING, SINK, Family, NodeText, labels_of
from peephole.query.rewrites.recorded_node import recorded_node

TINYGRAD = compiler_named("tinygrad")


def text(op: str, arg: str = "", dtype: str = "dtypes.float", shape: str = "(4,)") -> NodeText:
    return NodeText(op, dtype, arg, shape)


@pytest.mark.parametrize(
    ("node", "constants", "arg"),
    [
        (text("MUL"), (None, "4"), "× 4"),
        (text("SUB"), ("1", None), "1 −"),
        (text("ADD"), ("1", "2"), "1 + 2"),
        (text("RANGE", "(0, AxisType.REDUCE)"), ("64",), "r0 reduce 64"),
        (text("PARAM", "ParamArg(1, dtypes.float, device='NULL')"), ("256",), "data1"),
        (text("BUFFER", "ParamArg(0, dtypes.float, addrspace=AddrSpace.REG)"), ("1",), "REG acc0"),
        (text("DEFINE_GLOBAL", "2"), (), "data2"),
        (text("STAGE", "BufferizeOpts(device='NULL', addrspace=AddrSpace.GLOBAL)"), (None,), "GLOBAL NULL"),
        (text("REDUCE", "(Ops.ADD, 1)"), (None,), "ADD"),
        (text("RESHAPE", ""), (None, "{2,2}"), "→ (4)"),
        (text("STORE"), (None, "0.0"), "← 0.0"),
        (text("INDEX"), (None, "3"), "[3]"),
        (text("WHERE"), (None, "1", None), "? 1 : ·"),
        (text("CAST", "dtypes.float"), (None,), ""),
        (text("STACK"), ("1", "2"), "{1,2}"),
        (text("SINK", "KernelInfo(name='r\\x1b[90m_\\x1b[0m4', axis_types=())"), (None,), "r_4"),
        (text("CALL", "CallInfo(None, None, False, False)"), (None,), ""),
        (text("MYOP", "anything = 3"), (), "anything = 3"),
        (text("MYOP", "Ops.ADD"), (None, "7"), "ADD 1:7"),
        (text("CONST", "0.3333333333333333"), (), "≈0.333333"),
        (text("CONST", "123400.00000001"), (), "≈123400"),
        (text("CONST", "12345678901.0"), (), "≈1.23457e+10"),
        (text("CONST", "-0.00000123456789"), (), "≈-0.00000123457"),
    ],
)
def test_the_argument_of_a_box(node: NodeText, constants: tuple[str | None, ...], arg: str) -> None:
    assert TINYGRAD.argument(node, constants) == arg


def test_the_type_line_has_type_and_shape_and_the_whole_is_kept() -> None:
    look = TINYGRAD.look(text("BUFFER", "ParamArg(0, dtypes.float, addrspace=AddrSpace.LOCAL)"))
    assert (look.name, look.type, look.space) == ("BUFFER", "float (4)", "LOCAL")
    assert look.whole == ("BUFFER", "ParamArg(0, float, addrspace=LOCAL)", "float (4)")


def test_a_kernels_name_keeps_both_ends() -> None:
    long = "r_16_32_64_128_4_4_8_16_32_64_128_4_4_99"
    arg = TINYGRAD.look(text("SINK", f"KernelInfo(name='{long}')")).arg
    assert arg.startswith("r_16") and "…" in arg and arg.endswith("_99") and len(arg) <= 34


def test_families() -> None:
    found = [TINYGRAD.look(text(op)).family for op in ("PARAM", "ADD", "RESHAPE", "CALL", "SOMETHING")]
    assert found == [Family.MEMORY, Family.ARITHMETIC, Family.MOVEMENT, Family.CALL, Family.OTHER]


def test_constants_go_into_labels_with_what_hands_them_on() -> None:
    texts = [
        text("CONST", "2", "dtypes.weakint"),
        text("CAST"),
        text("PARAM", "ParamArg(0, dtypes.float)"),
        text("STACK", dtype="dtypes.weakint"),
        text("RESHAPE"),
        text("MUL"),
        text("CALL", "CallInfo()"),
        text("SINK"),
    ]
    src = [[], [0], [], [0, 0], [2, 3], [4, 1], [5], [6]]
    found = labels_of(TINYGRAD, texts, src, 7)
    assert [found.looks[at].name for at in found.look] == [one.op for one in texts]
    assert found.fold == [CONSTANT | INDEXING, CONSTANT, 0, CONSTANT | INDEXING, 0, 0, 0, SINK]
    assert found.inside[5] == "× 2" and found.inside[6] is None
    assert found.looks[found.look[6]].bodies == 1
    # a root is drawn, whatever it is
    assert labels_of(TINYGRAD, texts[:1], src[:1], 0).fold == [INDEXING]


def test_equal_nodes_share_their_look() -> None:
    texts = [text("ADD"), text("ADD"), text("MUL")]
    found = labels_of(TINYGRAD, texts, [[], [], [0, 1]], 2)
    assert found.look == [0, 0, 1] and len(found.looks) == 2


def test_the_type_of_a_node_by_itself_is_as_in_its_box(add: Any) -> None:
    ids = add.capture.read("nodes", ["id"])["id"].tolist()
    nodes = [node for id in ids if (node := recorded_node(add.capture, id)) is not None]
    assert {node.dtype for node in nodes} >= {"dtypes.float", "dtypes.void"}
    assert {node.type for node in nodes} >= {"float", "void"}
    assert not [node.type for node in nodes if "dtypes" in node.type]
