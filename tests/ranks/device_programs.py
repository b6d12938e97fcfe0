"""Drawn programs of ranks with a device, played with its queue, and their traces."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

TRANSFER, CALL, INSIDE, COPY = 1.0, 0.01, 0.001, 0.002
"""Of a collective; of a call; from the start of a module to that of its operator; of a copy, and
of the pause of the device before it. Milliseconds."""
_COMPUTE, _BESIDE, _COLLECTIVES = 7, 9, 20
"""Streams."""


class Part(NamedTuple):
    """What a rank does before a collective, whose end the device's next kernel waits for.

    host    [loader]..pause..[ module ][launch][.. waits.]     after "retry" it frees memory
    device                          [kernel]
    stream 2                                .delay.[collective]
    """

    module: str = "a"
    host: float = 2.0
    device: float = 1.0
    loader: float = 0.0
    pause: float = 0.0
    """On the host, in no row."""
    backward: bool = False
    delay: float = 0.0
    """From the time at which the collective could begin, on the device."""
    after: float = 0.0
    """Of an operator on the host, after the launch of the collective."""
    waits: Literal["", "sync", "retry", "copy"] = ""
    """How the host waits for the collective: "copy" is one into pageable memory."""
    beside: float = 0.0
    """Of a kernel on a stream for which nothing waits."""
    annotated: bool = False
    """Whether the module is an annotation of the user's."""
    goes_on: bool = False
    """Whether the device's next kernel does not wait for the collective."""


Program = Sequence[Sequence[Part]]
"""Parts of each rank, the same in every step."""
Groups = Sequence[Sequence[Sequence[int]]]
"""Ranks that meet after each part; () for all of them together."""


