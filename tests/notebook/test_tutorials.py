"""The tutorial notebooks, run as a user would."""

from __future__ import annotations

from pathlib import Path

import pytest

nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")
pytest.importorskip("torch")
import nbformat  # noqa: E402

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "notebooks"
TRUE_AT_THE_END = {
    "patch_dropout": [
        'gather == {("GatherBackward0", "aten::gather", "drop", "sequence")}',
        "share > 0.8",
        '("IndexBackward0", "aten::index", "drop") in index',
        'not any("Gather" in name for name, *_ in index)',
    ],
    "static_sampler": ["equal", 'asks == {"nonzero": True, "static": False}'],
    "tuning": [
        'report.findings[0].rule == "loader-single-process"',
        "loading > 0.3",
        "answer.predicted_us < answer.step_us - 0.8 * step.data_us",
        "fixed.data.per_step.data_us < 0.5 * report.data.per_step.data_us",
    ],
}
pytestmark = pytest.mark.slow


def test_every_notebook_is_here() -> None:
    assert {path.stem for path in FOLDER.glob("*.ipynb")} == set(TRUE_AT_THE_END)


@pytest.mark.parametrize("name", TRUE_AT_THE_END)
def test_it_runs_and_says_what_its_text_does(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(FOLDER.parents[1]))
    notebook = nbformat.read(FOLDER / f"{name}.ipynb", as_version=4)
    nbformat.validate(notebook)
    assert not any(cell.get("outputs") for cell in notebook.cells)
    notebook.cells += [
        nbformat.v4.new_code_cell(f"assert {claim}") for claim in TRUE_AT_THE_END[name]
    ]
    resources = {"metadata": {"path": str(tmp_path)}}
    nbclient.NotebookClient(notebook, timeout=300, resources=resources).execute()
    (shown,) = [cell for cell in notebook.cells if "hookview.show(" in cell.source]
    assert "<iframe" in str(shown.outputs)
