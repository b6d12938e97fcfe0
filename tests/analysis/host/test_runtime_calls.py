"""Calls of every vendor's runtime by their names, with their effects on the host."""

from __future__ import annotations

import pytest

from tb_hookview.analysis.host.rows import Call, call_of

ALWAYS_WAIT = {
    "CUDA": "cudaDeviceSynchronize cudaStreamSynchronize cudaEventSynchronize cudaThreadSynchronize"
    " cudaStreamSynchronize_ptsz cudaDeviceSynchronize_ptsz cuCtxSynchronize cuStreamSynchronize"
    " cuEventSynchronize cuStreamSynchronize_ptsz",
    "HIP": "hipDeviceSynchronize hipStreamSynchronize hipEventSynchronize hipStreamSynchronize_spt",
    "XPU": "zeCommandQueueSynchronize zeCommandListHostSynchronize zeEventHostSynchronize"
    " zeFenceHostSynchronize urQueueFinish urEventWait",
    "MTIA": "synchronize synchronizeStream",
    "NPU": "aclrtSynchronizeDevice aclrtSynchronizeStream aclrtSynchronizeEvent"
    " aclrtSynchronizeDeviceWithTimeout aclrtSynchronizeStreamWithTimeout"
    " aclrtSynchronizeEventWithTimeout",
    "MUSA": "musaDeviceSynchronize musaStreamSynchronize",
    "HPU": "synStreamSynchronize synDeviceSynchronize",
}
COPY = {
    "CUDA": "cudaMemcpy cudaMemcpy2D cudaMemcpy3D cudaMemcpyPeer cudaMemcpyToSymbol cudaMemcpy_ptds"
    " cuMemcpyDtoH_v2 cuMemcpyHtoD_v2",
    "HIP": "hipMemcpy hipMemcpyWithStream hipMemcpyDtoH hipMemcpyHtoD hipMemcpy2D",
    "NPU": "aclrtMemcpy aclrtMemcpy2d",
}
MAY_WAIT = {
    "CUDA": "cudaMemcpyAsync cudaMemcpyAsync_ptsz cudaMemcpy2DAsync cuMemcpyHtoDAsync_v2"
    " cuMemcpyDtoHAsync_v2",
    "HIP": "hipMemcpyAsync hipMemcpyDtoHAsync",
    "XPU": "urEnqueueUSMMemcpy urEnqueueMemBufferRead urEnqueueMemBufferWrite"
    " zeCommandListAppendMemoryCopy",
    "NPU": "aclrtMemcpyAsync",
}
ALLOCATE = {
    "CUDA": "cudaFree cudaFreeHost cudaMalloc cudaMallocHost cudaHostAlloc cudaMallocManaged"
    " cudaHostRegister cudaHostUnregister cudaIpcOpenMemHandle cudaMemPoolTrimTo cuMemCreate"
    " cuMemMap cuMemUnmap cuMemRelease cuMemSetAccess cuMemAlloc_v2 cuMemFree_v2 cudaMalloc3D"
    " cudaFreeArray",
    "HIP": "hipFree hipHostFree hipMalloc hipHostMalloc hipMallocManaged hipExtMallocWithFlags"
    " hipFreeHost hipMemCreate hipMemUnmap",
    "XPU": "zeMemAllocDevice zeMemAllocHost zeMemFree urUSMDeviceAlloc urUSMHostAlloc urUSMFree",
    "NPU": "aclrtMalloc aclrtFree aclrtMallocHost aclrtFreeHost",
}
LOAD = {
    "CUDA": "cuModuleLoad cuModuleLoadData cuModuleLoadDataEx cuModuleLoadFatBinary"
    " cuModuleGetFunction cuLibraryLoadData cuLibraryGetKernel cuKernelGetFunction cuFuncLoad"
    " cudaLibraryLoadData cuLinkComplete",
    "HIP": "hipModuleLoad hipModuleLoadData hipModuleLoadDataEx hipModuleGetFunction"
    " hipLibraryLoadData",
    "XPU": "zeModuleCreate urProgramBuild piProgramLink",
    "NPU": "aclrtBinaryLoadFromFile",
}
ON_THE_DEVICE = {
    "CUDA": "cudaStreamWaitEvent cudaStreamWaitEvent_ptsz cuStreamWaitEvent",
    "HIP": "hipStreamWaitEvent",
    "XPU": "zeCommandListAppendBarrier zeCommandListAppendWaitOnEvents urEnqueueEventsWait",
    "NPU": "aclrtStreamWaitEvent",
}
GOES_ON = {
    "CUDA": "cudaEventRecord cudaEventRecordWithFlags cudaLaunchHostFunc cudaMemsetAsync"
    " cudaMallocAsync cudaFreeAsync cudaMallocFromPoolAsync cuMemAllocAsync cuMemFreeAsync"
    " cudaEventQuery cudaStreamQuery cudaLaunchKernel cudaGraphLaunch cudaFuncGetAttributes"
    " cudaGraphInstantiate cudaStreamCreate cudaMemGetInfo cudaPointerGetAttributes"
    " cudaHostGetDevicePointer",
    "HIP": "hipEventRecord hipEventQuery hipModuleLaunchKernel hipLaunchKernel hipMallocAsync"
    " hipFreeAsync hipMemsetAsync hipMemGetInfo",
    "XPU": "zeEventQueryStatus urEnqueueKernelLaunch",
    "NPU": "aclrtRecordEvent aclrtQueryEvent",
    "none": "aten::synchronize synchronize_all INVALID mul musical cudaMemcpyBytes(int)",
}


def names_of(table: dict[str, str]) -> list[str]:
    return [name for names in table.values() for name in names.split()]


@pytest.mark.parametrize(
    ("call", "table"),
    [
        (Call.WAIT, ALWAYS_WAIT),
        (Call.COPY, COPY),
        (Call.ASYNC_COPY, MAY_WAIT),
        (Call.ALLOCATE, ALLOCATE),
        (Call.DEVICE_WAIT, ON_THE_DEVICE),
        (Call.LOAD, LOAD),
        (Call.NONE, GOES_ON),
    ],
    ids=lambda value: value.name if isinstance(value, Call) else "",
)
def test_calls_by_name(call: Call, table: dict[str, str]) -> None:
    found = {name: call_of(name).name for name in names_of(table)}
    assert found == dict.fromkeys(names_of(table), call.name)


@pytest.mark.parametrize("name", ["enqueueCommand waitOnEvent", "event_wait"])
def test_waits_of_mtia_on_the_device(name: str) -> None:
    assert call_of(name) is Call.DEVICE_WAIT


@pytest.mark.parametrize("name", ["enqueueCommand memcpyDtoHAsync", "recordEvent"])
def test_calls_of_mtia_that_go_on(name: str) -> None:
    assert call_of(name) is Call.NONE
