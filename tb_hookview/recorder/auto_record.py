"""Records the training of a script that is not edited, for `hookview run`."""

from __future__ import annotations

import functools
import gc
import os
import threading
import weakref
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter_ns
from typing import Any

import torch
from torch import nn
from torch.autograd import profiler as autograd_profiler
from torch.compiler import is_compiling
from torch.fx import GraphModule
from torch.optim import Optimizer

from tb_hookview.addresses.text import shown
from tb_hookview.errors import UsageError
from tb_hookview.recorder import faults, manifest, roots
from tb_hookview.recorder.hooks import Hook
from tb_hookview.recorder.profiling import Profile, records_here
from tb_hookview.recorder.tree import walk, within_parallel
from tb_hookview.recorder.wrapping import unwrap, wrap


@dataclass(frozen=True)
class Plan:
    """Holds what to record; a step is a call of the first optimizer's `step`."""

    logdir: Path | str
    wait: int = 3
    """Steps before it; at least one, after which the model is known."""
    warmup: int = 1
    """Steps that are recorded and discarded, at least one."""
    active: int = 3
    repeat: int = 1
    """Number of recordings; 0 for unlimited."""
    markers: str = "auto"
    depth: int | None = None
    ranks: frozenset[int] | None = None
    with_stack: bool = False
    with_shapes: bool = False
    watch: bool = False
    """Whether the whole training is watched, in the place of all that is about cycles."""

    @property
    def first(self) -> int:
        """The first step that is recorded, counted from 1."""
        return self.wait + self.warmup + 1

    @property
    def cycle(self) -> int:
        """Steps from one recording to the next."""
        return self.wait + self.warmup + self.active


