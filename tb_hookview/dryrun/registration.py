"""Functions of the CPU for operators that have a CUDA kernel only."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch

from tb_hookview.dryrun.cuda.installation import TRITON
from tb_hookview.dryrun.device.guard import PLANS
from tb_hookview.dryrun.operators.row import Arguments, Reason, Row
from tb_hookview.errors import UsageError

_REGISTERED = "as it was registered"


def register(operator: Any, function: Callable[..., Any], syncs: Any) -> None:
    """Register a function; see `DryRun.register`."""
    if isinstance(operator, str):
        operator = _overload(operator)
    packet: Any = torch._ops.OpOverloadPacket
    if isinstance(operator, packet):
        operator = getattr(operator, operator.overloads()[0])
    if isinstance(operator, torch._ops.OpOverload):
        row = None if syncs is None else _row(operator._schema.name, syncs)
        PLANS.register(operator, function, row)
    elif callable(getattr(operator, "run", None)):
        TRITON[operator] = (function, lambda args, kwargs: _reasons(syncs, args, kwargs))
    else:
        raise UsageError(f"{operator!r} is neither an operator nor a Triton kernel")


def _overload(name: str) -> Any:
    space, _, local = name.partition("::")
    packet, _, overload = local.partition(".")
    try:
        found = getattr(getattr(torch.ops, space), packet)
        return getattr(found, overload or found.overloads()[0])
    except (AttributeError, IndexError):
        raise UsageError(f"there is no operator {name!r}; import what defines it first") from None


def _row(name: str, syncs: Any) -> Row:
    def reasons(arguments: Arguments) -> Iterable[Reason]:
        return _reasons(syncs, tuple(arguments.values()), {})

    return Row((name,), _REGISTERED, "the program", reasons)


def _reasons(syncs: Any, args: Any, kwargs: dict[str, Any]) -> list[Reason]:
    count = syncs(*args, **kwargs) if callable(syncs) else syncs or 0
    return [Reason("inside", _REGISTERED)] * int(count)
