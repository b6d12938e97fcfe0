"""Rows in which torch.compile compiles: Dynamo's spans, those of inductor and its autotuning."""

from __future__ import annotations

import re

from tb_hookview.analysis.host.rows import HostRows
from tb_hookview.arrays.types import Bool

_CONTAINED = ("compile_inner", "(dynamo_timed)")
_BEGINNINGS = (
    *("OutputGraph.call_user_compiler", "create_aot_dispatcher_function"),
    *("async_compile.wait", "CachingAutotuner.benchmark"),
)
_DATA = "_data: fn_name="
"""In names of rows that describe a span: metadata, no compilation."""
_COMPILE_FX = re.compile(r"_?compile_fx\b")


def compiling_rows(host: HostRows) -> Bool:
    """Rows in which code is compiled, also those inside each other, shape (n,)."""
    return host.is_named(_compiles)


def _compiles(name: str) -> bool:
    return (
        (any(word in name for word in _CONTAINED) and _DATA not in name)
        or name.startswith(_BEGINNINGS)
        or _COMPILE_FX.match(name) is not None
    )
