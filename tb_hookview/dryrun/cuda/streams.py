"""Streams, events and graphs: they do nothing, and waits for them are noted."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from typing import Any

import torch

from tb_hookview.dryrun.device.kernels import CURRENT
from tb_hookview.dryrun.operators.row import Reason
from tb_hookview.dryrun.recording.recorder import WATCH

STREAMS = (
    "streams and events do nothing here: work of all streams runs in the order of the program, so "
    "a missing wait_stream or wait_event goes unnoticed"
)
GRAPHS = (
    "CUDA graphs are not captured: the code inside runs once, as it is written, and a replay does "
    "nothing; with a GPU a sync inside of a capture is an error"
)


def explicit(what: str, text: str = "the program waits for the device") -> None:
    """Note that the program asks for a wait."""
    WATCH.sync(what, Reason("explicit", text))


class Stream:
    """`torch.cuda.Stream`."""

    cuda_stream = stream_id = priority = 0
    device_type = 1
    """CUDA among the device types of c10."""

    def __init__(self, device: Any = None, *_args: Any, **_kwargs: Any) -> None:
        self.device_index = device_index(device)
        if type(self) is Stream:
            WATCH.note(STREAMS)

    @property
    def device(self) -> torch.device:
        """The device of the stream."""
        return torch.device("cuda", self.device_index)

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *_error: object) -> None:
        return None

    def synchronize(self) -> None:
        """Note a wait."""
        explicit("cudaStreamSynchronize")

    def wait_stream(self, stream: Any) -> None:
        """Do nothing."""

    def wait_event(self, event: Any) -> None:
        """Do nothing."""

    def record_event(self, event: Any = None) -> Any:
        """Return an event that has happened."""
        event = event or Event()
        event.record(self)
        return event

    def query(self) -> bool:
        """All work is done."""
        return True

    def is_capturing(self) -> bool:
        """Nothing is ever captured."""
        return False

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and other.device_index == self.device_index

    def __hash__(self) -> int:
        return self.device_index


class DefaultStream(Stream):
    """The stream that is there without being made."""


class Event:
    """`torch.cuda.Event`."""

    def __init__(self, *_args: Any, **_kwargs: Any) -> None:
        self._at: float | None = None
        self.cuda_event = 0
        WATCH.note(STREAMS)

    def record(self, stream: Any = None) -> None:
        """Remember the time."""
        del stream
        self._at = time.perf_counter()

    def wait(self, stream: Any = None) -> None:
        """Do nothing."""

    def query(self) -> bool:
        """It has happened."""
        return True

    def synchronize(self) -> None:
        """Note a wait, unless it was never recorded."""
        if self._at is not None:
            explicit("cudaEventSynchronize")

    def elapsed_time(self, other: Event) -> float:
        """Milliseconds between two events, of the CPU's run."""
        return max(0.0, ((other._at or 0.0) - (self._at or 0.0)) * 1e3)


class Graph:
    """`torch.cuda.CUDAGraph`."""

    def __init__(self, *_args: Any, **_kwargs: Any) -> None:
        WATCH.note(GRAPHS)

    def capture_begin(self, *_args: Any, **_kwargs: Any) -> None:
        """Do nothing."""

    def capture_end(self) -> None:
        """Do nothing."""

    def replay(self) -> None:
        """Do nothing."""

    def reset(self) -> None:
        """Do nothing."""

    def pool(self) -> tuple[int, int]:
        """An identifier of a pool of memory."""
        return (0, 0)


class Nothing(contextlib.ContextDecorator):
    """A context that does nothing, whatever it is made of."""

    def __init__(self, *_args: Any, **_kwargs: Any) -> None:
        pass

    def __enter__(self) -> Nothing:
        return self

    def __exit__(self, *_error: object) -> None:
        return None


class GraphContext(Nothing):
    """`torch.cuda.graph`, which waits for the device and frees memory before it captures."""

    def __enter__(self) -> Nothing:
        WATCH.note(GRAPHS)
        explicit("cudaDeviceSynchronize", "torch.cuda.graph waits before it captures")
        return self


class DeviceContext(contextlib.ContextDecorator):
    """`torch.cuda.device`: the current device, for a block."""

    def __init__(self, device: Any = None) -> None:
        self.idx = device_index(device)
        self.prev_idx = -1

    def __enter__(self) -> None:
        self.prev_idx, CURRENT.index = CURRENT.index, self.idx

    def __exit__(self, *_error: object) -> None:
        CURRENT.index = self.prev_idx


class DeviceOf(DeviceContext):
    """`torch.cuda.device_of`: the device of a tensor."""

    def __init__(self, tensor: Any) -> None:
        super().__init__(tensor.get_device() if getattr(tensor, "is_cuda", False) else None)


def device_index(device: Any) -> int:
    """Return the number of a device however it is given; the current one for None."""
    if device is None:
        return CURRENT.index
    if isinstance(device, int):
        return CURRENT.index if device < 0 else device
    index = torch.device(device).index
    return CURRENT.index if index is None else index


def set_device(device: Any) -> None:
    """Make a device the current one."""
    CURRENT.index = device_index(device)


def values() -> dict[str, Any]:
    """What of `torch.cuda` is about streams, events and graphs."""
    default: Callable[..., Any] = lambda device=None, *_: DefaultStream(device)  # noqa: E731
    return {
        "Stream": Stream,
        "ExternalStream": Stream,
        "Event": Event,
        "CUDAGraph": Graph,
        "graph": GraphContext,
        "make_graphed_callables": _graphed,
        "graph_pool_handle": lambda: (0, 0),
        "is_current_stream_capturing": lambda: False,
        "current_stream": default,
        "default_stream": default,
        "set_stream": lambda _stream: None,
        "StreamContext": Nothing,
        "stream": Nothing,
        "device": DeviceContext,
        "device_of": DeviceOf,
        "_DeviceGuard": DeviceContext,
        "synchronize": lambda *_a, **_k: explicit("cudaDeviceSynchronize"),
    }


def _graphed(callables: Any, *_args: Any, **_kwargs: Any) -> Any:
    """`torch.cuda.make_graphed_callables`, which waits around its warmup and before captures."""
    WATCH.note(GRAPHS)
    each = callables if isinstance(callables, tuple) else (callables,)
    captures = sum(1 + _has_gradients(one) for one in each)
    for _ in range(2 + captures):
        explicit("cudaDeviceSynchronize", "torch.cuda.make_graphed_callables waits")
    return callables


def _has_gradients(callable_: Any) -> bool:
    if not isinstance(callable_, torch.nn.Module):
        return True
    return any(parameter.requires_grad for parameter in callable_.parameters())
