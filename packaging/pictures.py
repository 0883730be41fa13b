"""Makes the pictures of the README and the tutorials from real recordings: `make pictures`.

Every program is recorded and every command run as a reader would; then the page is opened in Chromium. `python
packaging/pictures.py fusion readme` makes those of some pages only.
"""

from __future__ import annotations

import io
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tutorials

if TYPE_CHECKING:
    from playwright.sync_api import Browser

OUT = tutorials.PAGES.parent / "pictures"
SIZE = {"width": 1280, "height": 720}
COLOURS = 256
"""Of a picture's palette: enough for a page that is calm, and half of the bytes."""
README = (
    (
        "readme",
        "demo.peep",
        "#/demo/rewrites?step={SELECT s.id FROM steps s JOIN contexts c ON s.context = c.id WHERE c.name LIKE"
        " 'Schedule 5 Kernels%' AND s.name = 'apply rangeify'}&match=9",
    ),
)


def main(wanted: list[str]) -> None:
    """Makes all pictures, or those of the pages that are named."""
    OUT.mkdir(exist_ok=True)
    with browser() as chromium:
        for page in sorted(tutorials.PAGES.glob("*.md")):
            if not wanted or page.stem in wanted:
                of_page(page, chromium)
        if not wanted or "readme" in wanted:
            of_readme(chromium)


def of_page(page: Path, chromium: Browser) -> None:
    """Does what the page says, and takes its pictures on the way."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if not tutorials.prepare(page, folder):
            print(f"{page.stem}: no sample here, its pictures stay as they are")
            return
        for step in tutorials.steps(page):
            if isinstance(step, tutorials.Picture):
                take(chromium, folder, step, "dark", OUT / f"{step.name}.png")
            else:
                tutorials.do(step, folder)


def of_readme(chromium: Browser) -> None:
    """The demo, in both themes."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        tutorials.do(tutorials.Typed("peephole demo -o demo.peep", ()), folder)
        for title, captures, address in README:
            picture = tutorials.Picture(title, tuple(captures.split()), address, ())
            for theme in ("dark", "light"):
                take(chromium, folder, picture, theme, OUT / f"{title}-{theme}.png")


@contextmanager
def browser() -> Iterator[Browser]:
    """Debian's Chromium, with nothing of its own to say to the network."""
    from playwright.sync_api import sync_playwright

    path = shutil.which("chromium")
    if path is None:
        sys.exit("Chromium is needed for pictures: apt-get install chromium")
    quiet = ["quic", "background-networking", "component-update", "sync"]
    flags = ["--no-sandbox", "--disable-gpu", "--no-first-run", *(f"--disable-{name}" for name in quiet)]
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=path, headless=True, args=flags)
        yield chromium
        chromium.close()


def take(chromium: Browser, folder: Path, picture: tutorials.Picture, theme: Any, out: Path) -> None:
    """Serves the captures, opens the address and keeps what is seen."""
    command = [sys.executable, "-m", "peephole", "serve", "--no-open", "--port", "0", *picture.captures]
    server = subprocess.Popen(
        command,
        cwd=folder,
        env=tutorials.environment(folder),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        assert server.stdout is not None
        found = next(filter(None, (re.search(r"http://127\.0\.0\.1:\d+/", line) for line in server.stdout)))
        address = re.sub(
            r"\{(.+?)\}", lambda query: answer(folder, picture.captures[0], query.group(1)), picture.address
        )
        context = chromium.new_context(viewport=SIZE, color_scheme=theme, device_scale_factor=1)
        page = context.new_page()
        page.goto(found.group(0) + address)
        page.wait_for_selector("section.view[data-shown]")
        page.wait_for_timeout(3000)
        for key in picture.keys:
            page.keyboard.press(key)
            page.wait_for_timeout(600)
        keep(page.screenshot(), out)
        context.close()
        print(f"{out.name}  {out.stat().st_size / 1000:.0f} kB")
    finally:
        server.terminate()
        server.wait()


def answer(folder: Path, capture: str, query: str) -> str:
    """The first value that a query finds."""
    done = subprocess.run(
        [sys.executable, "-m", "peephole", "query", query, capture, "--json"],
        cwd=folder,
        env=tutorials.environment(folder),
        capture_output=True,
        text=True,
        check=True,
    )
    return str(next(iter(json.loads(done.stdout.splitlines()[0]).values())))


def keep(png: bytes, out: Path) -> None:
    """Writes the picture with a palette."""
    from PIL import Image

    image = Image.open(io.BytesIO(png)).convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
    image.save(out, optimize=True)


if __name__ == "__main__":
    main(sys.argv[1:])
