"""Wraps and unwraps modules: `wrap` and `unwrap`, which a training script calls."""

from __future__ import annotations

from typing import TypeVar

import torch
from torch import nn

from tb_hookview.errors import UsageError
from tb_hookview.recorder import roots, session
from tb_hookview.recorder.hooks import is_inert
from tb_hookview.recorder.module_filter import Patterns, parse_filter
from tb_hookview.recorder.tree import walk

M = TypeVar("M", bound=nn.Module)


def wrap(
    module: M,
    *,
    name: str | None = None,
    include: Patterns | None = None,
    exclude: Patterns | None = None,
    depth: int | None = None,
    markers: str = "auto",
) -> M:
    """Mark a module and all below it in every trace recorded from now on.

    What the module computes does not change, nor what is compiled. While no profiler records,
    there is no hook. Wrapping again changes the options and nothing else.

    Args:
        module: the model, or a loss that is a module.
        name: path of the module in the trace; "" by default, then the class name for a second one.
        include: mark only modules whose path matches one of these globs, or of these classes.
        exclude: mark no module whose path matches one of these globs, nor of these classes.
        depth: mark modules at most this many levels below the root.
        markers: "auto", "module" (torch's module backward hooks) or "forward".

    Returns:
        The same object.

    Raises:
        UsageError: the module cannot be hooked, or an option has a wrong value.
    """
    _require_hookable(module, name)
    module_filter = parse_filter(include, exclude, depth, markers)
    path = roots.choose_path(module, name)
    module_filter.require_matches(list(walk(module, path)))
    _drop_hooks(module)
    roots.register(module, path, named=name is not None, module_filter=module_filter)
    session.follow_profilers()
    session.renew()
    return module


def unwrap(module: M) -> M:
    """Undo `wrap`: remove every hook and forget the module.

    Returns:
        The same object. A module that is not wrapped is left as it is.

    Raises:
        UsageError: this is not a module.
    """
    if not isinstance(module, nn.Module):
        raise UsageError(f"unwrap() needs a torch.nn.Module, not {_kind(module)}")
    roots.remove(module)
    session.renew()
    for below in module.modules():
        if roots.find(below) is None:
            _drop_hooks(below)
    _drop_empty_tables(module)
    return module


def _drop_hooks(module: nn.Module) -> None:
    """Remove what copying a module, while it was recorded, left in the place of our hooks."""
    for hooks in (
        module._forward_pre_hooks,
        module._forward_hooks,
        module._backward_pre_hooks,
        module._backward_hooks,
    ):
        for key, hook in list(hooks.items()):
            if is_inert(hook):
                del hooks[key]
                module._forward_hooks_always_called.pop(key, None)


def _drop_empty_tables(module: nn.Module) -> None:
    """Remove the hook tables that torch made for our hooks on parameters.

    Only here and not whenever a recording ends: torch frees a table at once, even one that a
    backward in another thread is reading.
    """
    for parameter in module.parameters():
        hooks = parameter._post_accumulate_grad_hooks
        if hooks is not None and not hooks:
            parameter._post_accumulate_grad_hooks = None  # type: ignore[assignment]


def _require_hookable(module: object, name: object) -> None:
    if not isinstance(module, nn.Module):
        hint = "; give it an instance" if isinstance(module, type) else ""
        raise UsageError(f"wrap() needs a torch.nn.Module, not {_kind(module)}{hint}")
    if isinstance(module, torch.jit.ScriptModule):
        raise UsageError(
            "a scripted or traced module takes no hooks; wrap the model before torch.jit does, "
            "and record that"
        )
    if name is not None and (not isinstance(name, str) or not name):
        raise UsageError(f"name is {name!r}; a non-empty string is expected")


def _kind(thing: object) -> str:
    label = getattr(thing, "__name__", None)
    return f"the {type(thing).__name__} {label}" if label else f"a {type(thing).__name__}"
