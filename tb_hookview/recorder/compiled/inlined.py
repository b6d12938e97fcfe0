"""The modules whose calls Dynamo traces into a graph, and what it must not see of ours.

Dynamo looks at the hooks of each module that it inlines, and guards them: a hook of ours there
would be compiled in, and its removal would compile everything again. So `on_call` is called before
Dynamo looks, and our hooks leave the module. A call that is replaced in the module's slot is not
looked at, unless the module has hooks of its own.
"""

from __future__ import annotations

import functools
import sys
import weakref
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import nn

from tb_hookview.after_import import after_import
from tb_hookview.recorder.compiled import breaks
from tb_hookview.recorder.compiled.compilation import guarded
from tb_hookview.recorder.compiled.regions import is_compiled_itself

_VARIABLES = "torch._dynamo.variables.nn_module"
_CLASSES = ("NNModuleVariable", "UnspecializedNNModuleVariable")

_called: dict[int, weakref.ref[nn.Module]] = {}
_unseen = False
"""Whether Dynamo traced something before it was watched."""


def _nothing(_: nn.Module) -> None:
    pass


on_call: Callable[[nn.Module], None] = _nothing
"""Called with each module whose call is about to be traced; a session sets it."""
_hidden: list[Any] = []


def watch() -> None:
    """Note the modules that are traced from now on."""
    after_import("torch._dynamo", lambda: guarded(_wrap_dynamo))


def hide(*functions: Callable[..., Any]) -> None:
    """Let Dynamo pass over frames of our functions, but not over what they call."""
    _hidden.extend(functions)
    _skip(functions)


def _skip(functions: Iterable[Callable[..., Any]]) -> None:
    skip = getattr(sys.modules.get("torch._dynamo.eval_frame"), "skip_code", None)
    if skip is not None:
        for function in functions:
            skip(function.__code__)


def may_be_inlined(module: nn.Module) -> bool:
    """Return whether a compiled graph may hold a call of this module."""
    return _unseen or was_inlined(module)


def was_inlined(module: nn.Module) -> bool:
    """Return whether Dynamo was seen to trace a call of this module."""
    found = _called.get(id(module))
    return found is not None and found() is module


def _wrap_dynamo() -> None:
    global _unseen
    traced = getattr(sys.modules.get("torch._dynamo.convert_frame"), "output_codes", None)
    _unseen = bool(getattr(traced, "seen", None))
    variables = sys.modules[_VARIABLES]
    for name in _CLASSES:
        cls = getattr(variables, name)
        cls.call_function = _noting(cls.call_function)
    graphs = sys.modules["torch._dynamo.output_graph"].OutputGraph
    graphs.compile_subgraph = _noting_reason(graphs.compile_subgraph)
    _skip(_hidden)


def _noting(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def call_function(self: Any, tx: Any, *args: Any, **kwargs: Any) -> Any:
        guarded(_note, self, tx)
        return original(self, tx, *args, **kwargs)

    return call_function


def _noting_reason(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def compile_subgraph(self: Any, *args: Any, **kwargs: Any) -> Any:
        # Its place among the arguments differs between versions of torch.
        given = [each for each in (*args, *kwargs.values()) if hasattr(each, "user_stack")]
        for reason in given[:1]:
            guarded(breaks.note, reason)
        return original(self, *args, **kwargs)

    return compile_subgraph


def _note(variable: Any, tx: Any) -> None:
    module = getattr(variable, "value", None)
    if module is None and hasattr(variable, "module_key"):
        module = tx.output.get_submodule(variable.module_key)
    if isinstance(module, nn.Module):
        exporting = getattr(torch.compiler, "_is_exporting_flag", False)
        if not (exporting or was_inlined(module) or is_compiled_itself(module, tx.output)):
            key = id(module)
            _called[key] = weakref.ref(module, lambda gone: _forget(key, gone))
        on_call(module)


def _forget(key: int, gone: weakref.ref[nn.Module], called: dict[int, Any] = _called) -> None:
    if called.get(key) is gone:
        del called[key]
