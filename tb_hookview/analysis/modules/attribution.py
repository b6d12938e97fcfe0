"""The module of each autograd node and each device event, and the evidence for it.

Evidence, strongest first; what none explains is unattributed, with a reason:

1. `sequence`: the node's sequence number leads to its forward operator, which ran inside a forward
   range of our recorder. Weakest by number: none has the number itself, and the last operator with
   a lower number was running.
2. `mark`: a mark of our recorder inside the node's own evaluation (the owner of a parameter), then
   `backward_mark`: the node, if it has a forward operator, ran between the marks before and after
   a module's backward.
3. `lightning`, `python_stack`: as 1., with a Lightning annotation or an `nn.Module` row.
4. `fwdbwd`: an arrow of the trace leads to the forward operator, where the number does not.
5. `annotation`: the forward operator ran inside somebody's annotation.
6. `follows`: where our recorder left no marks for it, an `AccumulateGrad` belongs to the module of
   the node it follows. The engine accumulates a gradient before anything else, so that node has
   just completed it. A parameter used by several modules goes to the first of them to run.

A device event launched inside a module's forward range *within* a node is recomputation (activation
checkpointing) and belongs to the module recomputed (`recompute`), whoever owns the node. Forward
operators within a node, outside every such range, are recomputation of the node's own module, and
so are the nodes that they make (`recompute`, in traces of our recorder).

Device events of a range of FSDP's belong to the module that it names (`sharding`), before 1.

What a compiled graph ran is placed by our recorder's map, before all of these (`compiled`,
`compiled_split`, `compiled_near`; see `analysis/compiled/`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np
from msgspec import Struct
from msgspec.structs import astuple, replace

from tb_hookview.analysis.autograd.nodes import Nodes, recomputed_operators
from tb_hookview.analysis.device.events import DeviceEvents
from tb_hookview.analysis.host.rows import HostRows, Role, node_name
from tb_hookview.analysis.modules.tree import (
    ModuleCalls,
    Modules,
    marked_modules,
    module_between_marks,
)
from tb_hookview.arrays.joins import asof, isin, mask_of, pair_key, scatter, unique
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.sums import sum_by
from tb_hookview.arrays.types import Bool, Int, ModuleIndex, Nanoseconds, NodeIndex, TreeRow
from tb_hookview.schema.terms import Phase

# Modules that the ranges of `fully_shard` name, whichever module's call or node they are in.


_RANGE = re.compile(r"FSDP::(?!cast_)\w+(?: \((?P<path>[^ ,]*)\)| for (?P<next>[^ ,]+))?")


def sharding_ranges(host: HostRows, modules: Modules) -> tuple[TreeRow, ModuleIndex]:
    """Innermost range around each row whose module is known, and the module; -1 for none."""
    rows = host.named(_RANGE.fullmatch)
    strings = unique(host.string[rows]).tolist()
    paths = [_path(host.trace.strings[string]) for string in strings]
    found = np.array(_modules(modules, paths), np.int64)
    module = scatter(np.array(strings, np.int64), found, len(host.trace.strings))
    known = mask_of(rows[module[host.string[rows]] >= 0], len(host))
    innermost = host.call_tree.nearest(known)
    return innermost, lookup(module, lookup(host.string, innermost))


def _path(text: str) -> str:
    found = _RANGE.fullmatch(text)
    return (found["path"] or found["next"] or "") if found else ""


def _modules(modules: Modules, paths: list[str]) -> list[int]:
    """The module of each path below the root of the sharding, -1 for none.

    That root is the module below which all paths are found, one at the end of ours each.
    """
    index = {path: number for number, path in enumerate(modules.path)}
    found = [_ending(modules.path, path) if path else None for path in paths]
    roots = {
        whole[: -len(path)].rstrip(".")
        for whole, path in zip(found, paths, strict=True)
        if whole is not None
    }
    root = roots.pop() if len(roots) == 1 else None
    places = (root if path == "" else whole for whole, path in zip(found, paths, strict=True))
    return [-1 if place is None else index.get(place, -1) for place in places]


def _ending(known: tuple[str, ...], path: str) -> str | None:
    """The one known path that is another one, or ends with it."""
    found = [each for each in known if each == path or each.endswith(f".{path}")]
    return path if path in found else found[0] if len(found) == 1 else None


EVIDENCE = (
    "sequence",
    "mark",
    "backward_mark",
    "lightning",
    "python_stack",
    "fwdbwd",
    "annotation",
    "follows",
    "recompute",
    "compiled",
    "compiled_split",
    "compiled_near",
    "sharding",
)
COMPILED = ("compiled", "compiled_split", "compiled_near")
"""Evidence of what the recorder's map of compiled graphs places."""
REASONS = (
    "gradient accumulation, parameter unknown",
    "no forward operator found",
    "not made in a module",
    "the trace names no modules",
    "in a range of the backward, outside of autograd nodes",
)
NO_FORWARD = REASONS.index("no forward operator found")
_OUTSIDE_NODES = len(REASONS) - 1
RECOMPUTE, SHARDING = EVIDENCE.index("recompute"), EVIDENCE.index("sharding")


