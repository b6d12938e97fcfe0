"""Ways to run a backward, with users' hooks, as small models and steps."""

from __future__ import annotations

import gc
import threading
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from typing import Any

import torch
from support.harmless import Run
from support.module_cases import ROWS, Case, Checkpointed, InPlace
from torch import nn
from torch._C._profiler import _ExperimentalConfig
from torch.autograd.function import once_differentiable
from torch.autograd.graph import register_multi_grad_hook, save_on_cpu, saved_tensors_hooks
from torch.utils.checkpoint import checkpoint, set_checkpoint_early_stop

try:
    from torch.utils.checkpoint import CheckpointPolicy, create_selective_checkpoint_contexts
except ImportError:  # before torch 2.5
    CheckpointPolicy = None


class Cube(torch.autograd.Function):
    """Its context, which holds the input, is the node itself."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x)
        ctx.note = [x.shape]
        return x**3

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
        assert ctx.note == [grad.shape]
        return grad * 3 * ctx.saved_tensors[0] ** 2


class Custom(nn.Linear):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return Cube.apply(super().forward(x))


class Doubled(torch.autograd.Function):
    """Changes its input in place; of three outputs one has no gradient."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        ctx.factor = 2
        ctx.set_materialize_grads(False)
        ctx.mark_dirty(x)
        signs = x.sign()
        ctx.mark_non_differentiable(signs)
        return x.mul_(2), signs, x * 3

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, first: Any, signs: Any, unused: Any) -> torch.Tensor:
        assert signs is None
        assert unused is None
        return first * ctx.factor


class Dirty(nn.Linear):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out, signs, _ = Doubled.apply(super().forward(x))
        return out * signs


class Penalized(nn.Module):
    """Differentiates a part inside of its forward."""

    def __init__(self) -> None:
        super().__init__()
        self.critic = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.detach().requires_grad_()
        score = self.critic(x).sum()
        (slope,) = torch.autograd.grad(score, x, create_graph=True)
        return score + slope.pow(2).sum()


