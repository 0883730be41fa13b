"""`%load_ext peephole`: a cell that begins with `%%peephole` is recorded, and its capture shown."""

from __future__ import annotations

from typing import Any

from peephole.notebook.cell import CaptureCell
from peephole.recording import record


def load_ipython_extension(shell: Any) -> None:
    """Teaches IPython the magic."""
    shell.register_magic_function(lambda line, cell: _recorded(shell, line, cell), "cell", "peephole")


def unload_ipython_extension(shell: Any) -> None:
    """Takes it away."""
    shell.magics_manager.magics["cell"].pop("peephole", None)


def _recorded(shell: Any, line: str, cell: str) -> CaptureCell | None:
    """Runs a cell while recording; its capture is `capture` afterwards. `line` may name the capture."""
    with record(line.strip() or None) as recording:
        done = shell.run_cell(cell)
    found = CaptureCell(recording.path)
    shell.user_ns["capture"] = found
    return found if done.success else None