class Attribution(Struct, frozen=True):
    """Modules of nodes, shape (m,), and of tree rows, shape (n,); -1 for none."""

    node_module: ModuleIndex
    node_evidence: Int
    """Index into EVIDENCE."""
    node_reason: Int
    """Why a node has no module: index into REASONS."""
    row_module: ModuleIndex
    """The module to which device events launched at each row belong."""
    row_evidence: Int
    """Index into EVIDENCE; -1 outside the backward pass."""
    row_recompute: Bool
    """Rows inside a forward that runs again within a node."""
    row_sharding: Bool
    """Rows inside a range of FSDP's that names their module."""


def attribute(
    host: HostRows, nodes: Nodes, modules: Modules, module_calls: ModuleCalls
) -> Attribution:
    """Attribute nodes by the evidence above, then host rows by node or module."""
    node_module, node_evidence = _first_evidence(
        len(nodes), _candidates(host, nodes, modules, module_calls)
    )
    rerun = _recomputed(host, nodes, node_module)
    node_evidence[(node_module < 0) & (rerun >= 0)] = RECOMPUTE
    node_module = np.where(node_module < 0, rerun, node_module)
    follows = _followed(host, nodes, node_module)
    node_module = np.where(follows >= 0, follows, node_module)
    node_evidence[follows >= 0] = EVIDENCE.index("follows")
    call = module_calls.innermost(host.call_tree)
    evaluation = lookup(nodes.row, nodes.of_row)
    called_again = (evaluation >= 0) & (call > evaluation)
    by_node = lookup(node_module, nodes.of_row)
    by_place = np.where(
        (evaluation >= 0) & ~called_again, by_node, lookup(module_calls.module, call)
    )
    around, by_range = sharding_ranges(host, modules)
    sharding = (around > call) & (around > evaluation)
    evidence = np.where(called_again, RECOMPUTE, lookup(node_evidence, nodes.of_row))
    return Attribution(
        node_module=node_module,
        node_evidence=node_evidence,
        node_reason=_reasons(host, nodes, modules, node_module),
        row_module=np.where(sharding, by_range, by_place),
        row_evidence=np.where(sharding & (evaluation >= 0), SHARDING, evidence),
        row_recompute=called_again | recomputed_operators(host, nodes),
        row_sharding=sharding,
    )


def _candidates(
    host: HostRows, nodes: Nodes, modules: Modules, module_calls: ModuleCalls
) -> Iterable[tuple[str, ModuleIndex]]:
    """Module of each node by each kind of evidence, strongest first."""

    def around(rows: TreeRow, source: Role | None = None) -> ModuleIndex:
        return lookup(
            module_calls.module, lookup(module_calls.innermost(host.call_tree, source), rows)
        )

    forward_op = nodes.by_sequence
    yield "sequence", around(forward_op, Role.FORWARD_MARK)
    yield "mark", _marked(host, nodes, modules)
    # A node that no module made runs between a module's marks too, if it flows into it:
    # another's gradient, a weight computed elsewhere. An operator inside a node is recomputation.
    sink = _sinks(host, nodes)
    elsewhere = sink | ((forward_op >= 0) & (lookup(nodes.of_row, forward_op) < 0))
    between = module_between_marks(host, modules, nodes.row)
    yield "backward_mark", np.where(elsewhere, -1, between)
    yield "lightning", around(forward_op, Role.LIGHTNING)
    yield "python_stack", around(forward_op, Role.MODULE_LABEL)
    # No operator made a sink, though torch may draw an arrow to one, by another node's number.
    yield "fwdbwd", around(np.where((forward_op < 0) & ~sink, nodes.by_flow, -1))
    yield "sequence", around(np.where(sink, -1, nodes.by_earlier_number), Role.FORWARD_MARK)
    yield "annotation", around(forward_op, Role.LABEL)


