"""Where exploring begins: small traces of every kind of row, and addresses of every route."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import grid

from tb_hookview import markers

DATA = Path(__file__).parents[1] / "data"
RECORDED = DATA / "recorder_v1.pt.trace.json.gz"

_TRAINING = """
    main     notes   [ProfilerStep#1                                          ] [ProfilerStep#2    ]
    main     notes     [load   ]                                  [step   ]
    main     python   [mod                ]
    main     ops      [aten::linear seq=1 ] [sum seq=2 ]
    main     ops       [aten::mm  ]
    main     calls      [launch corr=7]      [launch corr=8]   [sync corr=9   ]   [copy corr=11]
    autograd ops                              [sumnode seq=2 F=1 ] [mmnode seq=1 F=1 ]
    autograd ops                               [aten::mul ]         [aten::mm  ]
    autograd calls                              [launch corr=10]     [launch corr=12]
    gpu      kernel          [gemm corr=7 ]   [k corr=8 ] [nccl corr=10] [gemm corr=12 ]
    gpu      copy                                                            [dtoh corr=11]
    """
_NAMES = {
    "launch": "cudaLaunchKernel",
    "sync": "cudaStreamSynchronize",
    "copy": "cudaMemcpyAsync",
    "load": "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
    "step": "Optimizer.step#SGD.step",
    "mod": "nn.Module: Linear_0",
    "sum": "aten::sum",
    "sumnode": "autograd::engine::evaluate_function: SumBackward0",
    "mmnode": "autograd::engine::evaluate_function: AddmmBackward0",
    "gemm": "ampere_sgemm_128x64_tn",
    "nccl": "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
    "dtoh": "Memcpy DtoH (Device -> Pageable)",
    "fwd": markers.encode("forward", "0", "Linear"),
    "grad": markers.encode("gradient", "0", "Linear", "weight"),
    "pre": markers.encode("before backward", "0", "Linear"),
    "post": markers.encode("after backward", "0", "Linear"),
}
_MARKED = """
    main     ops      [fwd         ]
    main     ops       [aten::mm seq=1 ]
    autograd ops                     [pre]  [mmnode seq=1 F=1 ] [post]
    autograd ops                                                       [acc              ]
    autograd ops                                                        [grad ]
    """
_HEAD: dict[str, Any] = {
    "schemaVersion": 1,
    "deviceProperties": [{"id": 0, "name": "A", "computeMajor": 8, "computeMinor": 0}],
    "cuda_runtime_version": 12010,
    "distributedInfo": {"rank": 1, "world_size": 4},
}
_OTHERS = [
    {"ph": "M", "name": "process_name", "pid": 77, "tid": 0, "ts": 0, "args": {"name": "python"}},
    {"ph": "M", "name": "thread_name", "pid": 77, "tid": "main", "args": {"name": "thread 1"}},
    {"ph": "M", "name": "process_labels", "pid": 0, "tid": 0, "args": {"labels": "GPU 0"}},
    {"ph": "s", "id": 7, "pid": 77, "tid": "main", "ts": 1030, "cat": "ac2g", "name": "ac2g"},
    {"ph": "f", "id": 7, "pid": 0, "tid": 7, "ts": 1040, "cat": "ac2g", "name": "ac2g", "bp": "e"},
    {"ph": "i", "name": "[memory]", "pid": 77, "tid": 1, "ts": 1020, "s": "t",
     "args": {"Device Type": 1, "Device Id": 0, "Addr": 5, "Bytes": 256, "Total Allocated": 256}},
    {"ph": "C", "name": "GPU util", "pid": 0, "ts": 1020, "args": {"util": 3}},
    {"ph": "B", "name": "old", "pid": 77, "tid": 1, "ts": 1001},
    {"ph": "E", "name": "old", "pid": 77, "tid": 1, "ts": 1009},
]  # fmt: skip


def traces() -> dict[str, bytes]:
    """Texts of traces by name, uncompressed."""
    drawn = grid.events(_TRAINING, _NAMES)
    names = {
        **_NAMES,
        "acc": "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad",
    }
    recorded = json.loads(gzip.decompress(RECORDED.read_bytes()))
    rows = recorded["traceEvents"]
    return {
        "drawn": _text({**_HEAD, "traceEvents": [*drawn, *_OTHERS]}),
        "list": _text(drawn),
        "marked": _text({**_HEAD, "traceEvents": grid.events(_MARKED, names)}),
        "recorded": _text({**recorded, "traceEvents": rows[:40] + rows[-40:]}),
        "empty": _text({"traceEvents": []}),
    }


_TRACE = "run=.&worker=host_1"
ADDRESSES = [
    "/api/runs",
    "/api/rules",
    f"/api/report?{_TRACE}&trace=1700000000123&step=ProfilerStep%231",
    f"/api/timeline?{_TRACE}",
    f"/api/timeline/window?{_TRACE}&start=-5.5&end=2300&width=100&lanes=0,1,2",
    f"/api/timeline/event?{_TRACE}&id=5",
    f"/api/timeline/search?{_TRACE}&q=aten&start=0&end=100&width=50&lanes=3",
    f"/api/timeline/statistics?{_TRACE}&start=0&end=1e4",
    f"/api/module?{_TRACE}&path=0&step=1",
    f"/api/module/bars?{_TRACE}&measure=backward_compute_us&path=0&path=",
    f"/api/module/search?{_TRACE}&q=mm",
    f"/api/compare?{_TRACE}&other_run=.&other_worker=host_1&step=1&other_step=1",
    f"/api/progress?{_TRACE}",
    "/index.html",
    "/assets/none.js",
    "/two%0Alines",
]


def _text(root: object) -> bytes:
    return json.dumps(root, indent=1).encode()
