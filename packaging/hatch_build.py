"""What happens while the package is built: the page is made, and the start-up file goes next to the package."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

sys.path.insert(0, str(Path(__file__).parent))
import web_build

STARTUP = "peephole-startup.pth"
"""Read by every Python that starts with this environment; does nothing unless PEEPHOLE is set."""

BUILT_FROM = "built_from.txt"
"""Beside the package's modules: the commit that it was built from, which `peephole --version` says."""


class PeepholeHook(BuildHookInterface[Any]):
    """Puts the page into wheel and sdist, and the start-up file into the root of the wheel."""

    def dependencies(self) -> list[str]:
        """Node from PyPI, only where the page has to be built and the machine has none."""
        return [] if web_build.is_built() or web_build.system_node() else [web_build.NODE_PACKAGE]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Builds the page and names the files that git does not have."""
        web_build.build()
        build_data["artifacts"].append("/src/peephole/server/static/")
        if (commit := self._commit()) is not None:
            note = Path(self.root) / "build" / BUILT_FROM
            note.parent.mkdir(exist_ok=True)
            note.write_text(commit + "\n", encoding="utf-8")
            inside = "peephole" if self.target_name == "wheel" else "src/peephole"
            build_data["force_include"][str(note)] = f"{inside}/{BUILT_FROM}"
        if self.target_name == "wheel":
            startup = {str(Path(self.root) / "packaging" / STARTUP): STARTUP}
            build_data["force_include"].update(startup)
            build_data["force_include_editable"].update(startup)

    def _commit(self) -> str | None:
        """The commit of this clone; None in an unpacked sdist, which has the file already."""
        if not (Path(self.root) / ".git").exists():
            return None
        try:
            command = ["git", "-C", self.root, "rev-parse", "HEAD"]
            return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
        except (OSError, subprocess.CalledProcessError):
            return None