class TrainingRecorder:
    """Wraps the first model that this process trains, and records some of its steps.

    Its faults never stop the training. It watches only the main thread, and no process that is
    forked from this one.
    """

    def __init__(
        self, plan: Plan, say: Callable[[str], None], watch: Callable[..., Any] | None = None
    ) -> None:
        """Do nothing yet.

        Args:
            plan: what to record.
            say: called with each line for the user.
            watch: `hookview.watch`, where the plan is to watch.
        """
        self._plan = plan
        self._print = say
        self._process = os.getpid()
        self._undo = ExitStack()
        self._over = False
        self._stepping = False
        self._steps = 0
        self._inside_backward = False
        """Whether an optimizer stepped in a backward pass, where nothing can be recorded."""
        self._clock: weakref.ref[Optimizer] | None = None
        self._known: weakref.WeakSet[Optimizer] = weakref.WeakSet()
        self._wrapped: list[weakref.ref[nn.Module]] = []
        self._probes: list[_Probe] = []
        self._profiler: Profile | None = None
        self._make_watch = watch
        self._watch: Any = None

    def begin(self) -> None:
        """Watch the optimizers and profilers that are created from now on."""
        _replace(self._undo, Optimizer, "profile_hook_step", self._watched)
        profilers = (
            autograd_profiler.profile,
            autograd_profiler.emit_nvtx,
            autograd_profiler.emit_itt,
        )
        for kind in profilers:
            _replace(self._undo, kind, "__enter__", self._giving_way_first)
        _replace(self._undo, torch.profiler.profile, "prepare_trace", self._giving_way_first)

    def end(self) -> None:
        """Write what is being recorded, remove all hooks and report the outcome."""
        ended_early = not self._over
        self._guarded(self._finish)
        if not self._reports():
            return
        folder = shown(self._plan.logdir)
        if self._watch is not None:
            self._say(f"look at it with: hookview history {folder} (or: hookview serve {folder})")
            return
        if self._profiler is not None and self._profiler.written:
            self._say(f"look at it with: hookview analyze {folder} (or: hookview serve {folder})")
        elif ended_early:
            self._say(f"nothing was recorded: {self._reason()}")

    def _reason(self) -> str:
        if not self._steps and self._inside_backward:
            return (
                "its optimizers step inside the backward pass (in hooks of gradients), where the "
                "profiler can neither start nor stop; call hookview.profile in the script instead"
            )
        if not self._steps:
            return (
                "no optimizer of torch.optim took a step in the main thread of this process; "
                "processes that the script starts are not watched"
            )
        return (
            f"the script took {self._steps} optimizer steps, and the recording begins with step "
            f"{self._plan.first}; --wait {self._plan.wait} can be lowered to 1"
        )

    def _watched(self, hook: Callable[..., Any]) -> Callable[..., Any]:
        """Notice the steps of every optimizer class that torch prepares.

        torch's own hooks on optimizer steps will not do: they are called inside a range of torch's
        profiler, which must neither stop nor start there.
        """

        def profile_hook_step(func: Callable[..., Any]) -> Callable[..., Any]:
            return self._noticing(hook(func))

        return staticmethod(profile_hook_step)

    def _noticing(self, step: Callable[..., Any]) -> Callable[..., Any]:
        # In a compiled region that breaks at a step, what the step calls would be compiled.
        # This loads the compiler, and so does torch whenever an optimizer is made.
        watches = torch.compiler.disable(self._watches)  # type: ignore[no-untyped-call]
        advance = torch.compiler.disable(self._advance)  # type: ignore[no-untyped-call]

        @functools.wraps(step)
        def noticed(*args: Any, **kwargs: Any) -> Any:
            # Where optimizers call each other, the outermost counts.
            if is_compiling() or self._over or self._stepping or not watches():
                return step(*args, **kwargs)
            self._stepping = True
            try:
                result = step(*args, **kwargs)
            finally:
                self._stepping = False
            self._guarded(advance, args[0])
            return result

        return noticed

    def _watches(self) -> bool:
        """Return whether the profiler can be started and stopped here."""
        if os.getpid() != self._process:
            return False
        if torch._C._current_graph_task_id() != -1:
            self._inside_backward = True  # on a thread of the autograd engine too
            return False
        return threading.current_thread() is threading.main_thread() and not (
            torch.cuda.is_initialized()  # type: ignore[no-untyped-call]
            and torch.cuda.is_current_stream_capturing()
        )

    def _giving_way_first(self, start: Callable[..., Any]) -> Callable[..., Any]:
        """Stop our recording before a profiler of the script starts; torch allows one."""

        @functools.wraps(start)
        def started(profiler: Any, *args: Any, **kwargs: Any) -> Any:
            foreign = profiler is not self._profiler and getattr(profiler, "enabled", True)
            foreign = foreign and not (self._watch is not None and isinstance(profiler, Profile))
            if foreign and not self._over and self._watches():
                self._guarded(self._give_way)
            return start(profiler, *args, **kwargs)

        return started

    def _give_way(self) -> None:
        self._finish()
        if self._reports():
            self._say(
                "the script uses torch's profiler itself, and torch allows one at a time; "
                "this recording has ended (call hookview.wrap(model) in the script instead)"
            )

    def _advance(self, optimizer: Optimizer) -> None:
        plan = self._plan
        if not self._known and not records_here(plan.ranks):
            self._finish()
            return
        if optimizer not in self._known and self._steps < plan.first - 1:
            self._wrap_trained(optimizer)
        self._known.add(optimizer)
        if self._clock is None or self._clock() is None:
            self._clock = weakref.ref(optimizer)
        if self._clock() is not optimizer:
            return
        self._steps += 1
        if plan.watch and self._make_watch is not None:
            self._watch_step(self._make_watch)
            return
        if self._profiler is None:
            self._start(optimizer)
        if self._steps == plan.first - 1:
            self._wrap_losses()
        if self._profiler is not None:
            self._profiler.step()
        if self._steps == plan.cycle * plan.repeat:
            self._finish()

    def _watch_step(self, watch: Callable[..., Any]) -> None:
        """Begin to watch after the first step, which shows the model; end a step else."""
        if self._watch is not None:
            self._watch.step()
            return
        for probe in self._probes:
            probe.remove()
        plan, self._probes = self._plan, []
        model = next((module for each in self._wrapped if (module := each()) is not None), None)
        self._watch = watch(
            plan.logdir,
            model=model,
            steps=plan.active,
            ranks=plan.ranks,
            with_stack=plan.with_stack,
            record_shapes=plan.with_shapes,
        )
        self._watch.start()
        if self._reports():
            self._say(f"watching all steps; recordings of slow ones go into {shown(plan.logdir)}")

    def _start(self, optimizer: Optimizer) -> None:
        plan = self._plan
        schedule = torch.profiler.schedule(
            wait=plan.wait, warmup=plan.warmup, active=plan.active, repeat=plan.repeat
        )
        self._profiler = Profile(
            plan.logdir,
            plan.ranks,
            schedule=schedule,
            say=self._say,
            with_stack=plan.with_stack,
            record_shapes=plan.with_shapes,
        )
        # Step 0 is the one that has just been taken.
        self._profiler.start()
        if self._reports():
            again = "" if plan.repeat == 1 else f", again every {plan.cycle} steps"
            kind = type(optimizer).__name__
            self._say(f"recording steps {plan.first} to {plan.cycle} of {kind}{again}")

    def _wrap_trained(self, optimizer: Optimizer) -> None:
        since = perf_counter_ns()
        self._wrap_holders(optimizer)
        if self._profiler is not None:
            self._profiler.leave_out(perf_counter_ns() - since)

    def _wrap_holders(self, optimizer: Optimizer) -> None:
        outermost = _outermost_modules()
        trained = _holders_of(optimizer, outermost)
        for module in trained:
            self._wrap(within_parallel(module))
        if not trained and not self._wrapped and self._reports():
            kind = type(optimizer).__name__
            self._say(f"no module holds what {kind} trains; the recording has no module names")
        if trained and not self._probes:
            self._probes = [_Probe(module) for module in outermost if _may_be_loss(module)]

    def _wrap_losses(self) -> None:
        probes, self._probes = self._probes, []
        for loss in [probe.remove() for probe in probes]:
            if loss is not None and self._wrapped:
                self._wrap(loss)

    def _wrap(self, module: nn.Module) -> None:
        plan = self._plan
        name = next(walk(module, "")).class_name  # for compiled modules the original's
        if roots.find(module) is not None:  # wrapped by the script itself
            return
        try:
            path = roots.class_path(module) if self._wrapped else None
            wrap(module, name=path, depth=plan.depth, markers=plan.markers)
        except UsageError as error:
            self._say(f"{name} gets no marks: {error}")
            return
        size = sum(parameter.numel() for parameter in module.parameters())
        if size:
            self._name_the_first()
        self._wrapped.append(weakref.ref(module))
        if not self._reports():
            return
        self._say(f"wrapped {name} ({_count(size)} parameters)" if size else f"wrapped {name}")

    def _name_the_first(self) -> None:
        """Put the class before the paths of the first model, where another one is trained too."""
        first = self._wrapped[0]() if self._wrapped else None
        root = None if first is None else roots.find(first)
        if first is not None and root is not None and not root.path:
            name = roots.class_path(first)
            wrap(first, name=name, depth=self._plan.depth, markers=self._plan.markers)

    def _finish(self) -> None:
        """Stop the recording and remove all hooks."""
        if self._over:
            return
        self._over = True
        self._undo.close()
        for probe in self._probes:
            probe.remove()
        self._probes.clear()
        try:
            if self._watch is not None:
                self._watch.stop()
            if self._profiler is not None:
                self._profiler.stop()
        finally:
            for reference in self._wrapped:
                module = reference()
                if module is not None:
                    unwrap(module)

    def _guarded(self, action: Callable[..., None], *args: Any) -> None:
        try:
            action(*args)
        except Exception as fault:  # noqa: BLE001 - nothing of ours may reach the training loop
            faults.report("recording the training", fault)
            if not self._over:
                self._guarded(self._finish)

    def _reports(self) -> bool:
        """Return whether this process reports what concerns all ranks."""
        return (manifest.place()[0] or 0) == min(self._plan.ranks or {0})

    def _say(self, text: str) -> None:
        rank, _ = manifest.place()
        self._print(text if rank is None else f"rank {rank}: {text}")


