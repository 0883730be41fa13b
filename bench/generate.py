"""Realistic training traces of any size: `python bench/generate.py --slices 24000000 OUT.peep [--chrome OUT.json]`.

Eight ranks of a training run: each with a device whose kernels run back to back, a copy queue and six host threads
whose spans nest four deep; 65 tracks in all, some hundred kernel names, jitter, pauses between steps, memory that is
allocated and freed. The capture is left as a journal, as a recorder would leave it, so that sealing is measured for
real; `--seal` seals it. The same arguments always give the same trace.
"""

from __future__ import annotations

import argparse
import json
import shutil
import socket
import time
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from peephole.model.journal import (
    HEADER,
    INLINE,
    KIND_FREE,
    KIND_SLICE,
    KIND_STRING,
    MAGIC,
    PREFIX,
    SLICE,
    SLOT,
    TABLE_KINDS,
    record_format,
    slots_for,
)
from peephole.model.tables import FORMAT_VERSION, TABLES
from peephole.store.journal.segments import SLICE as ROW

RANKS: Final = 8
THREADS: Final = 6
KERNELS: Final = 320
STEP: Final = 1500
"""Kernels of one training step."""
SEGMENT: Final = (4 << 20) // SLOT - 1
EPOCH: Final = 1_000_000_000_000
Rows = NDArray[Any]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Trace:
    """The sizes of a trace of about `slices` slices."""

    kernels: int
    copies: int
    spans: int
    seed: int

    @property
    def period(self) -> float:
        """Mean nanoseconds from kernel to kernel."""
        return 14_000.0


def plan(slices: int, seed: int = 1) -> Trace:
    """How many kernels, copies (per rank) and innermost spans (per thread) make that many slices."""
    each = slices / RANKS
    return Trace(int(each * 0.6), int(each * 0.1), max(1, int(each * 0.3 / THREADS / 1.1111)), seed)


def kernel_names() -> list[str]:
    """Names as a tensor compiler gives them."""
    rng = np.random.default_rng(7)
    kinds = ["r", "E", "gemm", "softmax", "layernorm", "attention_fwd", "attention_bwd", "adam", "allreduce"]
    names = []
    for i in range(KERNELS):
        sizes = "_".join(str(int(2 ** rng.integers(1, 11))) for _ in range(int(rng.integers(2, 5))))
        names.append(f"{kinds[int(rng.integers(len(kinds)))]}_{sizes}n{i}")
    return names


COPIES: Final = ["copy host -> device", "copy device -> host", "copy peer", "all-gather", "reduce-scatter"]
SPANS: Final = [
    "step",
    *["forward", "backward", "optimizer"],
    *[f"layer.{i}" for i in range(48)],
    *["matmul", "add", "gelu", "view", "transpose", "softmax", "dropout", "index", "cast", "launch", "wait", "lock"],
]


def device_slices(trace: Trace, rank: int) -> tuple[Ints, Ints, Ints]:
    """Start, duration and kernel of a device's slices: back to back, with a pause after every step."""
    rng = np.random.default_rng([trace.seed, rank, 0])
    pattern = np.random.default_rng(trace.seed).integers(0, KERNELS, STEP)
    typical = np.random.default_rng(11).lognormal(9.0, 0.9, KERNELS)
    count = trace.kernels
    name = np.resize(pattern, count)
    dur = np.maximum(1, typical[name] * rng.lognormal(0, 0.06, count)).astype(np.int64)
    gap = rng.integers(80, 900, count)
    gap[STEP - 1 :: STEP] += rng.integers(400_000, 2_000_000, len(gap[STEP - 1 :: STEP]))
    start = EPOCH + rank * 1000 + np.cumsum(dur + gap) - dur - gap
    return start, dur, name


