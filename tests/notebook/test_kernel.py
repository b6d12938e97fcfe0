"""`hookview.show` in a real kernel."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed")
nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed")
pytest.importorskip("ipykernel", reason="ipykernel is not installed")

TRACE = Path(__file__).resolve().parents[2] / "frontend/e2e/data/worker0.1.pt.trace.json.gz"


def test_a_cell_holds_a_frame_with_the_page(tmp_path: Path) -> None:
    shutil.copy(TRACE, tmp_path)
    cells = [
        "import tb_hookview as hookview\nhookview.show('.', height=321)",
        "import sys\nprint('torch' in sys.modules)",
    ]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in cells])
    nbclient.NotebookClient(
        notebook, timeout=120, resources={"metadata": {"path": str(tmp_path)}}
    ).execute()
    ((shown,), (torch,)) = (cell.outputs for cell in notebook.cells)
    assert shown.data["text/plain"].startswith("HOOKVIEW of .: http://127.0.0.1:")
    assert 'height="321"' in shown.data["text/html"]
    assert shown.data["text/plain"].rpartition(": ")[2] in shown.data["text/html"]
    assert torch.text == "False\n"