def _first_evidence(
    count: int, candidates: Iterable[tuple[str, ModuleIndex]]
) -> tuple[ModuleIndex, Int]:
    """Module of each of `count` nodes, and the evidence it comes from."""
    module = np.full(count, -1, np.int64)
    evidence = np.full(count, -1, np.int64)
    for name, candidate in candidates:
        new = (module < 0) & (candidate >= 0)
        module[new] = candidate[new]
        evidence[new] = EVIDENCE.index(name)
    return module, evidence


def _recomputed(host: HostRows, nodes: Nodes, node_module: ModuleIndex) -> ModuleIndex:
    """Module of the node whose re-entrant checkpoint ran each node, -1 for others.

    Only in traces of our recorder, whose ranges show that no module inside was called.
    """
    found = np.full(len(nodes), -1, np.int64)
    if not isin(host.role, [int(Role.FORWARD_MARK)]).any():
        return found
    made_by = np.where(nodes.by_sequence >= 0, nodes.by_sequence, nodes.by_earlier_number)
    made_by = np.where(_sinks(host, nodes), -1, made_by)
    within = (nodes.around >= 0) & (lookup(nodes.of_row, made_by) == nodes.around)
    for node in np.flatnonzero(within & (node_module < 0)).tolist():  # outer before inner
        around = int(nodes.around[node])
        found[node] = node_module[around] if node_module[around] >= 0 else found[around]
    return found


def _marked(host: HostRows, nodes: Nodes, modules: Modules) -> ModuleIndex:
    """Module named by a gradient mark inside each node."""
    rows = np.flatnonzero((host.role == Role.GRADIENT_MARK) & (nodes.of_row >= 0))
    module = marked_modules(host, modules, rows)
    return scatter(nodes.of_row[rows[module >= 0]], module[module >= 0], len(nodes))


def _followed(host: HostRows, nodes: Nodes, node_module: ModuleIndex) -> ModuleIndex:
    """Module of the node that each unattributed `AccumulateGrad` follows on its thread."""
    found = np.full(len(nodes), -1, np.int64)
    if _marks_gradients(host):
        return found  # one without a mark is then no parameter's: that of an input, say
    sink = _named(host, nodes, "AccumulateGrad")
    asked, others = np.flatnonzero(sink & (node_module < 0)), np.flatnonzero(~sink)
    level = pair_key(host.call_tree.thread[nodes.row], nodes.around + 1)
    start = host.call_tree.start[nodes.row]
    before = asof(level[others], start[others], level[asked], start[asked])
    found[asked] = lookup(node_module, lookup(others, before))
    return found


def _marks_gradients(host: HostRows) -> bool:
    """Whether our recorder marked, or may have marked, the gradients of parameters."""
    if not isin(host.role, [int(Role.FORWARD_MARK), int(Role.GRADIENT_MARK)]).any():
        return False
    manifest = host.trace.manifest
    return manifest is None or manifest.markers != ("forward",)


def _reasons(host: HostRows, nodes: Nodes, modules: Modules, node_module: ModuleIndex) -> Int:
    made = (nodes.by_sequence >= 0) | (nodes.by_flow >= 0)
    reason = np.where(_named(host, nodes, "AccumulateGrad"), 0, np.where(made, 2, 1))
    if not len(modules):
        reason[:] = 3
    return np.where(node_module < 0, reason, -1)


def _sinks(host: HostRows, nodes: Nodes) -> Bool:
    """Whether each node was made by no operator."""
    # No number of such a node means anything.
    return _named(host, nodes, "AccumulateGrad", "GraphRoot")


def _named(host: HostRows, nodes: Nodes, *names: str) -> Bool:
    """Nodes whose name, without namespaces, is one of these."""

    def is_one(text: str) -> bool:
        return node_name(text).rpartition(":")[2] in names

    return host.trace.strings.map(host.string[nodes.row], is_one, bool)


class DeviceAttribution(Struct, frozen=True):
    """Node and module of each device event, shape (d,); -1 for none."""

    node: NodeIndex
    """Node inside which it was launched, -1 for none."""
    module: ModuleIndex
    evidence: Int
    """Index into EVIDENCE; -1 outside the backward pass."""
    reason: Int
    """Why one of the backward pass has no module: index into REASONS."""
    recompute: Bool


