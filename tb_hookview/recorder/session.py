"""Attaches the hooks while a profiler records, and removes every one of them again."""

from __future__ import annotations

import inspect
import os
import threading
import weakref
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from functools import partial
from types import FunctionType
from typing import Any, Protocol

import torch
from torch import nn
from torch.autograd import profiler as autograd_profiler
from torch.nn.parameter import is_lazy

from tb_hookview.markers import COMPILED_KEY, encode, encode_manifest
from tb_hookview.recorder import compiled, faults, functions, manifest, profilers, roots
from tb_hookview.recorder.compiled import inlined
from tb_hookview.recorder.costs import Costs, timed
from tb_hookview.recorder.hooks import (
    MAY_PREPEND,
    SLOT,
    CallMarks,
    EnterForward,
    Hook,
    Instant,
    LeaveForward,
    MarkedCall,
    OpenCalls,
    Timed,
    TimedCallMarks,
)
from tb_hookview.recorder.ranges import BackwardNames, RecordingState, ThreadCalls, abandon
from tb_hookview.recorder.roots import Assigned, WrappedRoot
from tb_hookview.recorder.tree import Node

_EARLIER = (
    "modules with hooks of their own leave no marks in the recording, as code was compiled before "
    "hookview.wrap() and may hold them; call hookview.wrap() before anything is compiled"
)
_guarded = partial(faults.guarded, "attaching or removing a hook")


class _Handle(Protocol):
    def remove(self) -> None: ...


