"""Draws the 1,024 ranks of docs/how-to/ranks.md: module `b` of rank 613 takes 12 ms longer.

python docs/screenshots/draw_ranks.py FOLDER
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))
from ranks.programs import drawn, slowed, write

RANKS, STEPS, SLOW, LONGER_MS = 1024, 20, 613, 12.0

if __name__ == "__main__":
    program = drawn(seed=1, ranks=RANKS, steps=STEPS)
    write(Path(sys.argv[1]), slowed(program, SLOW, LONGER_MS, range(STEPS)))
