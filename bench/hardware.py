"""Thread traces: decoding and mapping against tinygrad's decoder, in the same run.

python bench/hardware.py [--packets 20000000]
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

TESTS = Path(__file__).resolve().parent.parent / "tests" / "query" / "hardware"


def neighbour(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, TESTS / f"{name}.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def median(work: Callable[[], Any], times: int = 5) -> float:
    taken = []
    for _ in range(times):
        begin = time.perf_counter()
        work()
        taken.append(time.perf_counter() - begin)
    return statistics.median(taken)


def report(name: str, ours: float, peer: float, unit: str = "s", **more: Any) -> None:
    print(json.dumps({"bench": name, "ours": ours, "peer": peer, "ratio": round(peer / ours, 1), "unit": unit, **more}))


def body(blob: bytes, nibbles: int) -> bytes:
    """A stream without its header and the zeros behind it, a whole number of bytes."""
    return blob[8 : (nibbles + 1) // 2]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--packets", type=int, default=20_000_000)
    wanted = parser.parse_args().packets
    from tinygrad.renderer.amd import sqtt as reference

    from peephole.query.hardware.decode import SILENT, Decoder, decode
    from peephole.query.hardware.mapping import map_instructions
    from peephole.query.hardware.packets import Arch

    neighbour("streams")
    tests = neighbour("test_mapping")
    streams = sys.modules["streams"]
    for arch in Arch:
        stream = streams.random_stream(arch, 1, 20_000)
        stream_blob = stream.blob()
        decode(stream_blob)
        count = len(decode(stream_blob))
        peer = median(lambda blob=stream_blob: sum(1 for _ in reference.decode(blob)), 3)  # type: ignore[misc]
        ours = median(lambda blob=stream_blob: decode(blob))  # type: ignore[misc]
        report(f"decode {arch.name}, {count} packets", ours, peer)
        piece = body(stream_blob, stream.nibbles)
        large = stream_blob[:8] + piece * (wanted // count) + bytes(16)

        def walk(blob: bytes = large) -> int:
            return sum(len(part) for part in Decoder(blob, SILENT).parts())

        seconds = median(walk, 3)
        packets = sum(_counts(large).values())
        print(json.dumps({"bench": f"decode {arch.name}, large", "ours": round(packets / seconds / 1e6, 1),
                          "unit": "M packets/s", "packets": packets}))  # fmt: skip
    binary, program = tests.kernel("loop")
    stream = tests.walk_waves(program, 3, count=3000)
    blob = stream.blob()
    map_instructions(decode(blob, SILENT), program)
    peer = median(lambda: sum(1 for _ in reference.map_insts(blob, binary, "gfx1100")), 3)
    ours = median(lambda: map_instructions(decode(blob, SILENT), program))
    report("decode and map RDNA3", ours, peer, rows=len(map_instructions(decode(blob, SILENT), program)))


def _counts(blob: bytes) -> dict[str, int]:
    from peephole.query.hardware.decode import SILENT, Decoder

    decoder = Decoder(blob, SILENT)
    for _ in decoder.parts():
        pass
    return decoder.counts()


if __name__ == "__main__":
    main()
