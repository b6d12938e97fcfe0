"""A region that Dynamo captured: its modules, as they were when it was compiled."""

from __future__ import annotations

import hashlib
import sys
import weakref
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import CodeType
from typing import Any, NamedTuple

from torch import fx, nn

from tb_hookview.recorder.compiled.artifact import Sequence
from tb_hookview.recorder.compiled.stacks import Module, StackModule, split, stack, variable


@dataclass(eq=False)
class Region:
    """What Dynamo captured of one frame."""

    compile_id: str
    output: weakref.ref[Any] | None = None
    """Dynamo's own record of the compilation of the frame."""
    base: str = ""
    """Source of the module whose method the frame runs, such as "L['self']"; "" for none."""
    nodes: Sequence | None = None
    """Modules of the captured graph's nodes; None where the frame has several graphs."""
    operators: str = ""
    """Fingerprint of that graph's operators."""
    modules: list[Module] = field(default_factory=list)
    """All modules that take part."""
    instances: dict[str, weakref.ref[nn.Module]] = field(default_factory=dict)
    """Modules by source, as far as they could be found."""
    anchors: dict[str, str] = field(default_factory=dict)
    """By source of a module, that of the outermost module around it."""

    def is_of_the_frame_of(self, other: Region) -> bool:
        """Return whether both are graphs of one frame; a reset begins the numbers again."""
        return (
            self.output is not None
            and other.output is not None
            and (self.output() is other.output() is not None)
        )

    def is_of_the_graph_of(self, other: Region) -> bool:
        """Return whether both are of one graph."""
        return (
            self.is_of_the_frame_of(other)
            and self.operators == other.operators
            and self.nodes == other.nodes
        )

    def instance(self, text: str) -> nn.Module | None:
        """Return the module that a source stood for, while it is alive."""
        found = self.instances.get(text)
        return None if found is None else found()


class Frame(NamedTuple):
    """A frame that Dynamo compiles."""

    code: CodeType
    local: dict[str, Any]
    outer: dict[str, Any]
    """Global variables."""


def capture(graph: Any, compile_id: str) -> Region:
    """Return the region of a graph that Dynamo hands to its backend.

    Args:
        graph: the FX graph.
        compile_id: Dynamo's number of the region.
    """
    output = _output()
    region = Region(compile_id, None if output is None else weakref.ref(output))
    frame = None
    if output is not None:
        frame = Frame(output.root_tx.f_code, output.local_scope, output.global_scope)
        region.base = _base(frame)
    fingerprint = hashlib.sha256()
    nodes = list(_nodes(graph))
    numbers = {node: str(number) for number, node in enumerate(nodes)}
    sequence = []
    for node in nodes:
        if node.op != "placeholder":
            entries = stack(node)
            _note(region, entries, frame)
            sequence.append(entries[-1].module if entries else None)
        inputs = ",".join(numbers[source] for source in node.all_input_nodes)
        fingerprint.update(f"{node.op} {_target(node)} {inputs}\n".encode())
    region.nodes = tuple(sequence)
    region.operators = fingerprint.hexdigest()
    region.modules = list(dict.fromkeys(region.modules))
    return region


def _nodes(graph: Any) -> Iterator[Any]:
    """Yield a graph's nodes, and before the node that names a graph in it, the nodes of that."""
    for node in graph.nodes:
        if node.op == "get_attr":
            named = getattr(graph.owning_module, str(node.target), None)
            if isinstance(named, fx.GraphModule):
                yield from _nodes(named.graph)
        yield node


def _target(node: Any) -> str:
    """Return the name of an operator; names of inputs and attributes are the model's own."""
    if node.op == "call_function":
        return f"{getattr(node.target, '__module__', '')}.{getattr(node.target, '__name__', '')}"
    return str(node.target) if node.op == "call_method" else ""


def _note(region: Region, entries: tuple[StackModule, ...], frame: Frame | None) -> None:
    for entry in entries:
        text = entry.module.text
        region.modules.append(entry.module)
        if text in region.anchors:
            continue
        # Within the region's own module the stack begins with its children.
        is_own = region.base and split(text)[0] == region.base
        region.anchors[text] = region.base if is_own else entries[0].module.text
        if frame is not None:
            _remember(region, text, frame, entry.identity)
            _remember(region, region.anchors[text], frame, None)