class Session:
    """The hooks of every wrapped module during one recording.

    The session holds no model: modules and parameters hold the hooks, so a model that is dropped
    while it is recorded is collected.
    """

    def __init__(self, *, by_profile: bool, earlier: Session | None = None) -> None:
        """Attach the hooks.

        Args:
            by_profile: recorded by our `profile`, which ends the session, whatever torch's flag
                says (it is set a little later).
            earlier: the session before this one, in the same recording.
        """
        self.by_profile = by_profile
        self._manifest: dict[str, Any] = {} if earlier is None else earlier._manifest
        self._recording = RecordingState(by_profile=by_profile)
        self._recording.finished.extend(() if earlier is None else earlier.finished_calls())
        self._open = OpenCalls(self._recording)
        self._costs = Costs()
        self._handles: list[_Handle] = []
        self._visible: dict[int, list[_Handle]] = {}
        """Handles by the identity of a module, where a compiler that inlines it would see them."""
        self._attached: dict[WrappedRoot, Counter[str]] = defaultdict(Counter)
        try:
            self._attach()
        except BaseException:  # nobody else knows what is attached by now
            self.end()
            raise

    def _attach(self) -> None:
        roots.find_callers()
        assigned = roots.assign()
        # Parts of compiled modules last: few of them are called, so their marks are not timed.
        marked = sorted((each for each in assigned if each.marked), key=_is_compiled)
        samples = timed(len(marked) - sum(map(_is_compiled, marked)))
        for number, each in enumerate(marked):
            _guarded(self._mark_calls, each, number in samples)
        parameters = list(_owned_parameters(assigned))
        samples = timed(len(parameters))
        for number, owned in enumerate(parameters):
            _guarded(self._mark_gradient, *owned, number in samples)
        if assigned:
            self._handles += functions.attach(self._open, self._costs)
            self._handles.append(functions.Collections())
        _guarded(self._describe, assigned)

    def manifest(self, **more: Any) -> str:
        """Return the manifest of the recording so far as JSON, "" without one.

        Args:
            **more: members to add, where they are not empty.
        """
        if not self._manifest:
            return ""
        cost_us = self._costs.medians()
        if cost_us and self.by_profile:
            cost_us.setdefault("backward", 0.0)
        # Under a bare profiler the recording only begins, and a device may yet be used in it.
        ends = self.by_profile and bool(self._manifest.get("modules"))
        more = {
            "cost_us": cost_us,
            "compiled": [root.path for root in roots.compiled()],
            "only_cpu": ends and manifest.uses_only_cpu(),
            **more,
        }
        return encode_manifest({**self._manifest, **{k: v for k, v in more.items() if v}})

    def finished_calls(self) -> list[ThreadCalls]:
        """Return the calls whose backward is yet to be marked."""
        return self._recording.finished

    def end(self) -> None:
        """Remove every hook and close the open ranges."""
        while self._handles:
            _guarded(self._handles[-1].remove)
            self._handles.pop()
        for stack in self._recording.stacks:
            if not self.by_profile and autograd_profiler._is_profiler_enabled:
                abandon(stack)
            # torch ends a range that is dropped, and calls that still run find nothing to close. A
            # range must not be exited by another thread than entered it.
            stack.clear()

    def abandon(self) -> None:
        """Remove every hook, and neither close nor drop the open ranges."""
        for stack in self._recording.stacks:
            abandon(stack)
        self.end()

    def _mark_calls(self, each: Assigned, is_timed: bool) -> None:
        node, counts = each.node, self._attached[each.root]
        forward = encode("forward", node.path, node.class_name)
        before = encode("before backward", node.path, node.class_name)
        after = encode("after backward", node.path, node.class_name)
        backward = None
        if each.root.module_filter.markers == "auto" and self.by_profile:
            backward = BackwardNames(before, after)
            counts["backward"] += not node.compiled
        elif each.root.module_filter.markers == "module" and node.reach == "hooks":
            marks = [self._timed(Instant(name), "backward", is_timed) for name in (before, after)]
            if self._add_visible(node, lambda: [_BackwardHandle(node.module, *marks)]):
                counts["backward"] += 1
        if is_timed:
            calls: CallMarks = TimedCallMarks("forward", forward, backward, self._open, self._costs)
        else:
            calls = CallMarks(forward, backward, self._open)
        if self._attach_call(node, calls):
            counts["calls"] += not node.compiled

    def _attach_call(self, node: Node, marks: CallMarks) -> bool:
        """Mark the calls of a module; return whether that was done."""
        module = node.module
        if node.holder is not module and not _is_visible(node.holder):
            # What was compiled may be called itself too.
            self._handles.append(_CallHandle(node.holder, marks, once=True))
        # A compiler that inlines what `torch.compile` returned looks at its holder alone.
        if node.holder is not module or not _is_visible(module):
            self._handles.append(_CallHandle(module, marks))
            return True
        if node.reach == "call" or not _needs_hooks(module):
            return self._add_visible(node, lambda: [_CallHandle(module, marks)])
        enter, leave = EnterForward(marks), LeaveForward(marks)
        theirs = any(not isinstance(hook, Hook) for hook in module._forward_pre_hooks.values())
        first = theirs and MAY_PREPEND
        return self._add_visible(
            node,
            lambda: [
                module.register_forward_pre_hook(enter, prepend=first),
                module.register_forward_hook(leave, always_call=True),
            ],
        )

    def _add_visible(self, node: Node, attach: Callable[[], list[Any]]) -> bool:
        """Attach what a compiler sees that inlines the module, unless one may have done so."""
        if node.compiled or compiled.may_be_inlined(node.holder):
            if not (node.compiled or compiled.was_inlined(node.holder)):
                faults.advise("earlier", _EARLIER)
            return False
        handles = attach()
        self._visible.setdefault(id(node.module), []).extend(handles)
        self._handles += handles
        return True

    def leave(self, module: nn.Module) -> None:
        """Remove what a compiler would see that is about to inline a module."""
        for handle in self._visible.pop(id(module), []):
            _guarded(handle.remove)

    def _mark_gradient(
        self, owner: Assigned, name: str, parameter: nn.Parameter, is_timed: bool
    ) -> None:
        mark = encode("gradient", owner.node.path, owner.node.class_name, name)
        hook = self._timed(Instant(mark), "gradient", is_timed)
        self._handles.append(parameter.register_post_accumulate_grad_hook(hook))  # type: ignore[no-untyped-call]
        self._attached[owner.root]["gradients"] += 1

    def _timed(self, hook: Callable[..., Any], kind: str, is_timed: bool) -> Callable[..., Any]:
        return Timed(hook, kind, self._costs) if is_timed else hook

    def _describe(self, assigned: list[Assigned]) -> None:
        described = manifest.describe(assigned, self._attached)
        self._manifest = manifest.with_earlier(described, self._manifest)


