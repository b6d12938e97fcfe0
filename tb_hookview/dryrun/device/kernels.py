"""What runs in place of every CUDA kernel: the CPU's kernel, on the same memory."""

from __future__ import annotations

from typing import Any

import torch

from tb_hookview.dryrun.device.attention import QUANTIZED_CPU_KEYS
from tb_hookview.dryrun.device.guard import (
    COMPRESSED_SHARED,
    NESTED_METADATA,
    PLANS,
    SPARSE_METADATA,
    SPARSE_SHARED,
    Op,
    Plan,
)
from tb_hookview.dryrun.device.labels import (
    CPU,
    CPU_KEYS,
    NESTED_CPU_KEYS,
    SPARSE_CPU_KEYS,
    SPARSE_CSR_CPU_KEYS,
    UnsupportedError,
    aten,
    host,
    label,
)
from tb_hookview.dryrun.operators.row import Arguments
from tb_hookview.dryrun.recording.recorder import WATCH

_Tensor, _Device = torch.Tensor, torch.device
_set = aten.set_.source_Tensor
_empty_strided = aten.empty_strided.default
_NoTorchFunction = torch._C.DisableTorchFunction
_HALVES = (torch.float16, torch.bfloat16)


class MissingKernelError(NotImplementedError):
    """An operator that has no kernel for the CPU."""


class CurrentDevice:
    """The device that `cuda` without a number is."""

    index = 0
    count = 1


CURRENT = CurrentDevice()


class _Call:
    """One call: tensors of the device and their aliases on the host."""

    __slots__ = ("index", "pairs", "plan", "strangers")

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.pairs: list[tuple[torch.Tensor, torch.Tensor]] = []
        self.index = -1
        """The device of the call; -1 while it is unknown."""
        self.strangers: set[str] = set()
        """Devices of other tensors than those of the call's device."""

    def to_host(self, value: Any, *, written: bool = False, elsewhere: bool = False) -> Any:
        """A value with aliases in place of tensors of the device."""
        if isinstance(value, _Tensor):
            if elsewhere and not value.is_cuda:
                return value
            return self._tensor(value, written=written)
        if isinstance(value, (list, tuple)):
            return [self.to_host(each, elsewhere=elsewhere) for each in value]
        if isinstance(value, _Device):
            return self._device(value)
        return value

    def _tensor(self, value: torch.Tensor, *, written: bool) -> torch.Tensor:
        if value.is_cuda:
            self._on(value.device.index or 0)
            strided = not value.is_nested and value.layout is torch.strided
            if written and strided and not value.numel():
                # A result that the kernel resizes needs memory that can grow.
                alias: torch.Tensor = _empty_strided(
                    value.size(), value.stride(), dtype=value.dtype, device=CPU
                )
            else:
                alias = host(value)
            self.pairs.append((value, alias))
            return alias
        if value.dim() and value.device.type == "cpu":
            self.strangers.add("cpu")
        return value

    def _device(self, value: torch.device) -> torch.device:
        if value.type != "cuda":
            return value
        self._on(CURRENT.index if value.index is None else value.index)
        return CPU

    def _on(self, index: int) -> None:
        if self.index < 0:
            self.index = index
        elif index != self.index:
            self.strangers.add(f"cuda:{index}")

    def check_devices(self) -> None:
        """Raise as CUDA does for tensors of several devices."""
        if self.pairs and self.strangers and not self.plan.is_mixed:
            raise RuntimeError(
                "Expected all tensors to be on the same device, but found at least two devices, "
                f"cuda:{self.index} and {min(self.strangers)}! "
                f"(when checking arguments for {self.plan.name})"
            )

    def adopt_results(self) -> None:
        """Let tensors of the device be what their aliases were resized or moved to."""
        for original, alias in self.pairs:
            if original.is_nested or original.layout is not torch.strided:
                continue
            if (
                original.size() != alias.size()
                or original.data_ptr() != alias.data_ptr()
                or original.stride() != alias.stride()
            ):
                _set.redispatch(CPU_KEYS, original, label(alias, self.index))

    def to_device(self, value: Any) -> Any:
        """A result of the host as one of the device."""
        if isinstance(value, _Tensor):
            for original, alias in self.pairs:
                if value is alias:
                    return original
            return label(value, self.index if self.index >= 0 else CURRENT.index)
        if isinstance(value, (list, tuple)):
            return [self.to_device(each) for each in value]
        return value


def kernel(op: Op, *args: Any, **kwargs: Any) -> Any:
    """Run an operator of the device."""
    plan = PLANS.of(op)
    with _NoTorchFunction():
        if plan.is_cpu_only:
            raise NotImplementedError(f"{plan.name} exists for the CPU alone: it fails with a GPU")
        note(plan, args, kwargs)
        if plan.is_metadata or plan.is_shared:
            own = _own_keys(args)
            if own is not None:
                return op.redispatch(own, *args, **kwargs)
        if plan.is_no_op:
            return None
        special = _of_layout(plan, args)
        if special is not None:
            return op.redispatch(special, *args, **kwargs)
        return _run(plan, args, kwargs)


def note(plan: Plan, args: Any, kwargs: Any) -> None:
    """Note the call of a kernel, and its syncs."""
    recorder = WATCH.recorder
    if recorder is None:
        return
    recorder.operator()
    if plan.rows:
        arguments = Arguments(plan.defaults, args, kwargs)
        for row in plan.rows:
            for reason in row.reasons(arguments):
                recorder.sync(plan.base, reason)