def _remember(region: Region, text: str, frame: Frame, identity: int | None) -> None:
    found = _find(text, frame)
    if isinstance(found, nn.Module) and identity in (None, id(found)):
        region.instances.setdefault(text, weakref.ref(found))


def _output() -> Any:
    """Return Dynamo's record of the frame that it compiles on this thread, None without one."""
    translator = getattr(
        sys.modules.get("torch._dynamo.symbolic_convert"), "InstructionTranslator", None
    )
    try:
        return translator.current_tx().output  # type: ignore[union-attr]
    except AttributeError:  # compiled without Dynamo
        return None


def _base(frame: Frame) -> str:
    """Return the source of the module that a frame's code is a method of."""
    code, local = frame.code, frame.local
    if _wrapped_inline(frame) is not None:
        return "L['fn']" if "_dynamo" in code.co_filename else ""
    name = code.co_name
    if name.startswith("torch_dynamo_resume_in_"):
        name = name[len("torch_dynamo_resume_in_") :].rpartition("_at_")[0]
        names = [n for n in code.co_varnames[: code.co_argcount] if not n.startswith("___")]
        found = [n for n in names if _defines(local.get(n), name, None)]
    else:
        found = [n for n in code.co_varnames[:1] if _defines(local.get(n), name, code)]
    return f"L['{found[0]}']" if len(found) == 1 else ""


def _wrapped_inline(frame: Frame) -> nn.Module | None:
    """Return the module around which torch puts a function, to compile it with its hooks.

    It does so for a module of its own, such as a Sequential.
    """
    module = frame.local.get("fn")
    return module if frame.code.co_name == "inner" and isinstance(module, nn.Module) else None


def is_compiled_itself(module: nn.Module, output: Any) -> bool:
    """Return whether what Dynamo compiles is a call of this module, not code that calls it.

    Args:
        module: a module whose call Dynamo traces.
        output: Dynamo's record of the compilation.
    """
    frame = Frame(output.root_tx.f_code, output.local_scope, output.global_scope)
    return _wrapped_inline(frame) is module and "_dynamo" in frame.code.co_filename


def _defines(thing: object, method: str, code: CodeType | None) -> bool:
    """Return whether a thing is a module whose class has a method, with that code if given."""
    if not isinstance(thing, nn.Module):
        return False
    found = [vars(cls)[method] for cls in type(thing).__mro__ if method in vars(cls)]
    return bool(found) and (code is None or any(_code(each) is code for each in found))


def _code(function: Any) -> Any:
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    return getattr(function, "__code__", None)


def _find(text: str, frame: Frame) -> Any:
    """Return what a source such as "L['self'].blocks.0" stands for, None if that is not plain."""
    head, rest = split(text)
    scope = frame.local if head.startswith("L") else frame.outer
    thing: Any = scope.get(variable(head))
    for name in filter(None, rest.split(".")):
        thing = _member(_unwrapped(thing), name)
    return _unwrapped(thing)


def _member(thing: Any, name: str) -> Any:
    """Return an attribute or item without running any code of the thing's."""
    if isinstance(thing, nn.Module) and name in thing._modules:
        return thing._modules[name]
    if type(thing) in (list, tuple) and name.isdecimal() and int(name) < len(thing):
        return thing[int(name)]
    if type(thing) is dict:
        return thing.get(name, thing.get(int(name)) if name.isdecimal() else None)
    return getattr(thing, "__dict__", {}).get(name)


def optimized_module() -> type[nn.Module] | None:
    """Return the class of what `torch.compile` returns for a module.

    To import it would import the compiler; where that is not loaded there are none.
    """
    return getattr(sys.modules.get("torch._dynamo.eval_frame"), "OptimizedModule", None)


def may_have_compiled() -> bool:
    """Return whether something that `torch.compile` returned may be alive."""
    dynamo = sys.modules.get("torch._dynamo.eval_frame")
    codes = getattr(dynamo, "always_optimize_code_objects", None)
    return dynamo is not None and getattr(codes, "values", None) != {}


def _unwrapped(thing: Any) -> Any:
    """Return the module inside of what `torch.compile` returned for it."""
    wrapper = optimized_module()
    if wrapper is not None and isinstance(thing, wrapper):
        return thing.__dict__["_modules"]["_orig_mod"]
    return thing
