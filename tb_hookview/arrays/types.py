"""Aliases of array types."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Int = NDArray[np.int64]
Index = NDArray[np.int32]
Bool = NDArray[np.bool_]
Float = NDArray[np.float64]