class Selective(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.block = nn.Sequential(nn.Linear(4, 4), nn.GELU(), nn.Linear(4, 4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        def policy(ctx: Any, op: Any, *args: Any, **kwargs: Any) -> Any:
            saved = op is torch.ops.aten.addmm.default
            return CheckpointPolicy.MUST_SAVE if saved else CheckpointPolicy.PREFER_RECOMPUTE

        contexts = partial(create_selective_checkpoint_contexts, policy)
        return checkpoint(self.block, x, use_reentrant=False, context_fn=contexts)


def mlp() -> nn.Module:
    return nn.Sequential(nn.Linear(4, 4), nn.Sequential(nn.Tanh(), nn.Linear(4, 4)), nn.Softplus())


def within(context: Callable[[], AbstractContextManager[object]]) -> Run:
    def run(model: nn.Module) -> object:
        with context():
            return ROWS(model)

    return run


def users_hooks_on_outputs(model: nn.Module) -> object:
    """Hooks on outputs that are changed in place afterwards see what they would."""
    seen: list[torch.Tensor] = []
    outputs: list[torch.Tensor] = []

    def note(grad: torch.Tensor) -> None:
        seen.append(grad.clone())

    def watch(_module: nn.Module, _args: object, out: torch.Tensor) -> None:
        out.register_hook(note)
        out.register_hook(lambda grad: grad * 2)
        out.retain_grad()
        outputs.append(out)

    first = model[0](torch.randn(6, 4))
    watch(model, (), first)
    first.mul_(2)
    first.register_hook(note)
    second = model[1](first)
    watch(model, (), second)
    second[:, 1:] += 1
    second.grad_fn.register_prehook(lambda grads: note(grads[0]))
    second.grad_fn.register_hook(lambda inputs, _: note(inputs[0]))
    model[2](second).sum().backward()
    return seen + [out.grad for out in outputs] + [first, second]


def note_gradients(module: nn.Module, *grads: tuple[torch.Tensor | None, ...]) -> None:
    module.seen.extend(g.clone() for each in grads for g in each if g is not None)


def halve(_: nn.Module, inputs: tuple[torch.Tensor], __: object) -> tuple[torch.Tensor]:
    return (inputs[0] / 2,)


def with_backward_hooks() -> nn.Module:
    """Full backward hooks of the user's, one of which changes the gradient."""
    model = mlp()
    for module in model.modules():
        module.register_full_backward_pre_hook(note_gradients)
        module.register_full_backward_hook(note_gradients)
    model[1].register_full_backward_hook(halve)
    return model


def gradients_noted(model: nn.Module) -> object:
    for module in model.modules():
        module.seen = []
    return ROWS(model), [module.seen for module in model.modules()]


def users_hook_on_several(model: nn.Module) -> object:
    seen: list[torch.Tensor] = []
    first = model[0](torch.randn(6, 4))
    second = model[1](first)
    register_multi_grad_hook((first, second), lambda grads: seen.extend(grads))
    model[2](second).sum().backward()
    return seen


def optimizer_in_backward(model: nn.Module) -> object:
    """Each parameter is stepped, and its gradient dropped, as soon as it is there."""
    start = [p.detach().clone() for p in model.parameters()]

    @torch.no_grad()
    def descend(parameter: torch.Tensor) -> None:
        parameter.sub_(parameter.grad, alpha=0.1)
        parameter.grad = None

    handles = [p.register_post_accumulate_grad_hook(descend) for p in model.parameters()]
    out = [ROWS(model), ROWS(model)]
    stepped = [p.detach().clone() for p in model.parameters()]
    for handle, parameter, value in zip(handles, model.parameters(), start, strict=True):
        handle.remove()
        parameter.data.copy_(value)
    return out, stepped


def double_backward(model: nn.Module) -> object:
    x = torch.randn(3, 4, requires_grad=True)
    (grad,) = torch.autograd.grad(model(x).pow(2).sum(), x, create_graph=True)
    grad.pow(2).sum().backward()
    return grad


def backward_with_create_graph(model: nn.Module) -> object:
    x = torch.randn(3, 4, requires_grad=True)
    model(x).pow(2).sum().backward(create_graph=True)
    first = x.grad
    (second,) = torch.autograd.grad(first.pow(2).sum(), x)
    model.zero_grad()  # gradients that hold a graph keep themselves alive
    return first.detach(), second


def grad_of_parameters(model: nn.Module) -> object:
    return torch.autograd.grad(model(torch.randn(3, 4)).sum(), list(model.parameters()))


def backward_to_some_inputs(model: nn.Module) -> object:
    out = model(torch.randn(3, 4))
    out.sum().backward(inputs=[model[0].weight])
    return out


def several_backwards(model: nn.Module) -> object:
    for _ in range(2):
        loss = model(torch.randn(3, 4)).sum()
        loss.backward(retain_graph=True)
        loss.backward()
    return loss


def several_roots(model: nn.Module) -> object:
    first = model[0](torch.randn(3, 4))
    second = model[1](first)
    torch.autograd.backward([first, second], [torch.ones(3, 4), torch.full((3, 4), 2.0)])
    return first, second


def two_losses_of_parts(model: nn.Module) -> object:
    """Each of two backwards goes through a part of the graph of one forward."""
    first = model[0](torch.randn(3, 4))
    second = model[1](first.detach())
    second.sum().backward()
    first.sum().backward()
    return first, second


def overlapping_forwards(model: nn.Module) -> object:
    """Backwards in another order than the forwards; one forward has none at all."""
    outs = [model(torch.randn(3, 4)) for _ in range(3)]
    outs[0].sum().backward()
    outs[2].sum().backward()
    return outs


def second_backward_fails(model: nn.Module) -> object:
    out = model(torch.randn(3, 4))
    out.sum().backward()
    try:
        out.sum().backward()
    except RuntimeError as error:
        assert "a second time" in str(error)  # noqa: PT017
        return ROWS(model)
    raise AssertionError("torch lets a graph be used twice")


def gradient_of_gradient_in_a_hook(model: nn.Module) -> object:
    """A backward inside of a backward, from a hook."""
    seen: list[torch.Tensor] = []

    def again(grad: torch.Tensor) -> None:
        with torch.enable_grad():
            x = torch.ones(3, 4, requires_grad=True)
            seen.extend(torch.autograd.grad(model[1](x).sum(), x))

    out = model[0](torch.randn(3, 4))
    out.register_hook(again)
    model[1](out).sum().backward()
    return seen


def functional_call(model: nn.Module) -> object:
    weights = {name: (p.detach() * 2).requires_grad_() for name, p in model.named_parameters()}
    out = torch.func.functional_call(model, weights, (torch.randn(3, 4),))
    return out, torch.autograd.grad(out.sum(), list(weights.values()))


def weights_made_outside(model: nn.Module) -> object:
    """The nodes that make the weights run among those of the modules, and are nobody's."""
    weights = {name: p * 2 for name, p in model.named_parameters()}
    out = torch.func.functional_call(model, weights, (torch.randn(3, 4),))
    out.sum().backward()
    return out


def function_transforms(model: nn.Module) -> object:
    weights = dict(model.named_parameters())

    def loss(weights: dict[str, torch.Tensor], x: torch.Tensor) -> torch.Tensor:
        return torch.func.functional_call(model, weights, (x,)).sum()

    return torch.vmap(torch.func.grad(loss), in_dims=(None, 0))(weights, torch.randn(3, 4))


def jacobians(model: nn.Module) -> object:
    x = torch.randn(4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [torch.func.jacrev(model)(x), torch.func.jvp(model, (x,), (x,))]


def autocast(model: nn.Module) -> object:
    with torch.autocast("cpu", dtype=torch.bfloat16):
        out = model(torch.randn(3, 4))
    out.float().sum().backward()
    return out


def in_another_thread(model: nn.Module) -> object:
    out = model(torch.randn(3, 4))
    thread = threading.Thread(target=lambda: out.sum().backward())
    thread.start()
    thread.join()
    return out


def in_two_threads(model: nn.Module) -> object:
    outs = [ROWS(model)]
    thread = threading.Thread(target=lambda: outs.append(ROWS(model)))
    thread.start()
    thread.join()
    outs.append(ROWS(model))
    return outs


def offloaded() -> AbstractContextManager[object]:
    return saved_tensors_hooks(lambda t: t.numpy(force=True), torch.from_numpy)


class _Deterministic(AbstractContextManager[None]):
    def __enter__(self) -> None:
        torch.use_deterministic_algorithms(True)

    def __exit__(self, *_: object) -> None:
        torch.use_deterministic_algorithms(False)


def collected_meanwhile(model: nn.Module) -> object:
    """The garbage collector runs between forward and backward."""
    out = model(torch.randn(3, 4))
    gc.collect()
    out.sum().backward()
    return out


try:
    ALL_THREADS = {"experimental_config": _ExperimentalConfig(profile_all_threads=True)}
except TypeError:  # before torch 2.6
    ALL_THREADS = {}
"""Has the profiler record other threads, which it does only on demand."""
BACKWARDS: dict[str, Case] = {
    "custom autograd function": Case(lambda: Custom(4, 4)),
    "custom function that works in place, with outputs without gradient": Case(
        lambda: nn.Sequential(Dirty(4, 4))
    ),
    "autocast": Case(lambda: nn.Sequential(nn.Linear(4, 4), nn.LayerNorm(4)), autocast),
    "double backward (`autograd.grad` with `create_graph`)": Case(mlp, double_backward),
    "`backward(create_graph=True)`": Case(mlp, backward_with_create_graph),
    "gradient penalty inside a module's forward": Case(lambda: nn.Sequential(Penalized())),
    "`autograd.grad` for the parameters": Case(mlp, grad_of_parameters),
    "`backward(inputs=...)`": Case(mlp, backward_to_some_inputs),
    "several backwards, `retain_graph`, accumulation": Case(mlp, several_backwards),
    "`autograd.backward` with several roots": Case(mlp, several_roots),
    "two losses, each of a part of the graph": Case(mlp, two_losses_of_parts),
    "backwards in another order than forwards": Case(mlp, overlapping_forwards),
    "a second backward that fails": Case(mlp, second_backward_fails),
    "a backward inside a hook of a backward": Case(mlp, gradient_of_gradient_in_a_hook),
    "`functional_call` with other weights": Case(mlp, functional_call),
    "`functional_call` with weights made outside": Case(mlp, weights_made_outside),
    "garbage collection between forward and backward": Case(mlp, collected_meanwhile),
    "user's hooks on outputs that change in place later, `retain_grad`, hooks on nodes": Case(
        mlp, users_hooks_on_outputs
    ),
    "user's full backward hooks": Case(with_backward_hooks, gradients_noted),
    "user's hook on several tensors": Case(mlp, users_hook_on_several),
    "optimizer step in the backward": Case(mlp, optimizer_in_backward),
    "`saved_tensors_hooks`, activations offloaded": Case(mlp, within(offloaded)),
    "`save_on_cpu`": Case(mlp, within(save_on_cpu)),
    "anomaly mode": Case(mlp, within(partial(torch.autograd.set_detect_anomaly, True))),
    "`set_multithreading_enabled(False)`": Case(
        mlp, within(partial(torch.autograd.set_multithreading_enabled, False))
    ),
    "deterministic algorithms": Case(mlp, within(_Deterministic)),
    "checkpoint without early stop": Case(
        lambda: Checkpointed(reentrant=False),
        within(partial(set_checkpoint_early_stop, False)),
    ),
    **({"selective checkpoint": Case(Selective)} if CheckpointPolicy else {}),
    "offloading with in-place operations": Case(InPlace, within(save_on_cpu)),
}
THREADS: dict[str, Case] = (
    {
        "backward in another thread": Case(mlp, in_another_thread, ALL_THREADS),
        "forward and backward in two threads": Case(mlp, in_two_threads, ALL_THREADS),
    }
    if ALL_THREADS
    else {}
)
TRANSFORMS: dict[str, Case] = {
    "`vmap` of `grad`": Case(mlp, function_transforms),
    "`jacrev` and `jvp`": Case(mlp, jacobians),
}
"""What runs inside of these has no evaluations of nodes of its own, or none that torch numbers."""
CASES = {**BACKWARDS, **THREADS, **TRANSFORMS}
