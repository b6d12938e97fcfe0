"""Compiles models for a GPU that is not there and prints what Inductor generated, as JSON.

    python tests/support/pretended_gpu.py CASE...

Dynamo and autograd see tensors of the CPU. Just before Inductor lowers a graph, the values in it
are said to be on a GPU: so its passes, its scheduler and its Triton code are those for that GPU.
Nothing of it is run; a graph returns zeros. This process is for that alone: torch stays changed.
"""

from __future__ import annotations

import ctypes
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import torch
import torch._inductor.compile_fx as compiler
import triton
from support.compiled_models import MODELS, batch, train
from torch import fx, nn
from torch._dynamo.device_interface import CudaInterface
from torch._inductor.codecache import PyCodeCache
from torch.utils._pytree import tree_map
from triton.backends.compiler import GPUTarget

import tb_hookview as hookview
from tb_hookview.recorder.compiled import registry
from tb_hookview.recorder.compiled.kernels import Part

GPU = torch.device("cuda:0")
H100 = SimpleNamespace(
    name="NVIDIA H100 80GB HBM3",
    major=9,
    minor=0,
    multi_processor_count=132,
    regs_per_multiprocessor=65536,
    max_threads_per_multi_processor=2048,
    max_threads_per_block=1024,
    shared_memory_per_block_optin=232448,
    warp_size=32,
    total_memory=80 << 30,
)

GUARD = """
#include <c10/core/impl/DeviceGuardImplInterface.h>
static c10::impl::NoOpDeviceGuardImpl<c10::DeviceType::CUDA> guard;
static c10::impl::DeviceGuardImplRegistrar registrar(c10::DeviceType::CUDA, &guard);
"""
"""For operators that a torch without CUDA would refuse, also on tensors without memory."""
GENERATED: list[Any] = []
"""What Inductor made of the graphs of a case; the registry holds it weakly."""


def pretend() -> None:
    """Tell Inductor and Triton of a GPU, and keep what they generate from being run."""
    target = GPUTarget("cuda", 90, 32)
    driver = SimpleNamespace(get_current_target=lambda: target, get_active_torch_device=lambda: GPU)
    triton.runtime.driver.set_active(driver)
    answers = {
        "is_available": True,
        "is_bf16_supported": True,
        "is_triton_capable": True,
        "get_device_properties": H100,
        "get_compute_capability": 90,
        "current_device": 0,
    }
    for name, answer in answers.items():
        setattr(CudaInterface, name, staticmethod(partial(given, answer)))
    CudaInterface.Worker.get_device_properties = staticmethod(partial(given, H100))
    torch.cuda.get_device_properties = partial(given, H100)
    torch.cuda.get_device_capability = partial(given, (9, 0))
    PyCodeCache.load_by_key_path = staticmethod(not_loaded)
    with tempfile.TemporaryDirectory() as folder:
        guard, source = Path(folder, "guard.so"), Path(folder, "guard.cpp")
        source.write_text(GUARD)
        near = Path(torch.__file__).parent
        options = ["-std=c++20", "-shared", "-fPIC", f"-I{near / 'include'}", f"-L{near / 'lib'}"]
        subprocess.run(["g++", *options, "-o", guard, source, "-lc10"], check=True)
        ctypes.CDLL(str(guard))


def given(answer: object, *_: object, **__: object) -> object:
    return answer


def not_loaded(key: str, path: str, *_: object, **__: object) -> ModuleType:
    generated = ModuleType(key)
    generated.__file__, generated.key = path, key  # type: ignore[attr-defined]
    generated.call = None  # type: ignore[attr-defined]
    return generated


def on_gpu(thing: Any) -> Any:
    if isinstance(thing, torch.Tensor):
        with thing.fake_mode:  # type: ignore[attr-defined]
            return torch.empty_strided(thing.size(), thing.stride(), dtype=thing.dtype, device=GPU)
    return GPU if isinstance(thing, torch.device) else thing


