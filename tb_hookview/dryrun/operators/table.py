"""The table of CUDA kernels that make the host wait."""

from __future__ import annotations

from tb_hookview.dryrun.operators import sizes, uploads, values

ROWS = (*values.ROWS, *sizes.LINALG, *sizes.ROWS, *sizes.LAYOUTS, *uploads.ROWS)
KNOWN = ((2, 10), (2, 15))
"""First and last version of torch that the rows were checked against."""
