from __future__ import annotations

import pytest

from tb_hookview.analysis.calls.division import work_of
from tb_hookview.analysis.host.rows import call_of


@pytest.mark.parametrize(
    ("name", "work"),
    [
        ("cudaLaunchKernel", "launch"),
        ("hipExtModuleLaunchKernel", "launch"),
        ("cudaGraphLaunch", "launch"),
        ("runFunction - job_prep_and_submit_for_execution", "launch"),
        ("cuModuleLoadData", "load"),
        ("hipModuleLoadData", "load"),
        ("cudaMalloc", "allocate"),
        ("hipFree", "allocate"),
        ("cudaHostAlloc", "allocate"),
        ("cudaDeviceSynchronize", "synchronize"),
        ("cudaMemcpyAsync", "copy"),
        ("hipMemcpyWithStream", "copy"),
        ("cudaMemsetAsync", "set"),
        ("cudaEventRecordWithFlags", "order"),
        ("cudaStreamWaitEvent", "order"),
        ("cudaEventCreateWithFlags", "create"),
        ("cudaGraphInstantiate", "create"),
        ("cudaEventQuery", "query"),
        ("cudaGetDeviceProperties", "query"),
        ("cudaDoesSomethingElse", "other"),
    ],
)
def test_own_work_by_name(name: str, work: str) -> None:
    assert work_of(name, call_of(name)) == work
