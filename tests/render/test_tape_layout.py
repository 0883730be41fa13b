"""The geometry of a tape's picture, from tapes that the tests write."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from peephole.ingest import import_files
from peephole.query.tape.axis import fold
from peephole.query.tape.select import select
from peephole.query.tape.style import COLOURS, LARGEST_RADIUS, OTHER, colours_of, radius
from peephole.query.tape.tape import Tape, tape
from peephole.render.tape.layout import MOST_PIXELS, PX, Options, layout
from peephole.render.tape.picture import Picture
from peephole.render.tape.text import size_text, width
from peephole.store.capture import open_capture

Line = Callable[..., str]
Make = Callable[..., Tape]
MS = 1_000_000


@pytest.fixture
def make(tmp_path: Path, capture_dir: Path) -> Make:
    def maker(text: str, run: int | None = None) -> Tape:
        path = tmp_path / "some_tape.txt"
        path.write_text(text)
        return tape(open_capture(import_files([path])), run)

    return maker


def training(line: Line, steps: int = 4, workers: int = 3, seed: int = 1) -> str:
    """Workers register, then a client alternates matmul, relu and GetData under signals."""
    c = "CLIENT CLIENT 00cc"
    lines: list[str] = []
    seq = itertools.count(1)
    rng = np.random.default_rng(seed)
    for w in range(workers):
        lines.append(
            line(0.5 + w / 10, next(seq), "RECV", f"CLIENT CLIENT 00a{w}", "RegisterWorker", "88B", f"worker_id=w{w}")
        )
        lines.append(
            line(0.5 + w / 10, next(seq), "SEND", f"CLIENT CLIENT 00a{w}", "RegisterWorker", "91B", "success=True")
        )
    t = 3.0
    for step in range(steps):
        lines.append(line(t, next(seq), "RECV", c, "CompileStart", "85B", f"signal=step {step}"))
        lines.append(line(t, next(seq), "SEND", c, "CompileStart", "91B", "success=True"))
        for command, op, size in (
            ("BinaryOp", "op=matmul left=0 right=1", "110B"),
            ("UnaryOp", "op=relu input=2", "160B"),
            ("GetData", "tensor_id=3", f"{rng.integers(1, 400)}.5KB"),
        ):
            lines.append(
                line(t, next(seq), "RECV", c, command, "72B" if command == "GetData" else size, f"result=1 {op}")
            )
            lines.append(line(t, next(seq), "MODIFIER_INJECT", c, command, "", f"result=1 {op}"))
            for w in range(workers):
                t += float(rng.choice([0.0, 0.001, 0.002]))
                lines.append(line(t, next(seq), "WORKER_SEND", f"WORKER w{w}", f"Worker{command}", size, op))
                t += 0.002
                lines.append(
                    line(t, next(seq), "WORKER_RECV", f"WORKER w{w}", f"Worker{command}", "91B", "success=True")
                )
            lines.append(
                line(t, next(seq), "SEND", c, command, size if command == "GetData" else "91B", "success=True")
            )
        lines.append(line(t, next(seq), "RECV", c, "CompileEnd", "83B", f"signal=step {step}"))
        lines.append(line(t, next(seq), "SEND", c, "CompileEnd", "91B", "success=True"))
    return "".join(lines)


def overlaps(picture: Picture) -> list[tuple[str, str]]:
    boxes = [(label.text, label.box) for label in picture.labels]
    return [(a, b) for (a, x), (b, y) in itertools.combinations(boxes, 2) if x.touches(y)]


def test_lanes_from_top_to_bottom(make: Make, tape_line: Line) -> None:
    picture = layout(make(training(tape_line)))
    assert [(lane.name, lane.kind) for lane in picture.lanes] == [
        ("Client", "client"), ("Dispatcher", "dispatcher"), ("w0", "worker"), ("w1", "worker"), ("w2", "worker"),
    ]  # fmt: skip
    assert all(a.y1 == b.y0 for a, b in itertools.pairwise(picture.lanes))
    assert all(lane.y0 < lane.y < lane.y1 for lane in picture.lanes)


def test_marks_stand_on_their_lane_and_time(make: Make, tape_line: Line) -> None:
    t = make(training(tape_line))
    picture = layout(t)
    marks = picture.marks
    for i, event in enumerate(marks.event.tolist()):
        lane = picture.lanes[int(t.lane[event])]
        assert lane.y0 <= marks.y[i] <= lane.y1
        stretch = next(s for s in picture.axis.stretches if s.start <= t.time[event] <= s.end)
        share = (t.time[event] - stretch.start) / max(1, stretch.end - stretch.start)
        if stretch.end > stretch.start:
            assert abs(marks.x[i] - (stretch.x0 + 14 + share * (stretch.x1 - stretch.x0 - 28))) < 0.01
    by_op = {t.ops[int(t.op[e])]: marks.colour[i] for i, e in enumerate(marks.event.tolist())}
    assert by_op["matmul"] == COLOURS["MatMul"]
    assert by_op["relu"] == COLOURS["ReLU"]
    shapes = {t.events[int(t.event[e])]: marks.shape[i] for i, e in enumerate(marks.event.tolist())}
    assert shapes == {"RECV": "o", "SEND": "s", "MODIFIER_INJECT": "D", "WORKER_SEND": ">", "WORKER_RECV": "<"}


def test_events_of_one_moment_stand_above_each_other_in_order(make: Make, tape_line: Line) -> None:
    w = "WORKER w"
    text = "".join(tape_line(1, i + 1, "WORKER_SEND", w, "WorkerUnaryOp", "9B", "op=relu") for i in range(5))
    picture = layout(make(text))
    assert len(set(picture.marks.x.tolist())) == 1
    assert (np.diff(picture.marks.y) > 2).all()


def test_area_grows_with_size() -> None:
    sizes = [0, 64, 1 << 10, 1 << 16, 1 << 20, 1 << 30]
    for largest in (1 << 30, 1 << 42):
        found = [radius(size, largest) for size in [*sizes, largest]]
        assert found == sorted(found)
        assert found[-1] <= LARGEST_RADIUS
        assert radius(1 << 20, largest) < 0.85 * radius(largest, largest)
    # small ones do not shrink for want of large ones
    assert radius(64, 1 << 10) == radius(64, 1 << 16) > radius(64, 1 << 40)


@pytest.mark.parametrize("seed", range(4))
def test_labels_never_overlap(make: Make, tape_line: Line, seed: int) -> None:
    picture = layout(make(training(tape_line, steps=2 + 6 * seed, seed=seed)))
    assert overlaps(picture) == []
    roles = {label.role for label in picture.labels}
    assert {"lane", "signal", "event", "size", "fold"} <= roles
    assert all(label.box.x0 >= 0 and label.box.x1 <= picture.width for label in picture.labels)
    if picture.left_out:
        assert "left out for space" in picture.note[0]


def test_text_is_never_narrower_than_the_font_draws_it() -> None:
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import TextPath

    for text in ("#1234 GetData", "forward_layer1 — ünï", "WWWW iiii", "351.9 KB", "日本", "@~^|"):
        for bold in (False, True):
            font = FontProperties(family="DejaVu Sans", weight="bold" if bold else "normal")
            drawn = TextPath((0, 0), text, size=10, prop=font).get_extents().width
            assert width(text, 10, bold) >= drawn - 0.2, text


def test_signals_are_lines_with_spans(make: Make, tape_line: Line) -> None:
    t = make(training(tape_line, steps=3))
    picture = layout(t)
    assert [signal.name for signal in t.signals] == ["step 0", "step 1", "step 2"]
    assert sorted(line.ending for line in picture.lines) == [False] * 3 + [True] * 3
    assert len(picture.spans) == 3
    assert all(a < b for a, b in picture.spans)
    for (a, _), signal in zip(picture.spans, t.signals, strict=True):
        assert a == picture.axis.x_of(signal.start)
    names = [label for label in picture.labels if label.role == "signal"]
    assert [label.text for label in names] == ["step 0", "step 1", "step 2"]


def test_arrows_join_the_lanes_and_are_summed(make: Make, tape_line: Line) -> None:
    t = make(training(tape_line, steps=6))
    picture = layout(t)
    answers = 3  # the answers to the registrations are not drawn
    assert sum(arrow.count for arrow in picture.arrows) == len(t.arrows) - answers
    assert len(picture.arrows) < len(t.arrows)
    for arrow in picture.arrows:
        a, b = picture.lanes[arrow.source], picture.lanes[arrow.target]
        assert (arrow.y1 > arrow.y0) is (b.y > a.y)
        assert a.y0 <= arrow.y0 <= a.y1
        assert b.y0 <= arrow.y1 <= b.y1
    wide = max(picture.arrows, key=lambda arrow: arrow.count)
    assert wide.width > min(arrow.width for arrow in picture.arrows)


def test_arrows_of_many_workers_are_no_wall(make: Make, tape_line: Line) -> None:
    few, many = (layout(make(training(tape_line, steps=6, workers=workers))) for workers in (3, 120))
    for picture, whole in ((few, True), (many, False)):
        lanes = picture.lanes
        area = (picture.width - 200) * (lanes[-1].y1 - lanes[0].y0)
        assert sum(abs(arrow.y1 - arrow.y0) * arrow.width for arrow in picture.arrows) < 0.25 * area
        arrow = max(picture.arrows, key=lambda arrow: max(arrow.source, arrow.target))
        at, worker = (arrow.y1, arrow.target) if arrow.target > arrow.source else (arrow.y0, arrow.source)
        assert lanes[worker].y0 - 1 < at < lanes[worker].y1 + 1
        dispatcher = next(lane for lane in lanes if lane.name == "Dispatcher")
        assert (abs(min(arrow.y0, arrow.y1) - dispatcher.y) < dispatcher.y1 - dispatcher.y0) is whole


def test_idle_before_the_work_is_folded(make: Make, tape_line: Line) -> None:
    t = make(training(tape_line))
    folded, plain = layout(t), layout(t, Options(fold=False))
    assert len(folded.axis.stretches) == 2
    assert len(plain.axis.stretches) == 1
    assert any("2.30 s folded" in label.text for label in folded.labels)
    assert folded.axis.folded == 2300 * MS


def test_lines_do_not_go_through_names(make: Make, tape_line: Line) -> None:
    """Two signals whose names would reach over each other's lines, then one that stands free."""
    client = "CLIENT CLIENT 00cc"
    lines = []
    for seq, (at, name) in enumerate([(0.1, "a long name"), (0.11, "another one"), (0.9, "far away")], 1):
        lines.append(tape_line(at, 2 * seq - 1, "RECV", client, "CompileStart", "9B", f"signal={name}"))
        lines.append(tape_line(at + 0.002, 2 * seq, "RECV", client, "CompileEnd", "9B", f"signal={name}"))
    text = "".join(lines) + tape_line(1.0, 9, "RECV", client, "GetData", "9B", "tensor_id=1")
    picture = layout(make(text), Options(fold=False))
    names = [label for label in picture.labels if label.role == "signal"]
    assert len(names) == 3
    for line in picture.lines:
        for label in names:
            inside = label.box.x0 < line.x < label.box.x1
            assert not inside or line.y >= label.box.y1 - 1, (line, label)
    assert names[0].y == names[2].y < names[1].y


