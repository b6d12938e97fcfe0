"""Role of each event, by its name. Each distinct name is parsed once."""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import IntEnum

import numpy as np
from msgspec import Struct

from tb_hookview import markers
from tb_hookview.arrays.types import Bool, Code
from tb_hookview.trace import EventCategory, Trace

EVALUATE = "autograd::engine::evaluate_function: "
"""torch >= 1.9 wraps each autograd node in an operator row of this name."""

_GRADIENT_SINK = re.compile(r"(struct )?torch::autograd::AccumulateGrad")
_NODE = re.compile(r"(struct )?(torch::autograd::.+|(?!aten::)[\w:]*Backward\d*)")
"""Names of autograd nodes, for traces in which nothing else tells them from operators."""
MODULE_PREFIX = "nn.Module: "
"""What the names of modules' rows begin with, among those of Python functions."""
_MODULE_LABEL = re.compile(r"nn\.Module: (?P<label>(?P<module_class>.+)_\d+)")
_LIGHTNING = re.compile(r"\[pl\]\[module\](?P<module_class>[^:]+): (?P<path>.+)")
_STEP = re.compile(r"ProfilerStep#\d+")
_NO_LABEL = re.compile(
    r"ProfilerStep#|Optimizer\.|enumerate\(Data|Torch-Compiled Region|## Call CompiledFxGraph"
    r"|\[pl\]|(nccl|gloo|hccl|mpi|ucc|xccl|c10d):|PyTorch Profiler|cudaGraph|Iteration Start"
)


class Role(IntEnum):
    """Meaning of a host row to the analysis."""

    NONE = 0
    NODE = 1
    """Evaluation of an autograd node."""
    GRADIENT_SINK = 2
    """`AccumulateGrad` itself, the node that has no sequence number."""
    FORWARD_MARK = 3
    BEFORE_MARK = 4
    AFTER_MARK = 5
    GRADIENT_MARK = 6
    MODULE_LABEL = 7
    """`nn.Module: Class_k` row of a trace recorded with Python stacks."""
    LIGHTNING = 8
    """Lightning's `[pl][module]Class: path` annotation."""
    LABEL = 9
    """Any other annotation somebody put there."""
    STEP = 10
    OPTIMIZER = 11
    DATA = 12
    FUNCTION_MARK = 13
    """A call that scales or clips gradients."""
    UNKNOWN_MARK = 14
    """A mark of the recorder's whose kind this version does not know."""
    COLLECTION = 15
    """A garbage collection of Python's."""


_MARK_ROLES = {
    "forward": Role.FORWARD_MARK,
    "before backward": Role.BEFORE_MARK,
    "after backward": Role.AFTER_MARK,
    "gradient": Role.GRADIENT_MARK,
    "call": Role.FUNCTION_MARK,
}

MARK_ROLES = tuple(_MARK_ROLES.values())
"""Roles of the recorder's marks of known kinds."""

MODULE_ROLES = (Role.FORWARD_MARK, Role.LIGHTNING, Role.MODULE_LABEL, Role.LABEL)
"""Roles of rows in whose range a module's forward runs, strongest evidence first."""


class ModuleName(Struct, frozen=True):
    """Module in the name of a row."""

    path: str
    module_class: str


def module_name(name: str, role: Role) -> ModuleName:
    """Parse the name of a row of a module role, or of a mark."""
    if role is Role.MODULE_LABEL and (match := _MODULE_LABEL.fullmatch(name)):
        return ModuleName(match["label"], match["module_class"])
    if role is Role.LIGHTNING and (match := _LIGHTNING.fullmatch(name)):
        return ModuleName(match["path"], match["module_class"])
    mark = markers.decode(name)
    if mark is not None:
        return ModuleName(mark.path, mark.module_class)
    return ModuleName(name, "annotation")


def node_name(name: str) -> str:
    """Name of the autograd node a row evaluates."""
    return name.removeprefix(EVALUATE)


def roles(trace: Trace) -> Code:
    """Role of every event, shape (n,)."""
    events = trace.events
    annotation = events.kind == EventCategory.ANNOTATION
    host = (events.kind == EventCategory.OPERATOR) | annotation
    role = _by_name(trace, host, _host_role)
    role += _by_name(trace, events.kind == EventCategory.PYTHON, _python_role)
    role += _by_name(trace, annotation & (role == Role.NONE), _label_role)
    if not (role == Role.NODE).any():
        role[host & (events.forward_thread > 0) & (events.sequence >= 0)] = Role.NODE
        role[role == Role.GRADIENT_SINK] = Role.NODE
        if not (events.sequence >= 0).any():
            operator = (events.kind == EventCategory.OPERATOR) & (role == Role.NONE)
            role += _by_name(trace, operator, _old_node_role)
    return role


def _by_name(trace: Trace, rows: Bool, role_of: Callable[[str], Role]) -> Code:
    """Role of the chosen rows by their names; NONE of all others."""
    name = trace.events.name[rows]
    table = np.zeros(len(trace.strings), np.int8)
    occurs = np.zeros(len(trace.strings), bool)
    occurs[name] = True
    texts = trace.strings.texts
    for string in np.flatnonzero(occurs).tolist():
        table[string] = role_of(texts[string])
    role = np.zeros(len(rows), np.int8)
    role[rows] = table[name]
    return role


def _old_node_role(name: str) -> Role:
    return Role.NODE if _NODE.fullmatch(name) else Role.NONE


def _python_role(name: str) -> Role:
    label = name.startswith(MODULE_PREFIX) and _MODULE_LABEL.fullmatch(name)
    return Role.MODULE_LABEL if label else Role.NONE


def _label_role(name: str) -> Role:
    return Role.NONE if _NO_LABEL.match(name) else Role.LABEL


def _host_role(name: str) -> Role:
    if name.startswith(EVALUATE):
        return Role.NODE
    if name.endswith("AccumulateGrad") and _GRADIENT_SINK.fullmatch(name):
        return Role.GRADIENT_SINK
    if (mark := markers.decode(name)) is not None:
        return _MARK_ROLES[mark.kind]
    if markers.has_our_tail(name):
        return Role.UNKNOWN_MARK
    if name.startswith("ProfilerStep#") and _STEP.fullmatch(name):
        return Role.STEP
    if name.startswith("Optimizer."):
        return Role.OPTIMIZER
    if name.startswith("enumerate(Data"):
        return Role.DATA
    if name.startswith(markers.COLLECTION):
        return Role.COLLECTION
    lightning = name.startswith("[pl]") and _LIGHTNING.fullmatch(name)
    return Role.LIGHTNING if lightning else Role.NONE
