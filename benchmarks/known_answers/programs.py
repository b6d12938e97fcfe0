"""Programs for the emulated device: a step, what may be changed in it, and the same as a question.

Times are milliseconds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from known_answers.device import NOTE, Device, Signal

LOADER = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"


class Factors(NamedTuple):
    """What is changed in a run; 1 is as recorded."""

    kernels: float = 1
    slow_kernel: float = 1
    communication: float = 1
    host: float = 1
    data: float = 1
    syncs: float = 1


class Program(NamedTuple):
    """A step, and the questions about it."""

    name: str
    step: Callable[[Device, Factors], None]
    questions: tuple[Factors, ...]


QUESTION: Mapping[str, str] = {"slow_kernel": "kernel:slow"}
"""Names of factors as `--scale` has them, where they differ."""


def scale(factors: Factors) -> dict[str, float]:
    """Factors as a question."""
    given = factors._asdict().items()
    return {QUESTION.get(name, name): factor for name, factor in given if factor != 1}


def _run(
    device: Device, factors: Factors, count: int, host: float, kernel: float, sync_every: int = 0
) -> Signal:
    """Operators that work on the host and launch a kernel each; every fourth kernel is slow."""
    done = Signal()
    for number in range(1, count + 1):
        device.work("aten::op", host * factors.host / 1000)
        slow = number % 4 == 0
        factor = factors.kernels * (factors.slow_kernel if slow else 1)
        length = kernel * (2 if slow else 1)
        done = device.launch("slow" if slow else "quick", length * factor / 1000)
        if sync_every and number % sync_every == 0 and factors.syncs:
            device.synchronize(done)
    return done


def _load(device: Device, factors: Factors, milliseconds: float) -> None:
    device.work(LOADER, milliseconds * factors.data / 1000, NOTE)


def _host_bound(device: Device, factors: Factors) -> None:
    device.synchronize(_run(device, factors, 16, host=4, kernel=1.5))


def _device_bound(device: Device, factors: Factors) -> None:
    device.synchronize(_run(device, factors, 16, host=1, kernel=4))


def _syncs(device: Device, factors: Factors) -> None:
    _run(device, factors, 16, host=3, kernel=3, sync_every=2)


def _loader(device: Device, factors: Factors) -> None:
    _load(device, factors, 40)
    device.synchronize(_run(device, factors, 12, host=2, kernel=4))


def _loader_ahead(device: Device, factors: Factors) -> None:
    """The loader runs while the device has work: a part of its time is hidden."""
    _run(device, factors, 12, host=1, kernel=3)
    _load(device, factors, 40)


def _collectives(device: Device, factors: Factors) -> None:
    """Buckets reduced on another stream while the backward goes on, and awaited at the end."""
    reduced = Signal()
    for _ in range(4):
        done = _run(device, factors, 3, host=1, kernel=2)
        device.wait_event(done, 9)
        length = 10 * factors.kernels * factors.communication
        reduced = device.launch("ncclDevKernel_AllReduce_Sum_f32", length / 1000, 9)
    device.wait_event(reduced, 7)
    device.synchronize(device.launch("quick", 4 * factors.kernels / 1000))


PROGRAMS = (
    Program("host-bound", _host_bound, (Factors(kernels=0.5), Factors(host=0.5), Factors(host=2))),
    Program(
        "device-bound",
        _device_bound,
        (Factors(kernels=0.5), Factors(slow_kernel=0.25), Factors(host=0.5)),
    ),
    Program(
        "a sync for every other kernel",
        _syncs,
        (Factors(syncs=0), Factors(kernels=0.5), Factors(host=0.5)),
    ),
    Program("a loader before the step", _loader, (Factors(data=0), Factors(data=0, kernels=0.5))),
    Program(
        "a loader in parallel with the device",
        _loader_ahead,
        (Factors(data=0), Factors(data=0.5), Factors(kernels=0.5)),
    ),
    Program(
        "collectives on another stream",
        _collectives,
        (Factors(communication=0.5), Factors(communication=0.25), Factors(kernels=0.5)),
    ),
)
