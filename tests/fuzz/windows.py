"""Windows of traces, drawn by number: `python tests/fuzz/windows.py [--first 0] [--count 2000]`."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
os.environ["HOOKVIEW_CACHE"] = "off"
sys.path[:1] = [str(HERE.parent), str(HERE.parent / "support")]  # not `fuzz.damage` as `damage`


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=2000)
    options = parser.parse_args()
    from damage.test_windows import TRACES, check

    def fails(seed: int) -> bool:
        try:
            check(TRACES[seed % len(TRACES)], seed, Path(folder))
        except (Exception, pytest.fail.Exception) as error:  # noqa: BLE001
            sys.stdout.write(f"{seed}: {error}\n")
            return True
        return False

    with tempfile.TemporaryDirectory() as folder:
        failed = sum(map(fails, range(options.first, options.first + options.count)))
    sys.stdout.write(f"windows: {options.count} drawn, {failed} failed\n")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