def attribute_device_events(
    device_events: DeviceEvents, row_node: NodeIndex, row_phase: Int, attribution: Attribution
) -> DeviceAttribution:
    """Attribute device events through the calls that launched them."""
    launch = device_events.launch
    node = lookup(row_node, launch)
    evidence = lookup(attribution.row_evidence, launch)
    outside = (node < 0) & (lookup(row_phase, launch) == Phase.BACKWARD)
    sharding = outside & (lookup(attribution.row_sharding, launch) > 0)
    evidence, outside = np.where(sharding, SHARDING, evidence), outside & ~sharding
    reason = np.where(evidence < 0, lookup(attribution.node_reason, node), -1)
    return DeviceAttribution(
        node=node,
        module=np.where(outside, -1, lookup(attribution.row_module, launch)),
        evidence=evidence,
        reason=np.where(outside, _OUTSIDE_NODES, reason),
        recompute=lookup(attribution.row_recompute, launch) == 1,
    )


# Modules whose calls cannot be seen, as they ran inside of compiled regions.
#
#     main ops   [. forward                                             ]
#     main ops     [Torch-Compiled Region: 0/0] [head forward]
#     listed       body, body.fc                head, head.fc
#
# `body` and `body.fc` were not called, and a region ran in the nearest module above them that was:
# if they ran, then in there. `head.fc` was not called, and did not run.


_REGION = "Torch-Compiled Region"


def compiled_modules(host: HostRows, modules: Modules, module_calls: ModuleCalls) -> Bool:
    """Return whether each module ran inside of compiled regions, where they ran; shape (m,)."""
    found = np.zeros(len(modules), bool)
    if host.trace.manifest is None:  # then every module has calls
        return found
    called = mask_of(module_calls.module[module_calls.module >= 0], len(modules))
    holding = np.zeros(len(modules) + 1, bool)  # the last is not in a module, index -1
    regions = host.named(lambda text: text.startswith(_REGION))
    around = module_calls.innermost(host.call_tree)[regions]
    holding[lookup(module_calls.module, around)] = True
    listed = frozenset(m.path for m in host.trace.manifest.modules if m.compiled)
    nearest = np.full(len(modules), -1, np.int64)
    """The nearest module above that was called; parents come before their children."""
    for module, parent in enumerate(modules.parent.tolist()):
        if parent >= 0:
            nearest[module] = parent if called[parent] else nearest[parent]
        found[module] = holding[nearest[module]] or modules.path[module] in listed
    return found & ~called


# Times shared out among modules: a compiled kernel may serve several.


class Parts(Struct, frozen=True):
    """Parts of device events, or of nodes; arrays of shape (p,).

    The times of the parts of one index sum to its time exactly. Most have one part.
    """

    index: Int
    """Device event, or node."""
    module: ModuleIndex
    """-1 for none."""
    evidence: Int
    """Index into EVIDENCE; -1 for none, and outside the backward pass but in compiled graphs."""
    time: Nanoseconds
    main: Bool
    """The one part of each index that counts as its module's."""

    def of(self, chosen: Bool) -> Parts:
        """Parts of the chosen device events or nodes, a mask over these."""
        return self.where(chosen[self.index])

    def where(self, wanted: Bool) -> Parts:
        """Some of the parts, by a mask over these."""
        mine = np.flatnonzero(wanted)
        return Parts(*(column[mine] for column in astuple(self)))

    def by_module(self, size: int) -> Nanoseconds:
        """Sum of the parts of each of `size` modules."""
        return sum_by(self.module, self.time, size)


def whole(module: ModuleIndex, evidence: Int, time: Nanoseconds) -> Parts:
    """One part for each index."""
    return Parts(np.arange(len(module)), module, evidence, time, np.ones(len(module), bool))


def joined(first: Parts, second: Parts) -> Parts:
    """Parts of both."""
    return Parts(*map(np.concatenate, zip(astuple(first), astuple(second), strict=True)))


def replaced(parts: Parts, by: Parts) -> Parts:
    """Parts with time moved from the only part of an index to others of the same index."""
    time = parts.time.copy()
    np.subtract.at(time, by.index, by.time)
    return joined(replace(parts, time=time), by)
