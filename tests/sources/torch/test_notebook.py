"""A real Jupyter kernel records cells with torch.compile, one recording after the other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.recorded_torch import clean_environment

from peephole.store.capture import open_capture

pytest.importorskip("torch")
nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")

CELLS = (
    "import torch\nimport peephole\ntorch.set_num_threads(1)",
    "def scaled(x):\n    return torch.relu(x) * 3 + 1",
    "with peephole.record('first.peep'), torch.no_grad():\n"
    "    print(torch.compile(scaled)(torch.ones(8)).sum().item())",
    "with peephole.record('second.peep') as again, torch.no_grad():\n"
    "    print(torch.compile(lambda x: torch.sin(x) + 2)(torch.zeros(8)).sum().item())\n"
    "print(again.path.endswith('second.peep'))",
)


def printed(notebook: Any) -> list[str]:
    """The lines that the cells printed on stdout."""
    return [
        line
        for cell in notebook.cells
        for output in cell.outputs
        if output.get("output_type") == "stream" and output["name"] == "stdout"
        for line in output["text"].splitlines()
    ]


def test_cells_are_recorded_and_their_lines_are_known(tmp_path: Path) -> None:
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS])
    environment = {**clean_environment(), "PEEPHOLE_DIR": str(tmp_path), "OMP_NUM_THREADS": "1"}
    client = nbclient.NotebookClient(
        notebook, timeout=200, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
    )
    client.execute(env={**environment, "IPYTHONDIR": str(tmp_path / "ipython")})
    assert printed(notebook) == ["32.0", "16.0", "True"]
    for name, function in (("first", "scaled"), ("second", "<lambda>")):
        capture = open_capture(tmp_path / f"{name}.peep")
        assert capture.manifest.problems == []
        frame = capture.read("contexts", ["name", "kind", "function", "stack"])
        kinds, names = [text or "" for text in frame.texts("kind")], [text or "" for text in frame.texts("name")]
        assert sorted(kinds) == ["graph", "half", "kernel"]
        assert names[kinds.index("half")].endswith(" inference")
        assert frame.texts("function")[kinds.index("graph")] == function
        steps = [step or "" for step in capture.read("steps", ["name"]).texts("name")]
        assert {"dynamo", "post_grad_passes", "lowering", "codegen"} <= set(steps)
        origins = [text or "" for text in capture.read("nodes", ["metadata"]).texts("metadata")]
        assert any("ipykernel_" in text and ".py:" in text for text in origins), "the cell's file and line"
        tracks = [track or "" for track in capture.read("tracks", ["name"]).texts("name")]
        assert {"torch.compile", "torch", "CPU"} <= set(tracks)
