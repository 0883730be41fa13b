"""Many records are taken apart together: the rows are those of a reader that goes from one to the next."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from peephole.model.journal import INLINE, SLOT
from peephole.record.place import begin_capture
from peephole.record.recorder import Recorder
from peephole.store.capture import open_capture
from peephole.store.journal.seal import seal
from peephole.store.journal.segments import split

END, SLICE, PAD = 0, 1, 7


def one_by_one(data: bytes, *, closed: bool) -> tuple[list[tuple[int, int, int]], list[int], int, int]:
    """Slot, kind and length of the records, the slots of slices, the end, and how many problems there are."""
    records: list[tuple[int, int, int]] = []
    slices: list[int] = []
    slots, slot, problems = len(data) // SLOT, 0, 0

    def kind_at(place: int) -> int:
        return data[place * SLOT + SLOT - 1]

    while slot < slots:
        kind, length = kind_at(slot), int.from_bytes(data[slot * SLOT : slot * SLOT + 4], "little")
        behind = slot + 1 + max(0, -(-(length - INLINE) // SLOT))
        if kind == SLICE:
            slices.append(slot)
            slot += 1
        elif kind == END:
            if length and behind < slots and kind_at(behind) != END:
                slot = behind
            elif not closed:
                return records, slices, slot, problems
            else:  # slices that stand between are none that anybody can be sure of, but they are kept
                while slot < slots and kind_at(slot) in (END, SLICE):
                    if kind_at(slot) == SLICE:
                        slices.append(slot)
                    slot += 1
            problems += 1
        elif kind == PAD:
            slices += [place for place in range(slot, slots) if kind_at(place) == SLICE]
            return records, slices, slots, problems
        elif behind > slots:
            return records, slices, slot, problems + 1
        else:
            records.append((slot, kind, length))
            slot = behind
    return records, slices, slots, problems


def counting(problems: Counter[str]) -> Callable[[str, int, str], None]:
    def problem(reason: str, count: int, _: str) -> None:
        problems[reason] += count

    return problem


def damaged(rng: random.Random) -> bytes:
    data = bytearray(rng.randbytes(SLOT * rng.randint(1, 60)))
    for at in range(0, len(data), SLOT):
        data[at + SLOT - 1] = rng.choice([END, SLICE, SLICE, SLICE, PAD if rng.random() < 0.1 else 9, 9, 18, 20])
        data[at : at + 4] = rng.choice([0, 5, 26, 27, 60, 200, 4000, 2**32 - 1]).to_bytes(4, "little")
    return bytes(data[: rng.randrange(len(data) + 1)] if rng.random() < 0.3 else data)


@pytest.mark.parametrize("closed", [True, False])
def test_any_segment_is_split_as_one_by_one(closed: bool) -> None:
    rng = random.Random(7)
    seen = 0
    for _ in range(1500):
        data = damaged(rng)
        problems: Counter[str] = Counter()
        found = split(data, closed, counting(problems), "here")
        records, slices, end, count = one_by_one(data, closed=closed)
        own = zip(found.record_at.tolist(), found.record_kind.tolist(), found.record_length.tolist(), strict=True)
        assert (list(own), found.end, problems.total()) == (records, end, count)
        at = range(len(found.slices)) if found.slice_at is None else found.slice_at.tolist()
        assert list(at) == slices
        seen += len(records)
    assert seen > 1000


@pytest.mark.parametrize("first", [None, "it failed"])
def test_of_many_steps_of_one_number_the_last_counts(tmp_path: Path, first: str | None) -> None:
    """Whether it has a text of its own, which makes it a record of another size, or has none."""
    then = "it failed" if first is None else None
    recorder = Recorder(begin_capture(str(tmp_path / "t.peep"), "t", []))
    recorder.row("contexts", id=1, name="c", kind="kernel")
    for number in range(200):
        recorder.row("steps", id=number, context=1, ordinal=number, name="a", error=first if number == 150 else None)
    recorder.row("steps", id=150, context=1, ordinal=150, name="b", error=then)
    recorder.close()
    capture = open_capture(seal(tmp_path / "t.peep"))
    steps = capture.read("steps")
    assert len(steps) == 200
    assert (steps.texts("name")[150], steps.texts("error")[150]) == ("b", then)
    assert [text for text in steps.texts("name") if text != "a"] == ["b"]
    capture.close()