def test_waiting_is_not_idle() -> None:
    times = np.array([0, 900, 950, 1000]) * MS
    assert len(fold(times, None, True)) == 2
    assert len(fold(times, None, True, (np.array([0]), np.array([900 * MS])))) == 1


def test_two_moments_close_together_are_not_folded() -> None:
    assert fold(np.array([1232, 1232, 1234]) * MS, None, True) == [(1232 * MS, 1234 * MS)]
    assert len(fold(np.array([1232, 8_001_232]) * MS, None, True)) == 2


def test_a_wild_clock_does_not_widen_the_picture(make: Make, tape_line: Line) -> None:
    text = training(tape_line) + tape_line(8e6, 9999, "RECV", "CLIENT CLIENT 00cc", "GetData", "9B", "")
    for dpi in (150, 1200):
        picture = layout(make(text), Options(dpi=dpi))
        assert picture.width / PX * dpi <= MOST_PIXELS
        assert picture.height / PX * dpi <= MOST_PIXELS
    picture = layout(make(text))
    work = picture.axis.stretches[1]
    assert work.x1 - work.x0 > 800  # what happened before the wild time keeps its room
    many = "".join(
        tape_line(1, i + 1, "WORKER_SEND", f"WORKER w{i}", "WorkerUnaryOp", "9B", "op=relu") for i in range(1500)
    )
    tall = layout(make(many))
    assert tall.height / PX * 150 <= MOST_PIXELS
    assert overlaps(tall) == []


