"""Names of rows about compiled code, and of the calls in a map."""

from __future__ import annotations

import re

REGION = "Torch-Compiled Region: "
GRAPH_CALL = re.compile(r"## Call CompiledFxGraph (\S+) ##")
_AROUND = (REGION, "CompiledFunction", "## Call CompiledFxGraph")
_PROFILED = re.compile(r"graph_\d+_")
"""Before the name of a C++ kernel, in the rows of `cpp.enable_kernel_profile`."""
_TRITON = re.compile(r"triton_[a-z]{3}_fused_|triton_unk_fused_|graph_\d+_cpp_fused_|cpp_fused_")


def row_name(call: str) -> str:
    """Name of the row that a call leaves, given the call's name in the map or in a row."""
    if "::" in call:
        return call
    parts = call.removeprefix("torch.ops.").split(".")
    if parts[0] == "extern_kernels":
        return "aten::" + parts[-1]
    if len(parts) in (2, 3):  # namespace, operator, overload
        return "::".join(parts[:2])
    return _PROFILED.sub("", call, count=1)


def is_compiled(name: str) -> bool:
    """Whether a row is around compiled code, or is some."""
    return name.startswith(_AROUND) or is_generated(name)


def is_generated(name: str) -> bool:
    """Whether a row or a kernel is code that Inductor generated."""
    return _TRITON.match(name) is not None


def operators_of(name: str) -> str:
    """The operators in the name of a generated kernel, as they stand there; else the name."""
    if not is_generated(name):
        return name
    return re.sub(r"_?\d*$", "", name.split("fused_", 1)[1]) or "unknown"