class Rank:
    """One rank: time of its host and of its streams, and the rows of its trace."""

    def __init__(self) -> None:
        self.host = self.compute = self.collectives = 0.0
        self.rows: list[dict[str, Any]] = []
        self._launches = 0
        self._forwards: dict[str, int] = {}
        """Sequence number of the last forward of each module."""

    def row(self, category: str, name: str, start: float, end: float, **args: Any) -> None:
        """Add a row of the host."""
        times = {"ts": 1e6 + start * 1000, "dur": (end - start) * 1000}
        place = {"ph": "X", "pid": 1, "tid": 1, **times}
        self.rows.append({**place, "cat": category, "name": name, "args": args})

    def call(self, name: str, **args: Any) -> None:
        """Add a short call of the runtime."""
        self.row("cuda_runtime", name, self.host, self.host + CALL, **args)
        self.host += CALL

    def kernel(self, name: str, stream: int, start: float, end: float) -> None:
        """Add the kernel of the last launch."""
        self.row("kernel", name, start, end, correlation=self._launches, device=0, stream=stream)
        self.rows[-1] |= {"pid": 0, "tid": stream}

    def launch(self) -> None:
        """Launch a kernel."""
        self._launches += 1
        self.call("cudaLaunchKernel", correlation=self._launches)

    def work(self, part: Part, group: Sequence[int]) -> float:
        """Do what comes before the collective, launch it; return when it could begin."""
        if part.loader:
            name = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
            self.row("user_annotation", name, self.host, self.host + part.loader)
            self.host += part.loader
        self.host += part.pause
        begun, of = self.host, {"Sequence number": self._launches}
        self.host += part.host
        self.launch()
        self.compute = max(self.compute, self.host) + part.device
        self.kernel("gemm", _COMPUTE, self.compute - part.device, self.compute)
        if part.beside:
            self.launch()
            self.kernel("gemm", _BESIDE, self.host, self.host + part.beside)
        name = "autograd::engine::evaluate_function: MmBackward0"
        if not part.module:
            self.row("cpu_op", "aten::mm", begun, self.host)
        elif part.backward:
            of = {"Sequence number": self._forwards[part.module], "Fwd thread id": 1}
            self.row("cpu_op", name, begun, self.host, **of)
            self.row("cpu_op", "MmBackward0", begun, self.host, **of)
        else:
            forward = "cpu_op", f"{part.module} (Linear) forward ~hv1"
            called = ("user_annotation", part.module) if part.annotated else forward
            self.row(*called, begun, self.host)
            self.row("cpu_op", "aten::mm", begun + INSIDE, self.host, **of)
            self._forwards[part.module] = of["Sequence number"]
        begun = self.host
        self.launch()
        group_of = {"Process Group Name": str(group), "Process Group Ranks": str(list(group))}
        size = {"dtype": "Float", "In msg nelems": 1000, "Group size": len(group)}
        named = {"Collective name": "allreduce", **group_of, **size}
        self.row("cpu_op", "record_param_comms", begun, self.host, **named)
        return max(self.host, self.compute, self.collectives) + part.delay

    def take_part(self, part: Part, start: float, end: float) -> None:
        """Take part in the collective, and wait for it."""
        self.kernel("ncclDevKernel_AllReduce", _COLLECTIVES, start, end)
        self.collectives = end
        if not part.goes_on:
            self.compute = end
        if part.after:
            self.row("cpu_op", "aten::empty", self.host, self.host + part.after)
            self.host += part.after
        if part.waits == "sync":
            self.row("cuda_runtime", "cudaStreamSynchronize", self.host, max(self.host, end))
            self.host = max(self.host, end)
        elif part.waits == "copy":
            self._launches += 1
            begun, self.host = self.host, max(self.host, end) + 2 * COPY
            number = {"correlation": self._launches}
            self.row("cuda_runtime", "cudaMemcpyAsync", begun, self.host, **number)
            of = {**number, "device": 0, "stream": _COMPUTE}
            name = "Memcpy DtoH (Device -> Pageable)"
            self.row("gpu_memcpy", name, self.host - COPY, self.host, **of)
            self.rows[-1] |= {"pid": 0, "tid": _COMPUTE}
            self.compute = self.host
        elif part.waits == "retry":
            begun = self.host
            self.call("cudaMalloc")
            self.host = max(self.host, end)
            self.call("cudaFree")
            self.call("cudaMalloc")
            self.row("cpu_op", "aten::empty", begun, self.host)


def played(
    program: Program, steps: int, groups: Groups = (), begins: Sequence[float] = ()
) -> list[Rank]:
    """Play a program: one collective at a time, all ranks in turn, begun at some moments."""
    ranks, everyone = [Rank() for _ in program], range(len(program))
    for rank, begin in zip(ranks, begins, strict=False):
        rank.host = begin
    for step in range(steps):
        begun = [rank.host for rank in ranks]
        for place, parts in enumerate(zip(*program, strict=True)):
            for group in groups[place] if groups else [everyone]:
                starts = {each: ranks[each].work(parts[each], tuple(group)) for each in group}
                for each, start in starts.items():
                    ranks[each].take_part(parts[each], start, max(starts.values()) + TRANSFER)
        for rank, start in zip(ranks, begun, strict=True):
            rank.row("user_annotation", f"ProfilerStep#{step}", start, rank.host)
    return ranks


def length(program: Program, steps: int, groups: Groups = ()) -> float:
    """How long a program takes, to the last end of any of its collectives."""
    return max(rank.collectives for rank in played(program, steps, groups))


def write(
    folder: Path,
    program: Program,
    steps: int,
    groups: Groups = (),
    begins: Sequence[float] = (),
) -> Path:
    """Write the traces of a program."""
    folder.mkdir()
    for number, rank in enumerate(played(program, steps, groups, begins)):
        info = {"rank": number, "world_size": len(program)}
        text = json.dumps({"distributedInfo": info, "traceEvents": rank.rows})
        (folder / f"rank{number}.1.pt.trace.json.gz").write_bytes(gzip.compress(text.encode()))
    return folder
