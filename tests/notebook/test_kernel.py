"""`hookview.show` and the tutorial notebooks in a real kernel, one for all of them."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

nbformat = pytest.importorskip("nbformat", reason="needs nbformat: pip install nbformat")
nbclient = pytest.importorskip("nbclient", reason="needs nbclient: pip install nbclient")
pytest.importorskip("ipykernel", reason="needs ipykernel: pip install ipykernel")
from jupyter_client.manager import KernelManager  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
TRACE = ROOT / "frontend/e2e/data/worker0.1.pt.trace.json.gz"
FOLDER = ROOT / "docs" / "notebooks"
TRUE_AT_THE_END = {
    "patch_dropout": [
        'gather == {("GatherBackward0", "aten::gather", "drop", "sequence")}',
        '{row.name for row in rows if row.module is None} == {"NllLossBackward0", '
        '"LogSoftmaxBackward0"}',
        '("IndexBackward0", "aten::index", "drop") in index',
        'not any("Gather" in name for name, *_ in index)',
    ],
    "static_sampler": ["equal", 'asks == {"nonzero": True, "static": False}'],
    "tuning": [
        '"loader-single-process" in {finding.rule for finding in report.findings}',
        "step.data_us >= 64 * 250",  # samples, each of which sleeps at least so long
        "answer.predicted_us < answer.step_us - 0.8 * step.data_us",
        '"loader-single-process" not in {finding.rule for finding in fixed.findings}',
    ],
}
"""What of each holds however busy the machine is."""


class Kernel:
    """A kernel, and the outputs of the first notebook that it ran."""

    def __init__(self, manager: KernelManager, folder: Path) -> None:
        self._manager = manager
        shutil.copy(TRACE, folder)
        self.first = nbformat.v4.new_notebook()
        self.first.cells = [
            _code("import tb_hookview as hookview\nhookview.show('.', height=321)"),
            _code("import sys\nprint('torch' in sys.modules)"),
        ]
        self.run(self.first, folder)

    def run(self, notebook: Any, folder: Path) -> None:
        """Run a notebook in a folder, without the names of those before."""
        notebook.cells.insert(0, _code(f"%reset -f\nimport os\nos.chdir({str(folder)!r})"))
        nbclient.NotebookClient(notebook, timeout=300, km=self._manager).execute()
        del notebook.cells[0]


def _code(text: str) -> Any:
    return nbformat.v4.new_code_cell(text)


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kernel]:
    manager = KernelManager()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(ROOT))
        manager.start_kernel()
    try:
        yield Kernel(manager, tmp_path_factory.mktemp("first"))
    finally:
        manager.shutdown_kernel(now=True)


def test_a_cell_holds_a_frame_with_the_page(kernel: Kernel) -> None:
    ((shown,), (torch,)) = (cell.outputs for cell in kernel.first.cells)
    assert shown.data["text/plain"].startswith("HookView of .: http://127.0.0.1:")
    assert 'height="321"' in shown.data["text/html"]
    assert shown.data["text/plain"].rpartition(": ")[2] in shown.data["text/html"]
    assert torch.text == "False\n"


def test_every_notebook_is_here() -> None:
    assert {path.stem for path in FOLDER.glob("*.ipynb")} == set(TRUE_AT_THE_END)


@pytest.mark.slow
@pytest.mark.parametrize("name", TRUE_AT_THE_END)
def test_it_runs_and_says_what_its_text_does(name: str, kernel: Kernel, tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="needs torch: pip install torch")
    notebook = nbformat.read(FOLDER / f"{name}.ipynb", as_version=4)
    nbformat.validate(notebook)
    assert not any(cell.get("outputs") for cell in notebook.cells)
    notebook.cells += [_code(f"assert {claim}") for claim in TRUE_AT_THE_END[name]]
    kernel.run(notebook, tmp_path)
    (shown,) = [cell for cell in notebook.cells if "hookview.show(" in cell.source]
    assert "<iframe" in str(shown.outputs)
