"""A device that is a thread: it takes work from a queue for each stream, and sleeps through it.

It runs in real time and apart from the host, so that a program on it can be run again with
something changed, and timed. What host and device do is kept as the events of a trace.

Work begins as it is launched and the work before it has ended, by the device's own clock: where a
busy machine lets the thread sleep too long, the host hears of the end later, and that is all.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

KERNEL, RUNTIME, OPERATOR, NOTE = "kernel", "cuda_runtime", "cpu_op", "user_annotation"


class Signal:
    """A moment that a stream reaches."""

    def __init__(self) -> None:
        self._reached = threading.Event()
        self._at = 0

    def reach(self, at: int) -> None:
        """The stream is there, and has been since a moment."""
        self._at = at
        self._reached.set()

    def wait(self) -> int:
        """Wait for the stream to be there, and return since when it is, in nanoseconds."""
        self._reached.wait()
        return self._at


class _Work(NamedTuple):
    name: str
    nanoseconds: int
    launched: int
    correlation: int
    after: Signal | None
    done: Signal


class Device:
    """Streams that work through what is launched; and what happened, as events."""

    def __init__(self, *, recording: bool) -> None:
        self._recording = recording
        self._events: list[dict[str, Any]] = []
        self._streams: dict[int, _Stream] = {}
        self._launched = 0
        self._waits_for: dict[int, Signal] = {}

    def launch(self, name: str, seconds: float, stream: int = 7) -> Signal:
        """Queue a kernel, and return."""
        with self._noted(RUNTIME, "cudaLaunchKernel") as noted:
            self._launched += 1
            noted["args"]["correlation"] = self._launched
            after = self._waits_for.pop(stream, None)
            now = time.perf_counter_ns()
            work = _Work(name, int(seconds * 1e9), now, self._launched, after, Signal())
            self._stream(stream).put(work)
        return work.done

    def wait_event(self, signal: Signal, stream: int) -> None:
        """Let a stream's next kernel wait for a signal of another one."""
        with self._noted(RUNTIME, "cudaStreamWaitEvent"):
            self._waits_for[stream] = signal

    def synchronize(self, signal: Signal) -> None:
        """Wait on the host for a kernel."""
        with self._noted(RUNTIME, "cudaStreamSynchronize"):
            signal.wait()

    def work(self, name: str, seconds: float, kind: str = OPERATOR) -> None:
        """Do something on the host."""
        with self._noted(kind, name):
            time.sleep(seconds)

    @contextmanager
    def step(self, number: int) -> Iterator[None]:
        """Mark a step."""
        with self._noted(NOTE, f"ProfilerStep#{number}"):
            yield

    def drain(self) -> None:
        """Wait for all that was launched, without a trace of it."""
        for stream in self._streams.values():
            signal = Signal()
            stream.put(_Work("", 0, 0, -1, None, signal))
            signal.wait()

    def close(self) -> list[dict[str, Any]]:
        """Wait for all that was launched, and return the events of the trace."""
        for stream in self._streams.values():
            stream.put(None)
            stream.join()
        for stream in self._streams.values():
            self._events += [_event(KERNEL, *times, 0, stream.number) for times in stream.ran]
        return self._events

    def _stream(self, number: int) -> _Stream:
        if number not in self._streams:
            self._streams[number] = _Stream(number)
            self._streams[number].start()
        return self._streams[number]

    @contextmanager
    def _noted(self, kind: str, name: str) -> Iterator[dict[str, Any]]:
        start = time.perf_counter_ns()
        event = _event(kind, name, start, start, -1, 77, threading.get_ident())
        yield event
        event["dur"] = (time.perf_counter_ns() - start) / 1000
        if self._recording:
            self._events.append(event)


class _Stream(threading.Thread):
    def __init__(self, number: int) -> None:
        super().__init__(daemon=True)
        self.number = number
        self.ran: list[tuple[str, int, int, int]] = []
        self._queue: queue.SimpleQueue[_Work | None] = queue.SimpleQueue()
        self.put = self._queue.put

    def run(self) -> None:
        free = 0
        while (work := self._queue.get()) is not None:
            start = max(work.launched, free, work.after.wait() if work.after else 0)
            free = start + work.nanoseconds
            time.sleep(max(free - time.perf_counter_ns(), 0) / 1e9)
            if work.correlation >= 0:
                self.ran.append((work.name, start, free, work.correlation))
            work.done.reach(free)


def _event(
    kind: str, name: str, start: int, end: int, correlation: int, process: int, thread: int
) -> dict[str, Any]:
    args: dict[str, Any] = {"correlation": correlation} if correlation >= 0 else {}
    if kind == KERNEL:
        args |= {"stream": thread, "device": 0}
    return {
        "ph": "X",
        "cat": kind,
        "name": name,
        "pid": process,
        "tid": thread,
        "ts": start / 1000,
        "dur": (end - start) / 1000,
        "args": args,
    }
