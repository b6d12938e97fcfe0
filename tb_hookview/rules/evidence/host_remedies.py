"""Remedies for long work of the host, by what the trace names it."""

from __future__ import annotations

import re

_DDP = re.compile(r"aten::(un)?flatten_dense_tensors|DistributedDataParallel\.forward")
_OPTIMIZER = re.compile(r"Optimizer\.|aten::_foreach_|aten::_fused_")
_COMPILED = re.compile(
    r"call in c[a-z2-7]{51}\.py\(\d+\)|Torch-Compiled Region|CompiledFunction"
    r"|## Call CompiledFxGraph"
)
_RANDOM = re.compile(r"aten::(normal|uniform|random|bernoulli|exponential)_|aten::(rand|randn)\b")
_VIEW = re.compile(
    r"aten::(as_strided|chunk|expand|flatten|narrow|permute|reshape|select|slice|split\w*|squeeze"
    r"|t|tensor_split|transpose|unbind|unflatten|unsafe_split\w*|unsqueeze|view\w*)$"
)
_OPERATOR = re.compile(r"\w+::")
"""An operator of torch or of an extension."""

_UNNAMED = (
    "Record with with_stack=True, which names Python functions. Look for hooks in Python, garbage "
    "collection, and threads or processes that compete for the cores."
)
_REMEDIES = (
    (
        _DDP,
        "DistributedDataParallel copies the running statistics of batch norms, and other buffers, "
        "to all ranks before each forward. Pass broadcast_buffers=False where ranks may differ in "
        "them. Have fewer buffers, or convert the batch norms to SyncBatchNorm.",
    ),
    (
        _OPTIMIZER,
        "Pass fused=True to the optimizer, which updates all parameters in a few calls, or "
        "foreach=True where it has no fused form. Keep hooks of the optimizer and logging out of "
        "its step.",
    ),
    (
        _COMPILED,
        "This is the code that torch.compile wrote around its kernels. Replay them from a CUDA "
        'graph (mode="reduce-overhead"), or have it written in C++ '
        "(torch._inductor.config.cpp_wrapper = True). Look for threads or processes that compete "
        "for the cores.",
    ),
    (
        _RANDOM,
        "If it fills a tensor on the host, make it on the device (device= of torch.randn and the "
        "like, or .normal_() of a tensor there), once if it may be the same in each step. If it "
        "only launches, look for threads or processes that compete for the cores.",
    ),
    (
        _VIEW,
        "Views launch nothing and cost host time only: take fewer of them (one reshape or unbind "
        "instead of a slice each), or compile the code around them. Where operators of one name "
        "lie in one another, a tensor subclass or a mode runs each of them in Python.",
    ),
    (
        _OPERATOR,
        "If it computes on the host, move its inputs to the device or do it less often. If it only "
        "launches, something holds it up: look for threads or processes that compete for the "
        "cores, and for locks. with_stack=True names the Python function that calls it.",
    ),
)


def remedy_for(name: str) -> str:
    """What helps against host work of a name (see `activity_in`); "" for the rule's own fix."""
    if not name:
        return _UNNAMED
    return next((fix for pattern, fix in _REMEDIES if pattern.match(name)), "")


def is_operator(name: str) -> bool:
    """Whether a name is that of an operator."""
    return _OPERATOR.match(name) is not None