def _is_compiled(each: Assigned) -> bool:
    return each.node.compiled


def _needs_hooks(module: nn.Module) -> bool:
    """Return whether a module's calls must be marked by hooks, as it has hooks already.

    A class with a `__call__` of its own may bypass the SLOT.
    """
    return bool(
        module._forward_pre_hooks
        or module._forward_hooks
        or module._backward_pre_hooks
        or module._backward_hooks
        or type(module).__call__ is not nn.Module.__call__
    )


def _is_visible(module: nn.Module) -> bool:
    """Return whether a compiler that inlines a module's call looks at the SLOT or at hooks.

    It goes straight to a `forward` that is a function of the class, where there are no hooks.
    """
    forward = inspect.getattr_static(type(module), "forward", None)
    own = "forward" in vars(module) or not isinstance(forward, FunctionType)
    return own or _needs_hooks(module)


class _CallHandle:
    """The marked call of a module; `remove` restores the call that was there before."""

    def __init__(self, module: nn.Module, marks: CallMarks, *, once: bool = False) -> None:
        self._module = weakref.ref(module)
        self._marked = MarkedCall(module, marks, module.__dict__.get(SLOT), once=once)
        module.__dict__[SLOT] = self._marked

    def remove(self) -> None:
        module = self._module()
        if module is None or module.__dict__.get(SLOT) is not self._marked:
            return
        if self._marked.call is None:
            del module.__dict__[SLOT]
        else:
            module.__dict__[SLOT] = self._marked.call


class _BackwardHandle:
    """A module's full backward hooks; `remove` leaves the module as it was."""

    def __init__(
        self, module: nn.Module, before: Callable[..., None], after: Callable[..., None]
    ) -> None:
        self._module = weakref.ref(module)
        # torch notes here which kind of backward hook a module has, and refuses the other kind.
        self._kind = module._is_full_backward_hook
        self._handles = (
            module.register_full_backward_pre_hook(before),
            module.register_full_backward_hook(after),
        )

    def remove(self) -> None:
        for handle in self._handles:
            handle.remove()
        module = self._module()
        if module is not None and not module._backward_hooks:
            module._is_full_backward_hook = self._kind


_session: Session | None = None
_lock = threading.RLock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lambda: forget_in_child())


def begin() -> None:
    """Attach the hooks of all wrapped modules until `end`."""
    global _session
    with _lock:
        end()
        _session = Session(by_profile=True)


def end() -> None:
    """Remove all hooks but the roots' own."""
    global _session
    with _lock:
        if _session is not None:
            _session.end()
            # Only now: a session that an interrupt left half ended can be ended again.
            _session = None


def forget_in_child() -> None:
    """Remove all hooks in a forked process: the recording is its parent's.

    Another thread of the parent may have held the lock. Open ranges are left as they are.
    """
    global _session, _lock
    _lock = threading.RLock()
    ending, _session = _session, None
    if ending is not None:
        ending.abandon()


def renew() -> None:
    """Attach again, if hooks are attached, after a root came, went or changed its options."""
    global _session
    with _lock:
        if _session is None:
            if autograd_profiler._is_profiler_enabled:
                _profiler_starts()
            return
        earlier = _session
        end()
        if earlier.by_profile or autograd_profiler._is_profiler_enabled:
            _session = Session(by_profile=earlier.by_profile, earlier=earlier)


