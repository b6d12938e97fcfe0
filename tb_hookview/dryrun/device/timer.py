"""DistributedDataParallel's timer: in builds with CUDA that of the CPU takes its place.

`c10d::TimerRegistry()` is a `c10::Registry`, whose first member is a hash table of libstdc++: from
device types to what makes a timer.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from pathlib import Path

import torch

_CPU, _CUDA = 0, 1
"""c10::DeviceType."""
_WORD = 8
_FIRST_NODE, _COUNT = 2 * _WORD, 3 * _WORD
"""Offsets in the hash table, after buckets and their number."""
_KEY, _FUNCTION = _WORD, 2 * _WORD
"""Offsets in a node, after the pointer to the next one."""
_FUNCTION_BYTES = 4 * _WORD
_MOST = 16
"""More kinds of devices than have a timer."""
_word = ctypes.c_size_t.from_address


def install() -> Callable[[], None]:
    """Let timers of CUDA be of the CPU; return what undoes it.

    Where the registry is not as expected nothing is changed, and DistributedDataParallel raises.
    """
    places = dict(_functions()) if torch._C._has_cuda else {}
    if _CPU not in places or _CUDA not in places:
        return lambda: None
    before = ctypes.string_at(places[_CUDA], _FUNCTION_BYTES)
    ctypes.memmove(places[_CUDA], places[_CPU], _FUNCTION_BYTES)

    def undo() -> None:
        ctypes.memmove(places[_CUDA], before, _FUNCTION_BYTES)

    return undo


def _functions() -> Iterator[tuple[int, int]]:
    """Device types that have a timer, and where the function lies that makes it."""
    library = ctypes.CDLL(str(Path(torch.__file__).parent / "lib" / "libtorch_cpu.so"))
    try:
        registry = library._ZN4c10d13TimerRegistryEv
    except AttributeError:
        return
    registry.restype = ctypes.c_void_p
    table = registry()
    if not table or not 0 < _word(table + _COUNT).value <= _MOST:
        return
    node = _word(table + _FIRST_NODE).value
    for _ in range(_word(table + _COUNT).value):
        if not node:
            return
        yield ctypes.c_int8.from_address(node + _KEY).value, node + _FUNCTION
        node = _word(node).value