def copy_slices(trace: Trace, rank: int, span: int) -> tuple[Ints, Ints, Ints]:
    """Start, duration and kind of a copy queue's slices, spread over the run with idle between."""
    rng = np.random.default_rng([trace.seed, rank, 1])
    count = trace.copies
    if count == 0:
        zero = np.zeros(0, np.int64)
        return zero, zero, zero
    every = span / count
    step = np.maximum(200, rng.exponential(every, count)).astype(np.int64)
    dur = np.minimum(step - 100, np.maximum(50, rng.lognormal(np.log(every * 0.3), 0.8, count))).astype(np.int64)
    start = EPOCH + 2000 + np.cumsum(step) - step
    return start, dur, rng.integers(0, len(COPIES), count)


def span_slices(trace: Trace, rank: int, thread: int, span: int) -> tuple[Ints, Ints, Ints, Ints]:
    """Start, duration, name and depth of a host thread's spans, in the order in which they end."""
    rng = np.random.default_rng([trace.seed, rank, 2 + thread])
    count = trace.spans
    every = span / count
    step = np.maximum(300, rng.lognormal(np.log(every) - 0.5, 1.0, count)).astype(np.int64)
    start = EPOCH + 5000 + np.cumsum(step) - step
    dur = np.maximum(20, (step * rng.uniform(0.3, 0.9, count)).astype(np.int64) - 200)
    leaf = 1 + 3 + 48 + rng.integers(0, len(SPANS) - 52, count)
    starts, durs, names, depths = [start], [dur], [leaf], [np.full(count, 3)]
    margin = 20
    ends = start + dur
    for depth, group in ((2, 12), (1, 144), (0, 432)):
        first = np.arange(0, count, group)
        last = np.minimum(first + group, count) - 1
        begin, end = start[first] - margin, ends[last] + margin
        number = np.arange(len(first))
        name = np.zeros(len(first), np.int64) if depth == 0 else 1 + number % 3 if depth == 1 else 4 + number % 48
        starts.append(begin)
        durs.append(end - begin)
        names.append(name)
        depths.append(np.full(len(first), depth))
        margin += 20
    s, d, n, p = (np.concatenate(parts) for parts in (starts, durs, names, depths))
    order = np.lexsort((-p, s + d))
    return s[order], d[order], n[order], p[order]