def current_manifest(**more: Any) -> str:
    """Return the manifest of the recording in progress as JSON, "" without one.

    Args:
        **more: members to add, where they are not empty.
    """
    session = _session
    return "" if session is None else session.manifest(**more)


def current_compiled() -> str:
    """Return which modules the kernels of compiled graphs serve as JSON, "" for nothing."""
    if _session is None:
        return ""
    nodes = [each.node for each in roots.assign()]
    paths = [(module, node.path) for node in nodes for module in (node.module, node.holder)]
    found = compiled.describe(paths, manifest.importable)
    if found is None or not (found["graphs"] or found["missing"]):
        _warn_compiled()
    if found is None:
        return ""
    _warn_cached(found)
    return encode_manifest(found)


def _warn_cached(found: dict[str, Any]) -> None:
    """Warn of graphs that torch had in its cache from before the recorder was there."""
    cached = sum(row["why"] == "cache" for row in found["missing"])
    if cached:
        count = cached + len(found["graphs"])
        faults.advise(
            "cache",
            f"torch took {cached} of {count} compiled graphs from a cache that was filled without "
            "tb_hookview, so the times of their modules stay with the module that was compiled; "
            "for times by module, set the environment variable TORCHINDUCTOR_CACHE_DIR to a new "
            "folder and record again",
        )


def _warn_compiled() -> None:
    """Warn of models that are compiled into code around them, where no graph is known to us."""
    for root in roots.compiled():
        name = f"the model wrapped as {root.path!r}" if root.path else "the wrapped model"
        faults.advise(
            "compiled",
            f"{name} is compiled into the code that calls it, so its modules leave no marks in the "
            "recording; compile the model itself: torch.compile(model) or model.compile()",
        )


def finished_calls() -> list[ThreadCalls]:
    """Return the calls of the recording in progress whose backward is yet to be marked."""
    session = _session
    return [] if session is None else session.finished_calls()


def follow_profilers() -> None:
    """Attach and remove hooks from now on as torch's profilers start and stop."""
    profilers.follow(_profiler_starts, _profiler_stops)


def _profiler_starts() -> None:
    global _session
    with _lock:
        if _session is None and roots.alive():
            _session = Session(by_profile=False)
            if text := _session.manifest():
                torch.autograd._add_metadata_json(manifest.KEY, text)  # type: ignore[attr-defined]


def _profiler_stops() -> None:
    with _lock:
        if _session is not None and not _session.by_profile:
            if text := current_compiled():
                torch.autograd._add_metadata_json(COMPILED_KEY, text)  # type: ignore[attr-defined]
            end()


def _leave(module: nn.Module) -> None:
    session = _session
    if session is not None:
        session.leave(module)


inlined.on_call = _leave


def _owned_parameters(assigned: list[Assigned]) -> Iterator[tuple[Assigned, str, nn.Parameter]]:
    """Yield each trainable parameter once, with its first owner in order and its name there.

    Where the owner is not marked itself, the nearest marked module above it stands in, and the
    name leads from there.
    """
    marked = {each.node.path: each for each in assigned if each.marked}
    seen: set[int] = set()
    for each in assigned:
        if each.root.module_filter.markers == "forward":
            continue
        for name, parameter in each.node.holder._parameters.items():
            if parameter is None or id(parameter) in seen:
                continue
            seen.add(id(parameter))
            owner = _nearest(marked, each)
            if owner is not None and _accumulates(parameter):
                below = each.node.path[len(owner.node.path) :].lstrip(".")
                yield owner, f"{below}.{name}" if below else name, parameter


def _nearest(marked: dict[str, Assigned], start: Assigned) -> Assigned | None:
    path = start.node.path
    while path not in marked:
        if path == start.root.path:
            return None
        path = path.rpartition(".")[0]
    return marked[path]


def _accumulates(parameter: nn.Parameter) -> bool:
    return parameter.requires_grad and parameter.is_leaf and not is_lazy(parameter)
