"""The docs as a site: it builds, no link is dead, and nothing is loaded from elsewhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent


def test_the_site_builds_without_a_dead_link_and_loads_nothing_from_elsewhere(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, f"a page that is not in mkdocs.yml, or a dead link:\n{done.stderr}"
    pages = list(tmp_path.rglob("*.html"))
    assert (tmp_path / "tutorials" / "fusion.html") in pages
    for page in pages:
        text = page.read_text(encoding="utf-8")
        loaded = re.findall(r"<(?:script|img|source|iframe)[^>]+src(?:set)?=\"(\w+:[^\"]+)\"", text)
        loaded += re.findall(r"<link[^>]+rel=\"(?:stylesheet|preconnect|icon)\"[^>]+href=\"(\w+:[^\"]+)\"", text)
        assert loaded == [], page.name