class _Probe(Hook):
    """Forward pre-hook that finds out whether gradients flow through a module."""

    __slots__ = ("_handle", "_module", "_seen")

    def __init__(self, module: nn.Module) -> None:
        self._module = weakref.ref(module)
        self._seen = False
        self._handle = module.register_forward_pre_hook(self, with_kwargs=True)

    def __call__(self, _module: nn.Module, args: object, kwargs: object) -> None:
        """Look at the module's inputs."""
        if not is_compiling():
            self._seen = self._seen or _requires_grad([args, kwargs])

    def remove(self) -> nn.Module | None:
        """Remove the hook; return the module if an input required a gradient."""
        self._handle.remove()
        return self._module() if self._seen else None


def _replace(
    undo: ExitStack, owner: type, name: str, around: Callable[[Callable[..., Any]], Any]
) -> None:
    """Wrap a function of a class of torch's, until undone."""
    home = next(base for base in owner.__mro__ if name in base.__dict__)
    original = home.__dict__[name]
    setattr(home, name, around(getattr(home, name)))
    undo.callback(setattr, home, name, original)


def _outermost_modules() -> list[nn.Module]:
    """Return the modules alive that are not part of another one."""
    # Not isinstance: it asks proxies for their class, and some then load their target.
    found = [thing for thing in gc.get_objects() if issubclass(type(thing), nn.Module)]
    whole: list[nn.Module] = [module for module in found if "_modules" in module.__dict__]
    inside = {id(child) for module in whole for child in module._modules.values()}
    return [module for module in whole if id(module) not in inside]


def _holders_of(optimizer: Optimizer, modules: list[nn.Module]) -> list[nn.Module]:
    """Return the modules with an optimizer's parameters, the one with the most first."""
    trained = {id(p): p.numel() for group in optimizer.param_groups for p in group["params"]}
    held = [(sum(trained.get(id(p), 0) for p in m.parameters()), m) for m in modules]
    ranked = [module for size, module in sorted(held, key=lambda pair: -pair[0]) if size]
    # The compiler's graphs hold the parameters too, and are not the user's model.
    return [m for m in ranked if not isinstance(m, GraphModule)] or ranked


def _may_be_loss(module: nn.Module) -> bool:
    graph = isinstance(module, torch.jit.ScriptModule | GraphModule)
    return not graph and next(module.parameters(), None) is None


def _requires_grad(value: Any) -> bool:
    if isinstance(value, torch.Tensor):
        return value.requires_grad
    if isinstance(value, dict):
        return any(map(_requires_grad, value.values()))
    return isinstance(value, list | tuple) and any(map(_requires_grad, value))


def _count(number: int) -> str:
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:.3g} {unit}"
    return str(number)