def test_mud_becomes_density(make: Make, tape_line: Line) -> None:
    c = "CLIENT CLIENT 00cc"
    lines = [
        tape_line(1 + i * 0.0004, i + 1, "RECV" if i % 2 == 0 else "SEND", c, "FreeTensor", "72B", "tensor_id=1")
        for i in range(9000)
    ]
    lines.append(tape_line(4.7, 9001, "RECV", c, "CreateTensor", "9.00MB", "tensor_id=7"))
    lines.append(tape_line(4.71, 9002, "SEND", c, "CreateTensor", "91B", "success=False"))
    picture = layout(make("".join(lines)))
    assert picture.dense
    assert len(picture.marks.x) == 2  # the largest message and what failed
    assert 100 < len(picture.density) < 4000
    lane = picture.lanes[0]
    assert min(picture.density.y) >= lane.y0
    assert "Height is the number of events" in picture.note[0]
    assert overlaps(picture) == []


def test_of_equally_large_ones_none_stands_out(make: Make, tape_line: Line) -> None:
    c = "CLIENT CLIENT 00cc"
    lines = [tape_line(n / 500, n, "RECV", c, "GetData", "1.00MB", f"tensor_id={n}") for n in range(1, 4000)]
    assert not len(layout(make("".join(lines))).marks.x)
    large = tape_line(8.5, 4000, "RECV", c, "GetData", "2.00MB", "tensor_id=1")
    picture = layout(make("".join([*lines, large])))
    assert [picture.dense, len(picture.marks.x)] == [True, 1]
    assert "Single marks stand for the largest" in picture.note[0]
    # where marks are single, the sizes that are written are not those of the first ones alone
    part = layout(make("".join(lines[:400])))
    x = [label.x for label in part.labels if label.role == "size"]
    assert min(x) < part.axis.x_of(100 * MS) and max(x) > part.axis.x_of(700 * MS)