def _own_keys(args: Any) -> Any:
    """Keys of the CPU's code for a tensor as it is; None where it has kernels inside."""
    first = args[0] if args else None
    if isinstance(first, _Tensor):
        if first.is_quantized:
            return QUANTIZED_CPU_KEYS
        if first.layout is torch.sparse_coo:
            return SPARSE_CPU_KEYS
        if first.layout is not torch.strided:
            return None
    return CPU_KEYS


def _of_layout(plan: Plan, args: Any) -> Any:
    """Keys of the CPU's code for what reads the parts of a sparse or nested tensor."""
    first = args[0] if args else None
    if not isinstance(first, _Tensor):
        return None
    if first.is_nested:
        return NESTED_CPU_KEYS if plan.base.removeprefix("aten::") in _NESTED else None
    if first.layout is torch.strided:
        return None
    is_coo = first.layout is torch.sparse_coo
    if plan.base in SPARSE_METADATA or (
        plan.base in SPARSE_SHARED if is_coo else plan.name in COMPRESSED_SHARED
    ):
        return SPARSE_CPU_KEYS if is_coo else SPARSE_CSR_CPU_KEYS
    return None


_NESTED = frozenset(name.removeprefix("aten::") for name in NESTED_METADATA)


def _run(plan: Plan, args: Any, kwargs: Any) -> Any:
    call = _Call(plan)
    writes = plan.writes
    host_args = [
        call.to_host(value, written=name in writes, elsewhere=name in plan.elsewhere)
        for name, value in zip(plan.names, args, strict=False)
    ]
    host_kwargs = {
        name: call.to_host(value, written=name in writes) for name, value in kwargs.items()
    }
    if call.strangers:
        call.check_devices()
    if host_kwargs.get("pin_memory"):
        host_kwargs["pin_memory"] = False
    results = _attempt(call, host_args, host_kwargs)
    if writes:
        call.adopt_results()
    if not plan.returned:
        return None
    values = (results,) if len(plan.returned) == 1 else results
    named = Arguments(plan.defaults, args, kwargs)
    made = [
        call.to_device(value) if source is None else named[source]
        for value, source in zip(values, plan.returned, strict=True)
    ]
    return made[0] if len(made) == 1 else tuple(made)


def _attempt(call: _Call, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Run the CPU's kernel, in the ways that differ from CUDA's if it refuses."""
    plan = call.plan
    try:
        return plan.run(*args, **kwargs)
    except UnsupportedError:
        raise
    except NotImplementedError as error:
        if "not implemented for" in str(error):
            return _in_float(plan, args, kwargs, error)
        raise MissingKernelError(
            f"dry run: {plan.base} has no kernel for the CPU; give it one by "
            f'run.register("{plan.base}", function, syncs=...)'
        ) from error
    except RuntimeError as error:
        if "Expected a value of type 'Tensor" in str(error):
            # Numbers in place of tensors, which another overload takes.
            return plan.packet(*args, **kwargs)
        if "not resizable" in str(error) and plan.writes:
            return _with_copies(call, args, kwargs)
        if "not implemented for" in str(error) or "Half" in str(error):
            return _in_float(plan, args, kwargs, error)
        raise


def _with_copies(call: _Call, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Run with results of their own memory, which can be resized."""
    # Of the originals: the attempt before may have resized an alias that had no elements.
    copies = {id(alias): host(original).clone() for original, alias in call.pairs}
    call.pairs = [(original, copies[id(alias)]) for original, alias in call.pairs]

    def again(value: Any) -> Any:
        if isinstance(value, list):
            return [again(each) for each in value]
        return copies.get(id(value), value)

    return call.plan.run(*map(again, args), **{name: again(each) for name, each in kwargs.items()})


def _in_float(plan: Plan, args: list[Any], kwargs: dict[str, Any], error: RuntimeError) -> Any:
    """Run in single precision what the CPU has no kernel of half precision for."""
    widened: list[tuple[torch.Tensor, torch.Tensor]] = []
    written: list[tuple[torch.Tensor, torch.Tensor]] = []

    def up(name: str, value: Any) -> Any:
        if isinstance(value, _Tensor) and value.dtype in _HALVES:
            widened.append((value, aten._to_copy(value, dtype=torch.float32)))
            written.extend(widened[-1:] if name in plan.writes else ())
            return widened[-1][1]
        if isinstance(value, list):
            return [up(name, each) for each in value]
        return torch.float32 if value in _HALVES and isinstance(value, torch.dtype) else value

    wide_args = [up(name, each) for name, each in zip(plan.names, args, strict=False)]
    wide_kwargs = {name: up(name, each) for name, each in kwargs.items()}
    if not widened:
        raise error
    out = plan.run(*wide_args, **wide_kwargs)
    WATCH.note(
        f"{plan.base} ran in single precision: the CPU has no kernel of half precision for it"
    )
    for original, wide in written:
        original.copy_(wide)
    return _narrowed(out, widened)


def _narrowed(value: Any, widened: list[tuple[torch.Tensor, torch.Tensor]]) -> Any:
    if isinstance(value, _Tensor) and value.dtype is torch.float32:
        for original, wide in widened:
            if value is wide:
                return original
        return aten._to_copy(value, dtype=widened[0][0].dtype)
    if isinstance(value, (list, tuple)):
        return [_narrowed(each, widened) for each in value]
    return value
