"""Defines scenarios: a training step in variants, with the findings expected of each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import nn


class UnavailableError(Exception):
    """This variant cannot run here; the message says what is missing."""


@dataclass(frozen=True)
class Setting:
    """Where a scenario runs, and how large it is."""

    device: torch.device
    small: bool
    """On the CPU and in quick runs: sizes at which a step takes milliseconds there."""

    def pick(self, large: Any, small: Any) -> Any:
        """Return the size that fits."""
        return small if self.small else large

    @property
    def cuda(self) -> bool:
        """Whether the device is a GPU."""
        return self.device.type == "cuda"


@dataclass(frozen=True)
class Recording:
    """One way to record a variant."""

    steps: int
    """The first of them counts as warming up where there are more."""
    stacks: bool
    shapes: bool = True
    memory: bool = False

    @property
    def total(self) -> int:
        """Steps to train: those before the recording, too."""
        return 3 + self.steps

    def schedule(self) -> Callable[[int], torch.profiler.ProfilerAction]:
        """Return the schedule of the profiler."""
        return torch.profiler.schedule(wait=1, warmup=2, active=self.steps, repeat=1)

    def options(self) -> dict[str, Any]:
        """Return further keywords of the profiler."""
        return {
            "record_shapes": self.shapes,
            "with_stack": self.stacks,
            "profile_memory": self.memory,
        }


@dataclass(frozen=True)
class Training:
    """One variant, built: what is wrapped, and one step of it."""

    step: Callable[[], torch.Tensor]
    """Does one whole training step and returns its loss, detached, still on the device."""
    model: nn.Module
    """Wrapped as the root without a name while it is recorded."""
    parts: dict[str, nn.Module] = field(default_factory=dict)
    """Other modules that are wrapped, by the name they are wrapped under."""
    close: Callable[[], None] = lambda: None
    """Called once after the last step."""


@dataclass(frozen=True)
class Expected:
    """A finding that the report on a variant's trace should contain."""

    any_of: tuple[str, ...]
    """Ids of rules, one of which should fire."""
    module: str | None = None
    """Path of the module it should name; None where it concerns no single module."""
    needs_device: bool = True
    """Whether it is about a device that works next to the host, so that no recording on the CPU
    shows it."""


@dataclass(frozen=True)
class Variant:
    """One way to write the step."""

    name: str
    build: Callable[[Setting], Training] | None = None
    expected: tuple[Expected, ...] = ()
    partly: bool = False
    """Whether it fixes only a part, so that the first variant's findings may fire too."""
    conditions: Callable[[Setting], AbstractContextManager[Any]] = lambda _: nullcontext()
    """Entered around everything that is done with the variant: torch's own switches."""
    record: Callable[[Setting, Path, Recording], None] | None = None
    """Trains and records into a folder, in place of `build`: where a library has the loop, or
    several processes train. Such a variant is neither compared nor timed."""
    late: str | None = None
    """Path of the module that makes a rank late, as `hookview ranks` should name it."""


@dataclass(frozen=True)
class Scenario:
    """A cause of lost time and its fix, or a healthy step."""

    name: str
    title: str
    """A phrase: the fault of the first variant and what the others do instead."""
    variants: tuple[Variant, ...]
    needs: tuple[str, ...] = ()
    """Libraries it needs in addition to torch."""
    stacks: bool = False
    """Whether Python stacks are recorded, where they fit."""
    profile_memory: bool = False
    steps: int = 4
    """Of a recording, the first of which warms up; fewer where they do not fit."""
    seconds: float = 40
    """Time limit, without the start of its process."""
    healthy: bool = False
    """Whether no finding of high confidence may fire on any variant."""
    tolerance: float | None = 0.0
    """How far the losses of the variants may lie apart, relative; None where they draw different
    random numbers, or compute at another precision."""
    environment: dict[str, str] = field(default_factory=dict)
    """Variables that its process is started with."""
    ranks: int = 1
    """Processes that record, each a trace of its own."""
    on_cpu: str = ""
    """What recordings on the CPU show, for its page; empty where they show nothing of the fault,
    and are not made."""
    cpu_only: bool = False
    """Whether the fault is one of trainings on a CPU, so that no GPU records it."""
    further: Callable[[Setting, float], Iterator[dict[str, Any]]] | None = None
    """Measures more than steps: given the seconds it may take, yields rows for measured.json."""


def endless(batches: Any) -> Iterator[Any]:
    """Go through batches again and again, a new pass of a loader each time."""
    while True:
        yield from batches
