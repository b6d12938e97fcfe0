"""All benchmarks of the analyzer and its server, one after the other, onto the page of results.

    python benchmarks/all.py [--quick] [--write benchmarks/results/performance.md]

Without --quick the page is benchmarks/results/performance.md of this checkout unless another is
named; with it nothing is written unless a page is named. A program that fails leaves its part of
the page as it was, and the others run all the same.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from time import monotonic

from common import page

_HERE = Path(__file__).resolve().parent
_PAGE = _HERE / "results" / "performance.md"

PROGRAMS = ("startup", "whatif", "latency", "native", "sharing", "scaling", "analyze")
"""The short ones first: what is wrong with a machine shows soon."""


def main(argv: Sequence[str]) -> int:
    """Run all; the exit status is 1 where one failed."""
    arguments = page.arguments_of(__doc__).parse_args(argv)
    target = arguments.write or (None if arguments.quick else _PAGE)
    options = ["--quick"] * arguments.quick + (["--write", str(target)] if target else [])
    begin, failed = monotonic(), []
    for program in PROGRAMS:
        start = monotonic()
        page.say(f"== {program}.py")
        command = [sys.executable, str(_HERE / f"{program}.py"), *options]
        if subprocess.run(command, check=False).returncode:
            failed.append(program)
        page.say(f"== {program}.py: {monotonic() - start:,.0f} s")
    whole = monotonic() - begin
    page.say(f"All in {whole / 60:.1f} minutes" + f"; failed: {', '.join(failed)}" * bool(failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
