"""A capture of the recorded JAX programs."""

from __future__ import annotations

import pytest
from tests.recorded_jax import JaxRun, jax_recorded, jax_run

from peephole.ingest import import_files
from peephole.store.capture import Capture, open_capture

__all__ = ["jax_recorded", "jax_run"]


@pytest.fixture(scope="session")
def five(jax_run: JaxRun, tmp_path_factory: pytest.TempPathFactory) -> Capture:
    """Dumps and profile of all of them."""
    files = [path for path in jax_run.folder.rglob("*") if path.is_file() and path.suffix in (".txt", ".html", ".pb")]
    files = [path for path in files if path.name != "output.txt" and not path.name.endswith((".hlo.pb", "options.pb"))]
    files = [path for path in files if path.name.startswith(("module_", "jax_")) or "module_" in path.name]
    out = tmp_path_factory.mktemp("five") / "five.peep"
    return open_capture(import_files([*files, jax_run.profile], out))
