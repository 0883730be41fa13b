"""A million-packet thread trace: from the page's first request to the picture.

python bench/web_hardware.py [--packets 1000000]
The peer, tinygrad's own viewer, builds its events with `sqtt_timeline`; it is timed on a part and scaled, since it
stops at 50,000 packets by default.
"""

from __future__ import annotations

import argparse
import itertools
import json
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from bench.hardware import body
from bench.web_timeline import serve, stop


def make(path: Path, packets: int) -> tuple[bytes, bytes, int]:
    from tests.query.hardware import kernels

    from peephole.query.hardware.decode import decode
    from peephole.store.writer import CaptureWriter

    binary, program = kernels.kernel("loop")
    stream = kernels.walk_waves(program, 3, count=2000)
    blob = stream.blob()
    count = len(decode(blob))
    large = blob[:8] + body(blob, stream.nibbles) * (packets // count + 1) + bytes(16)
    with CaptureWriter(path) as writer:
        writer.append("artifacts", {"kind": ["binary"], "name": ["gemm"], "language": ["gfx1100"], "content": [binary]})
        writer.append(
            "hardware",
            {"kernel": ["gemm"], "device": ["AMD"], "kind": ["sqtt"], "unit": ["SE:0"], "arch": ["gfx1100"],
             "props": [json.dumps({"itrace": True})], "content": [large]},
        )  # fmt: skip
    return large, binary, len(decode(large))


def drawn(path: Path) -> list[float]:
    """Seconds from the page's first request to the picture: by a server that has done nothing yet, then again."""
    from playwright.sync_api import sync_playwright

    process, address = serve(path)
    taken = []
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(
                executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
            )
            for _ in range(3):
                page = browser.new_page(viewport={"width": 1600, "height": 900})
                begin = time.perf_counter()
                page.goto(f"{address}#/{path.name.removesuffix('.peep')}/hardware")
                page.wait_for_selector('section.view[data-shown^="waves/"]', timeout=120_000)
                taken.append(time.perf_counter() - begin)
                page.close()
            browser.close()
    finally:
        stop(process)
    return taken


def peer(blob: bytes, binary: bytes, packets: int, part: int = 40_000) -> Any:
    from tinygrad.viz.serve import sqtt_timeline

    begin = time.perf_counter()
    found = sum(1 for _ in itertools.islice(sqtt_timeline(blob, binary, "gfx1100"), part))
    return (time.perf_counter() - begin) * packets / max(found, 1)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--packets", type=int, default=1_000_000)
    wanted = parser.parse_args().packets
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "large.peep"
        blob, binary, packets = make(path, wanted)
        first, *again = drawn(path)
        theirs = peer(blob, binary, packets)
    print(
        json.dumps(
            {"bench": "hardware page drawn", "packets": packets, "ours": round(first, 2), "again": round(min(again), 2),
             "peer": round(theirs, 1), "ratio": round(theirs / first, 1), "unit": "s",
             "peer_is": "its events only, scaled from 40,000"}
        )
    )  # fmt: skip


if __name__ == "__main__":
    main()
