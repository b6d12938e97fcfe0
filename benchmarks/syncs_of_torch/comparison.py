"""Rows of the dry run next to the callers of synchronizing functions in a build of torch."""

from __future__ import annotations

import ctypes
import re
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from tb_hookview.dryrun.operators.row import Row, Version
from tb_hookview.dryrun.operators.table import ROWS

from .calls import Call, Library
from .known import KNOWN, SHARED, Reasons

LIBRARIES = ("libtorch_cuda.so", "libtorch_cpu.so", "libtorch_cuda_linalg.so")
_WAITS = re.compile(
    r"warn_or_error_on_sync|^cuda(Stream|Device|Event)Synchronize$|^cudaMemcpy$|SyncStream|"
    r"^_ZN2at4_ops(4item|19_local_scalar_dense|10is_nonzero|7nonzero|13masked_select|7_unique|"
    r"8_unique2|5equal|8allclose)4callE|^_ZNK2at6Tensor(4itemI|3cpuE|4cudaE)"
)
"""What makes the host wait in each call."""
_MAY_WAIT = re.compile(
    r"expandTensors|makeLinearIndex|_linalg_check_errors|^_ZN2at(6detail)?\d+tensor(_\w+)?E|"
    r"^_ZN2at4_ops(\d+to_\w+|5copy_|\d+_?index_put\w*)4callE"
)
"""What does so on a condition."""
_PASSING = re.compile(r"_ZNK?(6thrust|3cub|14at_cuda_detail|4cuda)")
_KERNELS = re.compile(r"^(?:\w[\w: ]*? )?at::(native|meta)::")
_PARAMETERS = re.compile(r"<[^<>]*>|\(anonymous namespace\)::|\[abi:\w+\]|\.\w+")


class Comparison(NamedTuple):
    """What a build says of the rows."""

    confirmed: list[Row]
    contradicted: list[Row]
    """Rows whose functions do not call what waits, or are not there."""
    unnamed: list[Row]
    """Rows that name no function of torch."""
    explained: dict[str, str]
    """Callers without a row, and why they need none."""
    shared: dict[str, str]
    """The same of code in libtorch_cpu that is the kernel of CUDA too."""
    missed: dict[str, set[str]]
    """Callers that neither a row nor `known.py` explains, and what they call."""


def compare(folder: Path, version: Version) -> Comparison:
    """Compare the rows that are about a version with its libraries in a folder."""
    libraries = [Library(folder / name) for name in LIBRARIES]
    cuda, composite, linalg = map(_calls, libraries)
    rows = [row for row in ROWS if row.holds_for(version)]
    named = [row for row in rows if row.symbols]
    of_both = _shared(libraries[0], libraries[1], composite)
    callers = {call.caller for call in (*cuda, *composite, *linalg, *of_both)}
    confirmed = [row for row in named if any(_is_of(row, caller) for caller in callers)]
    explained, missed = _others([*cuda, *linalg], named, KNOWN)
    shared, more = _others(of_both, named, SHARED)
    return Comparison(
        confirmed,
        [row for row in named if row not in confirmed],
        [row for row in rows if not row.symbols],
        explained,
        shared,
        {**missed, **more},
    )


def _shared(cuda: Library, cpu: Library, calls: Iterable[Call]) -> list[Call]:
    """Calls of what waits in functions of libtorch_cpu that libtorch_cuda calls.

    What such a function calls of its own library counts as its own.
    """
    waits: dict[str, str] = {call.caller: call.callee for call in calls if is_wait(call.callee)}
    inner = list(cpu.calls(waits.__contains__))
    reached = {call.caller: waits[call.callee] for call in inner} | waits
    used = {call.callee for call in cuda.calls(reached.__contains__)}
    return [Call(name, reached[name]) for name in sorted(used)]


def is_wait(name: str) -> bool:
    """Whether a function makes the host wait in each call."""
    return bool(_WAITS.search(name))


def _calls(library: Library) -> list[Call]:
    """Calls of what waits, and of what of Thrust and CUB waits in turn."""
    found = list(library.calls(_is_wanted))
    seen: set[str] = set()
    while passing := {call.caller for call in found if _PASSING.match(call.caller)} - seen:
        seen |= passing
        found += library.calls(passing.__contains__)
    return found


def _others(
    calls: Iterable[Call], rows: list[Row], known: Reasons
) -> tuple[dict[str, str], dict[str, set[str]]]:
    explained: dict[str, str] = {}
    missed: dict[str, set[str]] = defaultdict(set)
    for call in calls:
        if _MAY_WAIT.search(call.callee) or any(_is_of(row, call.caller) for row in rows):
            continue
        caller = readable(call.caller)
        if not _KERNELS.match(caller):
            continue
        why = next((why for pattern, why in known if pattern.search(caller)), None)
        if why is None:
            missed[caller].add(readable(call.callee))
        else:
            explained[caller] = why
    return explained, missed


def _is_wanted(name: str) -> bool:
    return is_wait(name) or bool(_MAY_WAIT.search(name))


def _is_of(row: Row, mangled: str) -> bool:
    """Whether a function, or one inside of it, is one that a row names."""
    return any(f"{len(symbol)}{symbol}" in mangled for symbol in row.symbols)


def readable(mangled: str) -> str:
    """Return a C++ name without parameters and template arguments."""
    name = _demangled(mangled)
    while name != (shorter := _PARAMETERS.sub("", name)):
        name = shorter
    return name.partition("(")[0].replace("<", "").strip()


def _demangled(mangled: str) -> str:
    library = ctypes.CDLL("libstdc++.so.6")
    library.__cxa_demangle.restype = ctypes.c_void_p
    status = ctypes.c_int()
    made = library.__cxa_demangle(mangled.split(".")[0].encode(), None, None, ctypes.byref(status))
    if status.value or not made:
        return mangled
    text = ctypes.string_at(made).decode()
    ctypes.CDLL(None).free(ctypes.c_void_p(made))
    return text
