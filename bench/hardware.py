"""Thread traces: decoding and mapping against tinygrad's decoder, in the same run.

python bench/hardware.py [--packets 20000000]
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
"""The encoder and the kernels are those of the tests."""
FIXTURES = ROOT.parent / "shared" / "fixtures" / "sqtt"


def seconds(work: Callable[[], Any]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def median(work: Callable[[], Any], times: int = 5) -> float:
    return statistics.median(seconds(work) for _ in range(times))


def report(name: str, ours: float, peer: float, unit: str = "s", **more: Any) -> None:
    print(json.dumps({"bench": name, "ours": ours, "peer": peer, "ratio": round(peer / ours, 1), "unit": unit, **more}))


def body(blob: bytes, nibbles: int) -> bytes:
    """A stream without its header and the zeros behind it, a whole number of bytes."""
    return blob[8 : (nibbles + 1) // 2]


def real_blobs(arch: str) -> Iterator[bytes]:
    """The traces of the real captures; none when they are not there."""
    from peephole.ingest import import_files
    from peephole.query.hardware.traces import content, entries
    from peephole.store.capture import open_capture

    for path in sorted((FIXTURES / arch).glob("*.pkl")):
        capture = open_capture(import_files([path]))
        yield from (content(capture, entry) for entry in entries(capture) if entry.kind == "sqtt")


def bench_blobs(reference: Any) -> None:
    """Every blob of the real captures by itself, turn and turn about."""
    from peephole.query.hardware.decode import decode

    for arch in ("gfx1100", "gfx1200", "gfx950"):
        times: list[tuple[float, float]] = []
        packets = 0
        for blob in real_blobs(arch):
            packets += len(decode(blob))
            ours, peer = [], []
            for _ in range(5):
                peer.append(seconds(lambda blob=blob: sum(1 for _ in reference.decode(blob))))  # type: ignore[misc]
                ours += [seconds(lambda blob=blob: decode(blob)) for _ in range(11)]  # type: ignore[misc]
            times.append((statistics.median(ours), statistics.median(peer)))
        if times:
            ratios = sorted(peer / ours for ours, peer in times)
            name = f"decode {arch}, {len(times)} real blobs, {packets} packets"
            more: dict[str, Any] = {"worst": round(ratios[0], 1), "median": round(statistics.median(ratios), 1)}
            report(name, sum(t[0] for t in times), sum(t[1] for t in times), **more)


def bench_large(arch: Any, stream: Any, wanted: int) -> None:
    """A long stream part by part; the memory is what the process grew by beyond the stream itself."""
    from peephole.query.hardware.decode import SILENT, Decoder, decode

    blob = stream.blob()
    count = len(decode(blob))
    large = blob[:8] + body(blob, stream.nibbles) * (wanted // count + 1) + bytes(16)
    for name, skip in (("all columns", frozenset()), ("without packets that only pass time", SILENT)):
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        taken = []
        for _ in range(3):
            decoder = Decoder(large, skip)
            begin = time.perf_counter()
            for _part in decoder.parts():
                pass
            taken.append(time.perf_counter() - begin)
        packets = sum(decoder.counts().values())
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
        print(json.dumps({"bench": f"decode {arch.name}, large, {name}", "packets": packets, "bytes": len(large),
                          "ours": round(packets / statistics.median(taken) / 1e6, 1), "unit": "M packets/s",
                          "grown_mib": round(grown)}))  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--packets", type=int, default=20_000_000)
    wanted = parser.parse_args().packets
    from tests.query.hardware import kernels, streams
    from tinygrad.renderer.amd import sqtt as reference

    from peephole.query.hardware.decode import SILENT, decode
    from peephole.query.hardware.mapping import map_instructions
    from peephole.query.hardware.packets import Arch

    bench_blobs(reference)
    for arch in Arch:
        stream = streams.random_stream(arch, 1, 20_000)
        stream_blob = stream.blob()
        count = len(decode(stream_blob))
        peer = median(lambda blob=stream_blob: sum(1 for _ in reference.decode(blob)), 3)  # type: ignore[misc]
        ours = median(lambda blob=stream_blob: decode(blob))  # type: ignore[misc]
        report(f"decode {arch.name}, {count} random packets", ours, peer)
        bench_large(arch, stream, wanted)
    binary, program = kernels.kernel("loop")
    blob = kernels.walk_waves(program, 3, count=3000).blob()
    map_instructions(decode(blob, SILENT), program)
    peer = median(lambda: sum(1 for _ in reference.map_insts(blob, binary, "gfx1100")), 3)
    ours = median(lambda: map_instructions(decode(blob, SILENT), program))
    report("decode and map RDNA3", ours, peer, rows=len(map_instructions(decode(blob, SILENT), program)))


if __name__ == "__main__":
    main()
