"""Our own recordings, which every checkout has, and with them those of others where they lie."""

from __future__ import annotations

import math
from pathlib import Path

import shared_traces

FOLDER = Path(__file__).resolve().parents[1] / "sample_traces" / "cpu"
"""A folder for each run; see its README.md."""
GPU = FOLDER.parent / "gpu"


def recordings(of: Path = FOLDER) -> list[Path]:
    """One trace of each run, the first rank's where there are several; smallest first."""
    folders = [path for path in of.iterdir() if path.is_dir()]
    found = [min(folder.glob("*.pt.trace.json.gz")) for folder in folders]
    return sorted(found, key=lambda path: path.stat().st_size)


def recording(run: str) -> Path:
    """The trace of a run of one process."""
    return FOLDER / run / "main.pt.trace.json.gz"


def all_traces() -> list[Path]:
    """Our recordings, of a GPU one of each scenario, and all shared traces."""
    of_gpu = {path.parent.name.partition(".")[0]: path for path in recordings(GPU)}
    return [*recordings(), *of_gpu.values(), *shared_traces.all_traces()]


def small_traces() -> list[Path]:
    """Those that a slow, obvious reading gets through quickly."""
    return [*recordings(), *shared_traces.small_traces()]


def kinds_of_traces(most: float = math.inf) -> list[Path]:
    """Traces of at most that many bytes; of a run of several, only the first."""
    seen: set[Path] = set()
    found = []
    for path in sorted(all_traces(), key=lambda path: path.name):
        of_run = path.parent != shared_traces.FOLDER
        if path.stat().st_size <= most and not (of_run and path.parent in seen):
            found.append(path)
        seen.add(path.parent)
    return found


def label(path: Path) -> str:
    """Name of a trace as the id of a test."""
    for folder in (FOLDER, GPU):
        if path.is_relative_to(folder):
            return f"{folder.name}.{path.parent.name}" if folder == GPU else path.parent.name
    return path.name