def memory(trace: Trace, rank: int, span: int) -> tuple[Ints, Ints, Ints]:
    """Alloc, free (-1: never) and size of a device's buffers: about one for every forty kernels."""
    rng = np.random.default_rng([trace.seed, rank, 99])
    count = max(4, trace.kernels // 40)
    alloc = EPOCH + np.sort(rng.integers(0, max(1, span), count))
    life = rng.lognormal(np.log(max(2.0, span / 50)), 1.2, count).astype(np.int64)
    free = alloc + np.maximum(1, life)
    free[free > EPOCH + span] = -1
    return alloc, free, (2 ** rng.integers(8, 26, count)).astype(np.int64)


def rows(start: Ints, dur: Ints, name: Ints, track: int, depth: Any = 0, correlation: Any = 0) -> Rows:
    """Slices as the slots of a journal."""
    out = np.zeros(len(start), ROW)
    for column, values in (("start", start), ("dur", dur), ("name", name), ("track", track), ("depth", depth)):
        out[column] = values
    out["correlation"] = correlation
    out["kind"] = KIND_SLICE
    return out


def record(kind: int, payload: bytes) -> bytes:
    """Any other record of a journal."""
    slots = bytearray(slots_for(len(payload)) * SLOT)
    PREFIX.pack_into(slots, 0, len(payload))
    slots[4 : 4 + min(INLINE, len(payload))] = payload[:INLINE]
    slots[SLOT : SLOT + max(0, len(payload) - INLINE)] = payload[INLINE:]
    slots[SLOT - 1] = kind
    return bytes(slots)


class Journal:
    """Writes one thread's segments."""

    def __init__(self, folder: Path, process: int, thread: int) -> None:
        self.folder, self.process, self.thread = folder, process, thread
        self.number = 0

    def write(self, data: bytes) -> None:
        """Writes whole slots as closed segments; records must not be longer than one slot each, or be few."""
        size = SEGMENT * SLOT
        for at in range(0, len(data), size):
            part = data[at : at + size]
            head = HEADER.pack(
                MAGIC, FORMAT_VERSION, self.process, self.thread, self.number, len(part) // SLOT, zlib.crc32(part), 0
            )
            path = self.folder / f"t{self.thread:04}.{self.number:06}.seg"
            path.write_bytes(head + part)
            self.number += 1


def texts(names: list[str]) -> bytes:
    """Records that number the texts from 1."""
    return b"".join(record(KIND_STRING, name.encode()) for name in names)


def track_rows(first: int, names: list[tuple[int, int, int]]) -> bytes:
    """Rows of `tracks`: (number of the name's text, number of the kind's text, parent)."""
    form = record_format(TABLES["tracks"])
    rows = [form.pack(first + i, name, kind, parent, i, -1, -1, 0, 0) for i, (name, kind, parent) in enumerate(names)]
    return b"".join(record(TABLE_KINDS["tracks"], row) for row in rows)


def buffer_rows(alloc: Ints, size: Ints, device: int, dtype: int) -> bytes:
    """Rows of `buffers`, two slots each, made at once."""
    form = record_format(TABLES["buffers"])
    assert form.size == 44
    payload = np.zeros(len(alloc), np.dtype("<i8,<u4,<i8,<i8,<i8,<u4,<u4"))
    payload["f0"] = np.arange(1, len(alloc) + 1)
    payload["f1"], payload["f2"], payload["f3"], payload["f4"], payload["f5"] = device, alloc, -1, size, dtype
    return _records(payload.view(np.uint8).reshape(len(alloc), 44), TABLE_KINDS["buffers"])


def free_rows(buffers: Ints, times: Ints) -> bytes:
    """When buffers were freed."""
    payload = np.stack([buffers, times], axis=1).astype("<i8")
    return _records(payload.view(np.uint8).reshape(len(buffers), 16), KIND_FREE)


def _records(payload: NDArray[np.uint8], kind: int) -> bytes:
    count, length = payload.shape
    out = np.zeros((count, slots_for(length) * SLOT), np.uint8)
    out[:, :4] = np.frombuffer(PREFIX.pack(length), np.uint8)
    out[:, 4 : 4 + min(INLINE, length)] = payload[:, :INLINE]
    out[:, SLOT : SLOT + max(0, length - INLINE)] = payload[:, INLINE:]
    out[:, SLOT - 1] = kind
    return out.tobytes()


def chunked(data: bytes, record_bytes: int) -> Iterator[bytes]:
    """Parts that fit a segment and end with a record."""
    size = SEGMENT * SLOT // record_bytes * record_bytes
    for at in range(0, len(data), size):
        yield data[at : at + size]


def write_rank(trace: Trace, folder: Path, rank: int) -> int:
    """Writes a rank's journal and gives its number of slices."""
    folder.mkdir()
    facts = {
        "format": FORMAT_VERSION, "ordinal": rank, "pid": 1000 + rank, "parent": 1, "argv": ["train.py"],
        "executable": "python", "python": "3.11", "host": socket.gethostname(), "boot": "generated",
        "clock": {"perf_counter_ns": EPOCH, "time_ns": 1_700_000_000_000_000_000}, "rank": rank, "started": EPOCH,
        "ended": EPOCH, "clean": True,
    }  # fmt: skip
    (folder / "process.json").write_text(json.dumps(facts))
    # texts 1…: kernels, copies, then the names of tracks
    base = KERNELS + len(COPIES)
    heads = [f"GPU:{rank}", f"GPU:{rank} copy", *(f"rank {rank} thread {i}" for i in range(THREADS)), "USER"]
    words = [*kernel_names(), *COPIES, *heads, "device", "copy", "thread", "user", "float16"]
    kinds = base + len(heads)
    tracks = [(base + 1, kinds + 1, -1), (base + 2, kinds + 2, 0)]
    tracks += [(base + 3 + i, kinds + 3, -1) for i in range(THREADS)]
    if rank == 0:
        tracks.append((base + 3 + THREADS, kinds + 4, -1))
    main = Journal(folder, rank, 0)
    main.write(texts(words) + track_rows(0, tracks))
    start, dur, name = device_slices(trace, rank)
    span = int(start[-1] + dur[-1] - EPOCH) if len(start) else 1_000_000
    kernels = rows(start, dur, name + 1, 0, correlation=np.arange(1, len(start) + 1))
    start, dur, name = copy_slices(trace, rank, span)
    copies = rows(start, dur, name + 1 + KERNELS, 1)
    both = np.concatenate([kernels, copies])
    both = both[np.argsort(both["start"] + both["dur"], kind="stable")]
    main.write(both.tobytes())
    total = len(both)
    alloc, free, size = memory(trace, rank, span)
    for part in chunked(buffer_rows(alloc, size, base + 1, kinds + 5), 2 * SLOT):
        main.write(part)
    freed = np.flatnonzero(free >= 0)
    main.write(free_rows(freed + 1, free[freed]))
    for thread in range(THREADS):
        journal = Journal(folder, rank, thread + 1)
        journal.write(texts(SPANS))
        start, dur, name, depth = span_slices(trace, rank, thread, span)
        journal.write(rows(start, dur, name + 1, 2 + thread, depth).tobytes())
        total += len(start)
    if rank == 0:
        journal = Journal(folder, rank, THREADS + 1)
        every = trace.period * STEP
        steps = max(1, int(span / every))
        begin = EPOCH + (np.arange(steps) * every).astype(np.int64)
        journal.write(
            texts(["train step"])
            + rows(begin, np.full(steps, int(every * 0.95)), np.ones(steps, np.int64), 8).tobytes()
        )
        total += steps
    return total


def generate(path: Path, slices: int, seed: int = 1) -> int:
    """Leaves an unsealed capture of about that many slices at `path` and gives their exact number."""
    shutil.rmtree(path, ignore_errors=True)
    (path / "journal").mkdir(parents=True)
    manifest = {"format": FORMAT_VERSION, "name": path.name.removesuffix(".peep"), "state": "recording", "clean": False,
                "program": "train.py", "argv": ["train.py"], "source": "bench", "frameworks": {}}  # fmt: skip
    (path / "manifest.json").write_text(json.dumps(manifest))
    trace = plan(slices, seed)
    return sum(write_rank(trace, path / "journal" / f"p{rank:05}", rank) for rank in range(RANKS))


DETAIL: Final = {
    "compact": '{{"ph":"X","cat":"{cat}","name":{name},{at},"dur":{dur},"args":{{{args}}}}},\n',
    "torch": (
        '  {{\n    "ph": "X", "cat": "{cat}", "name": {name}, {at},\n    "dur": {dur},\n'
        '    "args": {{\n      {args}\n    }}\n  }},\n'
    ),
}
"""How an event with args is written: without blanks, or on several lines as torch.profiler does it."""


def detailed(layout: str, rank: int, tid: int, title: str, lane: tuple[Ints, Ints, Ints, list[str]]) -> Iterator[str]:
    """The slices of a lane with category and args, an arrow for every 16th, now and then a counter and a moment: 9
    events for 8 slices, 190 bytes each."""
    begins, durs, codes, words = lane
    cat = "kernel" if tid == 0 else "gpu_memcpy" if tid == 1 else "cpu_op"
    quoted = [json.dumps(word) for word in words]
    form = DETAIL[layout].format
    for number, (s, d, n) in enumerate(zip(begins.tolist(), durs.tolist(), codes.tolist(), strict=True)):
        at = f'"pid":{rank},"tid":{tid},"ts":{s // 1000}.{s % 1000:03}'
        own = number * 64 + rank * 8 + tid
        args = (
            f'"External id":{own},"device":{rank},"stream":{7 + tid},"correlation":{own},"bytes":{(d * 37) & ~255},'
            f'"grid":[{1 + n},1,1]'
        )
        yield form(cat=cat, name=quoted[n], at=at, dur=f"{d // 1000}.{d % 1000:03}", args=args)
        if number & 15 == 3:
            phase = '"s"' if number & 16 else '"f","bp":"e"'
            yield f'{{"ph":{phase},"id":{number >> 5},"cat":"ac2g","name":"ac2g",{at}}},\n'
        if number & 31 == 5:
            yield f'{{"ph":"C","name":"bytes {title}",{at},"args":{{"allocated":{d * 64},"reserved":{d * 128}}}}},\n'
        if number & 31 == 9:
            mark = f'"name":"mark {n}",{at},"args":{{"step":{number // STEP}}}'
            yield f'{{"ph":"i","s":"t","cat":"{cat}",{mark}}},\n'


def chrome(path: Path, slices: int, seed: int = 1, detail: str | None = None) -> int:
    """Writes the same trace as Chrome trace JSON, for the peers, and gives the number of slices; see `detailed`."""
    trace = plan(slices, seed)
    total = 0
    with path.open("w", encoding="utf-8") as file:
        file.write('{"traceEvents":[\n')
        for rank in range(RANKS):
            start, dur, name = device_slices(trace, rank)
            span = int(start[-1] + dur[-1] - EPOCH) if len(start) else 1_000_000
            lanes = [(f"GPU:{rank}", start, dur, name, kernel_names())]
            lanes.append((f"GPU:{rank} copy", *copy_slices(trace, rank, span), COPIES))
            for thread in range(THREADS):
                begin, length, span_name, _ = span_slices(trace, rank, thread, span)
                lanes.append((f"rank {rank} thread {thread}", begin, length, span_name, SPANS))
            for tid, (title, begins, durs, codes, words) in enumerate(lanes):
                meta = {"ph": "M", "pid": rank, "tid": tid, "name": "thread_name", "args": {"name": title}}
                file.write(json.dumps(meta) + ",\n")
                total += len(begins)
                if detail is not None:
                    file.writelines(detailed(detail, rank, tid, title, (begins, durs, codes, words)))
                    continue
                quoted = [json.dumps(word) for word in words]
                head = f'{{"ph":"X","pid":{rank},"tid":{tid},"ts":'
                lines = (
                    f'{head}{s // 1000}.{s % 1000:03},"dur":{d // 1000}.{d % 1000:03},"name":{quoted[n]}}},\n'
                    for s, d, n in zip(begins.tolist(), durs.tolist(), codes.tolist(), strict=True)
                )
                file.writelines(lines)
        file.write('{"ph":"M","pid":0,"name":"process_name","args":{"name":"train.py"}}\n]}\n')
    return total


def many_buffers(path: Path, count: int) -> None:
    """A sealed capture of that many buffers on one device, in ten seconds, of all sizes and lifetimes."""
    from peephole.store.writer import CaptureWriter

    rng = np.random.default_rng(3)
    alloc = np.sort(rng.integers(0, 10_000_000_000, count))
    life = rng.exponential(8_000_000, count).astype(np.int64) + 1000
    size = (rng.pareto(1.1, count) * 1000).astype(np.int64) + 16
    with CaptureWriter(path) as writer:
        columns = {"id": np.arange(count), "alloc": alloc, "free": alloc + life, "bytes": size}
        writer.append("buffers", {**columns, "device": ["GPU"] * count, "dtype": ["float"] * count})


FUNCTIONS: Final = ("main", "epoch", "step", "forward", "block", "layer", "attention", "matmul", "realize", "lower")


def nested_slices(slices: int, thread: int, of: int, functions: int = 0) -> tuple[Ints, Ints, Ints, Ints]:
    """Start, duration, name and depth of a thread of calls, each of which calls three others: two of one function.

    The tree of its functions has 2**depth of them at a depth. With `functions` one call after the other is of so many,
    so that hardly two calls are the same node of the tree.
    """
    rng = np.random.default_rng([thread, slices])
    levels = 1
    while (3 ** (levels + 1) - 1) // 2 * of * 8 <= slices:
        levels += 1
    roots = max(1, round(slices / of / ((3**levels - 1) // 2)))
    leaves = roots * 3 ** (levels - 1)
    step = rng.integers(200, 3_000, leaves)
    # room on both sides for every caller
    start = EPOCH + np.cumsum(step + 20 * levels) - step
    end = start + (step * rng.uniform(0.2, 0.9, leaves)).astype(np.int64)
    starts, ends, names, depths = [], [], [], []
    for depth in range(levels - 1, -1, -1):
        position = np.arange(len(start)) % 3 // 2 if depth else 0
        number = np.arange(len(start)) % functions if functions else 2 * depth + position
        names.append(number + np.zeros(len(start), np.int64))
        starts.append(start)
        ends.append(end)
        depths.append(np.full(len(start), depth))
        start, end = start[::3] - 7, end[2::3] + 7
    s, e, n, d = (np.concatenate(parts) for parts in (starts, ends, names, depths))
    return s, e - s, n, d


def nested(path: Path, slices: int, threads: int = 8, functions: int = 0) -> int:
    """A sealed capture of about that many slices of nested calls on some threads, of few functions or of so many; gives
    their number."""
    from peephole.model.sink import Strings
    from peephole.store.writer import CaptureWriter

    words = [f"{FUNCTIONS[depth % len(FUNCTIONS)]}_{depth}{suffix}" for depth in range(40) for suffix in ("", "_last")]
    words += [f"{FUNCTIONS[i % len(FUNCTIONS)]}_{i}" for i in range(len(words), functions)]
    total = 0
    with CaptureWriter(path) as writer:
        heads = {"id": list(range(threads)), "name": [f"thread {i}" for i in range(threads)]}
        writer.append("tracks", {**heads, "kind": ["thread"] * threads, "order": list(range(threads))})
        for thread in range(threads):
            start, dur, name, depth = nested_slices(slices, thread, threads, functions)
            for at in range(0, len(start), 1 << 20):
                part = slice(at, at + (1 << 20))
                texts = Strings(name[part].astype(np.int32), words)
                columns = {"start": start[part], "dur": dur[part], "depth": depth[part].astype(np.int16), "name": texts}
                writer.append("slices", {**columns, "track": np.full(len(start[part]), thread, np.int32)})
            total += len(start)
    return total


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path, nargs="?", help="capture folder NAME.peep")
    parser.add_argument("--slices", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--chrome", type=Path, help="also, or only, as Chrome trace JSON")
    parser.add_argument("--detail", choices=DETAIL, help="the JSON with categories, args, arrows, counters")
    parser.add_argument("--seal", action="store_true")
    parser.add_argument("--nested", type=int, metavar="THREADS", help="calls on so many threads instead, sealed")
    args = parser.parse_args()
    if args.out is None and args.chrome is None:
        parser.error("name a capture folder, or --chrome FILE")
    began = time.perf_counter()
    if args.nested:
        count = nested(args.out, args.slices, args.nested)
        print(json.dumps({"generated": str(args.out), "slices": count, "seconds": time.perf_counter() - began}))
    elif args.out is not None:
        count = generate(args.out, args.slices, args.seed)
        print(json.dumps({"generated": str(args.out), "slices": count, "seconds": time.perf_counter() - began}))
        if args.seal:
            from peephole.store.journal.seal import seal

            seal(args.out)
    if args.chrome is not None:
        count = chrome(args.chrome, args.slices, args.seed, args.detail)
        print(json.dumps({"generated": str(args.chrome), "slices": count}))


if __name__ == "__main__":
    assert SLICE.size == ROW.itemsize == SLOT
    main()
