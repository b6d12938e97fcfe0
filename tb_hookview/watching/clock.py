"""Times of the step under way, by the host's clock."""

from __future__ import annotations

import gc
import threading
from time import perf_counter_ns

Row = tuple[int, ...]
"""One step: its number, then nanoseconds as `StepClock.row` lists them; -1 for unknown."""

UNKNOWN = -1


class StepClock:
    """Adds up what the step under way spent where. Only the thread that trains writes to it.

    Backward time of a block is the time from the last gradient of the block before it in the
    backward pass, or the pass's beginning, to its own last gradient: hooks on parameters run before
    the gradient's bucket is reduced, so waiting for other ranks is in no block.
    """

    __slots__ = (
        "after_ns",
        "backward",
        "backward_ns",
        "block_since",
        "cursor",
        "data_ns",
        "depth",
        "forward",
        "forward_ns",
        "forward_since",
        "gc_count",
        "gc_ns",
        "gc_since",
        "in_backward",
        "marked",
        "optimizer_ns",
        "optimizer_since",
        "since",
        "thread",
    )

    def __init__(self, blocks: int) -> None:
        self.thread = threading.get_ident()
        self.depth = 0
        self.in_backward = False
        self.forward_since = self.block_since = self.gc_since = self.optimizer_since = 0
        self.forward: list[int] = [UNKNOWN] * blocks
        self.backward: list[int] = [UNKNOWN] * blocks
        self.begin()

    def begin(self) -> None:
        """Begin a step."""
        self.data_ns = self.forward_ns = self.backward_ns = UNKNOWN
        self.after_ns = self.optimizer_ns = UNKNOWN
        self.gc_ns = self.gc_count = 0
        self.cursor = 0
        self.marked = False
        blocks = len(self.forward)
        if blocks:
            self.forward = [UNKNOWN] * blocks
            self.backward = [UNKNOWN] * blocks
        self.since = perf_counter_ns()

    def row(self, step: int, now: int) -> Row:
        """Return the step's row: number, `DURATIONS`, collections, blocks."""
        return (
            step,
            now - self.since,
            self.data_ns,
            self.forward_ns,
            self.backward_ns,
            self.after_ns,
            self.optimizer_ns,
            self.gc_ns,
            self.gc_count,
            *self.forward,
            *self.backward,
        )

    def is_mine(self) -> bool:
        """Return whether the calling thread is the one that trains."""
        return threading.get_ident() == self.thread

    def add_data(self, since: int) -> None:
        """Add a wait for the loader that ends now."""
        spent = perf_counter_ns() - since
        self.data_ns = spent if self.data_ns < 0 else self.data_ns + spent

    def begin_backward(self) -> None:
        """Begin the backward pass."""
        self.in_backward = True
        self.marked = False
        self.cursor = perf_counter_ns()

    def end_backward(self, since: int) -> None:
        """End the backward pass: up to the last gradient of a block, and what came after that."""
        now = perf_counter_ns()
        self.in_backward = False
        if self.marked:
            self.after_ns = max(self.after_ns, 0) + now - self.cursor
        self.backward_ns = max(self.backward_ns, 0) + (self.cursor if self.marked else now) - since

    def mark_gradient(self, block: int) -> None:
        """Note a block's last gradient."""
        now = perf_counter_ns()
        if self.in_backward:
            spent = now - self.cursor
            before = self.backward[block]
            self.backward[block] = spent if before < 0 else before + spent
            self.cursor = now
            self.marked = True

    def on_collection(self, phase: str, _info: object) -> None:
        """Time a garbage collection; one of `gc.callbacks`."""
        if phase == "start":
            self.gc_since = perf_counter_ns()
        elif self.gc_since:
            self.gc_ns += perf_counter_ns() - self.gc_since
            self.gc_count += 1
            self.gc_since = 0

    def watch_collections(self) -> None:
        """Begin to time garbage collections."""
        gc.callbacks.append(self.on_collection)

    def forget_collections(self) -> None:
        """Time no more garbage collections."""
        if self.on_collection in gc.callbacks:
            gc.callbacks.remove(self.on_collection)