def zeros_of(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return torch.zeros(tuple(value.shape), dtype=value.dtype)
    return value


def compile_graph(graph: fx.GraphModule, inputs: list[Any], **options: Any) -> Callable[..., Any]:
    """Compile a graph for the GPU, and return a function that gives zeros."""
    (outputs,) = next(iter(reversed(graph.graph.nodes))).args
    zeros = [None if out is None else zeros_of(out.meta["val"]) for out in outputs]
    for node in graph.graph.nodes:
        if "val" in node.meta:
            node.meta["val"] = tree_map(on_gpu, node.meta["val"])
        node.args, node.kwargs = fx.node.map_aggregate((node.args, node.kwargs), on_gpu)
    GENERATED.append(compiler.compile_fx_inner(graph, [on_gpu(each) for each in inputs], **options))

    def run(given: list[Any]) -> list[Any]:
        given.clear()
        return zeros

    run._boxed_call = True  # type: ignore[attr-defined]
    return run


def backend(graph: fx.GraphModule, inputs: list[Any], **_: object) -> Callable[..., Any]:
    return compiler.compile_fx(graph, inputs, inner_compile=compile_graph)


class Independent(nn.Module):
    """Two chains of operators on values of different sizes, which may be in one combo kernel."""

    def __init__(self) -> None:
        super().__init__()
        self.left, self.right = nn.GELU(), nn.Softplus()

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return self.left(x), self.right(x[:7])


class Region(nn.Module):
    """A region in the region, called twice."""

    def __init__(self) -> None:
        super().__init__()
        self.part, self.last = nn.Linear(10, 10), nn.Linear(10, 12)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.last(self.region(self.region(x))).sin()

    @torch.compiler.nested_compile_region
    def region(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.part(x))


@triton.jit
def twice_kernel(x_ptr, out_ptr, size, BLOCK: triton.language.constexpr):  # noqa: N803
    at = triton.language.program_id(0) * BLOCK + triton.language.arange(0, BLOCK)
    x = triton.language.load(x_ptr + at, mask=at < size)
    triton.language.store(out_ptr + at, x * 2, mask=at < size)


class Twice(nn.Module):
    """A module whose forward is a Triton kernel of the user's."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out = torch.empty_like(x)
        twice_kernel[(1,)](x, out, x.numel(), BLOCK=1024)
        return out


def with_user_kernels() -> nn.Module:
    return nn.Sequential(nn.Linear(10, 17), Twice(), nn.ReLU(), Twice(), nn.Linear(17, 13))


def step_of_model(model: nn.Module, x: torch.Tensor) -> None:
    call = torch.compile(model, backend=backend)
    hookview.wrap(call)
    if torch.is_grad_enabled() and any(True for _ in model.parameters()):
        train(call, x)
    else:
        call(x)


def step_of_optimizer(make: Callable[..., torch.optim.Optimizer]) -> None:
    model = hookview.wrap(MODELS["mlp"].make())
    train(model, batch(MODELS["mlp"]))
    optimizer = make(model.parameters(), lr=0.01, foreach=True)
    torch.compile(optimizer.step, backend=backend)()


def run(case: str) -> None:
    if case in MODELS:
        step_of_model(MODELS[case].make(), batch(MODELS[case]))
    elif case == "user kernels":
        with torch.no_grad():
            step_of_model(with_user_kernels(), torch.ones(23, 10))
    elif case == "combo kernels":
        with torch._inductor.config.patch(combo_kernels=True, benchmark_combo_kernel=False):
            step_of_model(Independent(), torch.ones(23, 10))
    elif case == "templates":
        one = {"test_configs.max_mm_configs": 1}  # so none has to be timed
        gemm = {"max_autotune_gemm": True, "max_autotune_gemm_backends": "TRITON"}
        with torch._inductor.config.patch({**one, **gemm}):
            step_of_model(MODELS["mlp"].make(), batch(MODELS["mlp"]))
    elif case == "nested regions":
        step_of_model(Region(), torch.ones(23, 10))
    else:
        step_of_optimizer(getattr(torch.optim, case))


def said(compiled: Any, entry: registry.RegisteredGraph) -> dict[str, Any]:
    calls = [] if entry.found is None else entry.found.calls
    return {
        "backward": entry.backward,
        "why": entry.why,
        "source": compiled.source_code,
        "calls": [[c.name, c.extern, [of_part(part) for part in c.parts]] for c in calls],
    }


def of_part(part: Part) -> list[Any]:
    return [part.module and part.module.text, part.size]


def main() -> None:
    pretend()
    found = {}
    with torch._inductor.config.patch(force_disable_caches=True, compile_threads=1):
        for case in sys.argv[1:]:
            torch._dynamo.reset()
            GENERATED.clear()
            run(case)
            found[case] = [said(each, registry._entries[id(each)][1]) for each in GENERATED]
    sys.stdout.write(f"\n{json.dumps(found)}\n")


if __name__ == "__main__":
    main()
