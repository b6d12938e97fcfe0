"""Our figures next to those of other tools on the same traces, and why they differ where they do.

    python benchmarks/agreement.py [--write benchmarks/results/agreement.md]

Prints Markdown, and with --write puts it between the markers of that file.
"""

from __future__ import annotations

import argparse
import datetime
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from common import child, machine, page
from common.peers import peers_python
from common.traces import FOLDER
from comparison import hta, runs, tb_profiler

_PROGRAM = "agreement"
_RECORDED = Path(__file__).resolve().parents[1] / "sample_traces" / "cpu"


def main(argv: Sequence[str]) -> int:
    """Ask, compare, print, write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--write", type=Path, help="Markdown file with the markers")
    parser.add_argument("--peers-python", type=Path, help="Python with the peers installed")
    arguments = parser.parse_args(argv)
    samples, traces = sorted(FOLDER.glob("kineto_*/*")), sorted(FOLDER.glob("hta_*"))
    if not samples:
        where = f"{FOLDER.parent.name}/{FOLDER.name}"
        print(f"agreement.py: no {where} next to the checkout", file=sys.stderr)
        return 0
    python = arguments.peers_python or peers_python()
    child.without_cache()
    today = datetime.datetime.now(datetime.timezone.utc)
    parts = [
        f"{today:%Y-%m-%d}. {machine.describe()}. `python benchmarks/agreement.py`",
        "### torch_tb_profiler 0.4.3 on its samples",
        tb_profiler.compare(python, samples),
        "### HolisticTraceAnalysis 0.5.0 on its test traces",
        hta.compare(python, traces),
        "### Both on runs of several ranks",
        _runs(python, traces),
    ]
    block = "\n\n".join(parts)
    print(block)
    if arguments.write:
        content = arguments.write.read_text(encoding="utf-8")
        content = page.replaced(content, _PROGRAM, block)
        arguments.write.write_text(content, encoding="utf-8")
    return 0


def _runs(python: Path, traces: Sequence[Path]) -> str:
    """Two of HolisticTraceAnalysis' test traces are ranks of one run; the others are our own."""
    sampled = [path for path in traces if path.name.startswith("hta_sampled_rank")]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        found = {
            "hta_sampled_rank-0, -1": runs.gathered(sampled, folder / "sampled"),
            **{path.name: path for path in sorted(_RECORDED.glob("late_rank.*"))},
            f"fresh, {runs.RANKS} ranks, gloo": runs.record(folder),
        }
        return runs.compare(python, found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