def test_what_a_moment_is_is_never_less_than_the_clock_tells(make: Make, tape_line: Line) -> None:
    lines = [tape_line(1.0, n, "RECV", "CLIENT CLIENT 00cc", "GetData", "9B") for n in range(1, 9)]
    assert "Arrows are summed per 1.0 ms" in layout(make("".join(lines))).note[0]


def test_selection(make: Make, tape_line: Line) -> None:
    t = make(training(tape_line))
    some = select(t, workers=["w1"])
    assert [lane.name for lane in some.lanes] == ["Client", "Dispatcher", "w1"]
    assert {tuple(x) for x in zip(some.arrows.source.tolist(), some.arrows.target.tolist(), strict=True)} == {
        (0, 1), (1, 0), (1, 2), (2, 1),
    }  # fmt: skip
    ops = select(t, ops=["MATMUL", "GetData"])
    assert {ops.ops[i] for i in ops.op.tolist()} == {"matmul", "GetData"}
    short = select(t, interval=(3.0, 3.01))
    assert 0 < len(short) < len(t)
    assert short.time.min() + short.dur.max() >= 3000 * MS
    assert (short.pair < len(short)).all()
    with pytest.raises(Exception, match="No worker is named 'nobody'"):
        select(t, workers=["nobody"])
    with pytest.raises(Exception, match="Nothing on the tape is conv"):
        select(t, ops=["conv"])


def test_legend_has_what_occurs(make: Make, tape_line: Line) -> None:
    picture = layout(make(training(tape_line)))
    words = [item.text for item in picture.legend]
    assert words[:4] == ["MatMul", "ReLU", "GetData", "RegisterWorker"]
    assert "MODIFIER_INJECT" in words
    assert "signal end" in words
    assert "Sum" not in words
    assert max(item.x for item in picture.legend) < picture.width


def test_unknown_operations_get_colours_until_there_are_none() -> None:
    found = colours_of({**{f"op{i}": 100 - i for i in range(12)}, "MatMul": 1})
    assert len({found[f"op{i}"] for i in range(8)}) == 8
    assert found["op11"] == OTHER


def test_sizes_as_the_tape_writes_them() -> None:
    assert [size_text(n) for n in (91, 65741, 12582912, 1342177280)] == ["91 B", "64.2 KB", "12.0 MB", "1.2 GB"]


def test_a_long_name_leaves_room_for_the_figures(make: Make, tape_line: Line) -> None:
    t = replace(make(training(tape_line)), name="a_very_long_name_of_a_tape_" * 4)
    picture = layout(t)
    stretches = picture.axis.stretches
    room = stretches[-1].x1 - stretches[0].x0
    assert width(picture.title, 17, bold=True) + width(picture.subtitle, 12) < room
    assert picture.title.endswith("…")
