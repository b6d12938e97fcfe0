"""Kind of each kernel, copy and set, by its name.

Names are compared with the patterns of `kernel_kinds.json`, where new ones are to be added; those
of kernels that Inductor generates also fit the host's calls of them, which have the same names.
A pattern is text that the name, in lower case, holds; `^` at its beginning means that the name
begins so, and `*` stands for anything in between. The first pattern that fits decides. Where no
pattern fits a kernel, the names of the operators that launched it decide, innermost first. The
softmax between two batched products is attention.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct

from tb_hookview.analysis.device.events import DeviceEvents, of_graph
from tb_hookview.analysis.host.rows import HostRows
from tb_hookview.arrays import intervals
from tb_hookview.arrays.joins import isin, unique, unique_inverse
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.types import Bool, Code, Float, Index, Int, Nanoseconds, TreeRow
from tb_hookview.formats import source_name
from tb_hookview.schema.terms import KINDS
from tb_hookview.trace import EventCategory, Trace

# Least compute capability of NVIDIA devices, by the names of the kernels they ran.
#
# A kernel runs on the generation it is named for and on later ones, so the latest name counts.


_NAMES = (
    ((10, 0), re.compile(r"(?<![a-z])sm1[0-2]\d[af]?(?!\d)|tcgen05|utcmma")),
    ((9, 0), re.compile(r"(?<![a-z])sm90|^nvjet|wgmma|\bcutlass3x_sm90")),
    ((8, 0), re.compile(r"(?:^|[ _:])ampere_|(?<![a-z])sm8[0-9](?!\d)|cutlass_8\d_|16816")),
    ((7, 5), re.compile(r"(?:^|[ _:])turing_|(?<![a-z])sm75(?!\d)|cutlass_75_|1688(?!\d)")),
    ((7, 0), re.compile(r"(?:^|[ _:])volta_|(?<![a-z])sm7[02](?!\d)|cutlass_70_|[hs]884")),
)


def capability_by_kernels(
    trace: Trace, device_events: DeviceEvents, device: int
) -> tuple[int, int]:
    """Least capability of a device that runs what it ran; (0, 0) where no name says."""
    if trace.runtime != "cuda":
        return 0, 0
    chosen = device_events.event[device_events.device == device]
    names = [trace.strings[name].lower() for name in unique(trace.events.name[chosen]).tolist()]
    for capability, pattern in _NAMES:
        if any(pattern.search(name) for name in names):
            return capability
    return 0, 0


# Softmax kernels of attention that runs as separate operators, forward or backward.
#
#     kernels of a thread, as launched    [bmm] [scale] [mask] [softmax] [dropout] [bmm]
#
# Both products are batched, and what lies between them is elementwise, indexing, a copy, a set or a
# reduction.
#
# This classifies single kernels, for `kernels[].kind`: it needs no names of operators but those of
# the products, so it holds for the backward as well, whose operators have other names.
# `rules/evidence/devices.py` finds whole chains by operators, forward only, because the fix
# replaces an operator's call and all that it launches, products included.


_MATRIX = KINDS.index("matrix")
_BETWEEN = tuple(
    KINDS.index(kind) for kind in ("elementwise", "copy", "set", "reduction", "indexing")
)
_PRODUCTS = ("aten::bmm", "aten::baddbmm")
_REACH = 8
"""Kernels between the softmax and a product: scale, mask and what makes it, casts, dropout."""


def softmax_of_attention(host: HostRows, device_events: DeviceEvents, kind: Int) -> Bool:
    """Softmax kernels between two batched products on the thread that launched them, shape (d,).

    Args:
        host: host rows.
        device_events: kernels, copies and sets.
        kind: index into KINDS of each.
    """
    found = np.zeros(len(kind), bool)
    names = host.trace.events.name[device_events.event]
    softmax = _holding(host, names, "softmax")
    if not softmax.any():
        return found
    order = np.flatnonzero(device_events.launch >= 0)
    order = order[np.argsort(device_events.launch[order], kind="stable")]
    launch = device_events.launch[order]
    called = lookup(host.string, host.operator_around[launch])
    softmax = softmax[order] & ~_holding(host, called, "log_softmax")
    is_product = host.trace.strings.map(called, _PRODUCTS.__contains__, bool)
    product = (kind[order] == _MATRIX) & is_product
    between = isin(kind[order], _BETWEEN)
    place = np.flatnonzero(softmax)
    thread = host.call_tree.thread[launch]
    for step in (-1, 1):
        place = place[_reached(place, step, product, between, thread)]
    found[order[place]] = True
    return found


def _holding(host: HostRows, names: Int | Index, word: str) -> Bool:
    """Whether each name, an index into the strings of the trace or -1, holds a word."""
    return host.trace.strings.map(names, lambda text: word in text.lower(), bool)


def _reached(place: Int, step: int, product: Bool, between: Bool, thread: Int) -> Bool:
    """Whether a product follows (`step` 1) or precedes (-1) each kernel, with little between."""
    found, open_ = np.zeros(len(place), bool), np.ones(len(place), bool)
    for distance in range(1, _REACH + 1):
        at = place + step * distance
        open_ &= (at >= 0) & (at < len(product))
        at = np.where(open_, at, place)
        open_ &= thread[at] == thread[place]
        found |= open_ & product[at]
        open_ &= ~product[at] & between[at]
    return found


ATTENTION = KINDS.index("attention")
COMMUNICATION = KINDS.index("communication")
OTHER = KINDS.index("other")
_ON_TENSOR_CORES = frozenset({"matrix", "convolution", "attention"})
"""Kinds that tensor cores can do; the others never run on them."""
_CACHED = 4096
"""Names; the traces of one run hold the same ones."""
_LONGEST = 200
"""Characters of a name that are compared: what follows is types of arguments."""


class DeviceEventKinds(Struct, frozen=True):
    """Kind of each device event, shape (d,)."""

    kind: Int
    """Index into KINDS."""
    tensor_core: Code
    """1 on tensor (matrix) cores, 0 not on them, -1 for unknown."""
    unfused: Bool
    """Softmax kernels between two batched products: of kind attention, and no product itself."""

    def of_peers(self, device_events: DeviceEvents) -> Bool:
        """As `LaunchTiming.of_peers`."""
        return np.asarray((self.kind == COMMUNICATION) & ~device_events.is_kernel)


class _Rule(Struct, frozen=True):
    """The patterns of one verdict."""

    verdict: Any
    anywhere: tuple[str, ...]
    """Plain texts: nearly all patterns are, and these are the quickest to look for."""
    at_start: tuple[str, ...]
    in_order: tuple[tuple[str, ...], ...]
    """Texts that a name holds one after another; it begins with the first after a `^`."""

    def fits(self, name: str) -> bool:
        """Whether a name in lower case is meant."""
        if name.startswith(self.at_start):
            return True
        for text in self.anywhere:  # a loop, at half the time of any()
            if text in name:
                return True
        return any(_hold_in_order(name, texts) for texts in self.in_order)


@cache
def _rules() -> dict[str, tuple[_Rule, ...]]:
    """The rules by what they are about: `kernels`, `operators` or `tensor_core`."""
    text = (Path(__file__).parent / "kernel_kinds.json").read_text(encoding="utf-8")
    rules = {
        name: tuple(_rule(*entry) for entry in listed) for name, listed in json.loads(text).items()
    }
    of_names = {name: rules["generated"] + rules[name] for name in ("kernels", "operators")}
    return {**of_names, "tensor_core": rules["tensor_core"]}


def _rule(verdict: Any, patterns: Sequence[str]) -> _Rule:
    plain = [pattern for pattern in patterns if "*" not in pattern]
    return _Rule(
        verdict,
        anywhere=tuple(pattern for pattern in plain if pattern[0] != "^"),
        at_start=tuple(pattern[1:] for pattern in plain if pattern[0] == "^"),
        in_order=tuple(tuple(p.split("*")) for p in patterns if "*" in p),
    )


def _hold_in_order(name: str, texts: Sequence[str]) -> bool:
    first, place = texts[0], 0
    if first[:1] == "^":
        if not name.startswith(first[1:]):
            return False
        place, texts = len(first) - 1, texts[1:]
    for text in texts:
        place = name.find(text, place)
        if place < 0:
            return False
        place += len(text)
    return True


def _verdict(about: str, name: str) -> Any:
    return next((rule.verdict for rule in _rules()[about] if rule.fits(name)), None)


@lru_cache(_CACHED)
def kind_of_kernel(name: str) -> str | None:
    """Kind by the name of a kernel; None for unknown."""
    kind = _verdict("kernels", source_name(name)[:_LONGEST].lower().removeprefix("void "))
    return None if kind is None else str(kind)


@lru_cache(_CACHED)
def kind_of_operator(name: str) -> str | None:
    """Kind by the name of an operator or annotation; None for unknown."""
    kind = _verdict("operators", name.lower())
    return None if kind is None else str(kind)


@lru_cache(_CACHED)
def on_tensor_cores(name: str, kind: str) -> bool | None:
    """Whether a kernel of this name and kind runs on tensor cores; None for unknown."""
    if kind == "other":
        return None
    if kind not in _ON_TENSOR_CORES:
        return False
    verdict = _verdict("tensor_core", source_name(name).lower().removeprefix("void "))
    return None if verdict is None else bool(verdict)


def device_event_kinds(host: HostRows, device_events: DeviceEvents) -> DeviceEventKinds:
    """Kind of every device event; each distinct name is compared once."""
    names, events = host.trace.strings, host.trace.events
    pair = events.name[device_events.event].astype(np.int64) * len(EventCategory)
    pair += device_events.category
    distinct, place = unique_inverse(pair)
    by_name = [
        _kind_of(names[p // len(EventCategory)], EventCategory(p % len(EventCategory)))
        for p in distinct.tolist()
    ]
    kind = np.array([KINDS.index(name) for name in by_name], np.int64)[place]
    _use_operators(host, device_events, kind)
    tensor_core = _tensor_core(host, device_events, kind)
    unfused = softmax_of_attention(host, device_events, kind)
    kind[unfused] = ATTENTION
    return DeviceEventKinds(kind, tensor_core, unfused)


def _tensor_core(host: HostRows, device_events: DeviceEvents, kind: Int) -> Code:
    """`DeviceEventKinds.tensor_core`; each distinct name and kind is compared once."""
    name = host.trace.events.name[device_events.event].astype(np.int64)
    distinct, place = unique_inverse(name * len(KINDS) + kind)
    texts = host.trace.strings
    cores = [
        on_tensor_cores(texts[pair // len(KINDS)], KINDS[pair % len(KINDS)])
        for pair in distinct.tolist()
    ]
    return np.array([-1 if core is None else int(core) for core in cores], np.int8)[place]


def _kind_of(name: str, event_kind: EventCategory) -> str:
    if event_kind is EventCategory.COPY:
        return "copy"
    if event_kind is EventCategory.SET:
        return "set"
    return kind_of_kernel(name) or "other"


def _use_operators(host: HostRows, device_events: DeviceEvents, kind: Int) -> None:
    """Fill in by operators: kernels of an unknown name, and the copies of a collective."""
    launch = device_events.launch
    unknown = np.flatnonzero((kind == OTHER) & (launch >= 0))
    kind[unknown] = _kind_around(host, launch[unknown], kind_of_operator)
    moves = device_events.is_copy | (device_events.category == EventCategory.SET)
    moved = np.flatnonzero(moves & (launch >= 0))
    found = _kind_around(host, launch[moved], _communication)
    kind[moved[found == COMMUNICATION]] = COMMUNICATION


def _communication(name: str) -> str | None:
    """Whether a copy is a collective's own, which that of its input by a functional one is not."""
    if name == "aten::clone":
        return "copy"
    return "communication" if kind_of_operator(name) == "communication" else None


def _kind_around(host: HostRows, launch: TreeRow, kind_of: Callable[[str], str | None]) -> Int:
    """Kind of the innermost operator around each launch that has one, OTHER for none."""
    row, place = unique_inverse(launch)
    kind = np.full(len(row), OTHER, np.int64)
    texts = host.trace.strings
    open_rows = np.arange(len(row))
    while len(open_rows):
        calling = host.kind[row] == EventCategory.RUNTIME
        strings, name = unique_inverse(np.where(calling, -1, host.string[row]))
        kinds = [kind_of(texts[string]) if string >= 0 else None for string in strings.tolist()]
        kind[open_rows] = np.array([KINDS.index(each or "other") for each in kinds])[name]
        row = host.call_tree.parent[row]
        going = (kind[open_rows] == OTHER) & (row >= 0)
        open_rows, row = open_rows[going], row[going]
    return kind[place]


# Device events launched by operators that tensor cores could serve.


_OF_TORCH_TB_PROFILER = (
    "aten::_convolution aten::conv1d aten::conv2d aten::conv3d aten::conv_tbc"
    " aten::conv_transpose1d aten::conv_transpose2d aten::conv_transpose3d aten::convolution"
    " aten::cudnn_convolution aten::cudnn_convolution_transpose aten::prelu aten::addmm aten::addmv"
    " aten::addr aten::matmul aten::mm aten::mv aten::linear aten::addbmm aten::baddbmm aten::bmm"
    " aten::chain_matmul aten::linalg_multi_dot aten::_thnn_fused_lstm_cell"
    " aten::_thnn_fused_gru_cell aten::lstm_cell aten::gru_cell aten::rnn_tanh_cell"
    " aten::rnn_relu_cell CudnnConvolutionBackward BmmBackward0"
    " aten::cudnn_convolution_transpose_backward CudnnConvolutionTransposeBackward MmBackward"
    " aten::cudnn_convolution_backward_weight aten::addmm_ AddmvBackward MvBackward"
    " aten::cudnn_convolution_transpose_backward_weight"
    " aten::cudnn_convolution_transpose_backward_input AddmmBackward"
    " aten::cudnn_convolution_backward_input AddbmmBackward aten::cudnn_convolution_backward"
)
_SINCE = (
    "aten::convolution_backward aten::convolution_overrideable aten::miopen_convolution"
    " aten::miopen_convolution_add_relu aten::cudnn_convolution_relu"
    " aten::cudnn_convolution_add_relu aten::_addmm_activation aten::_scaled_mm aten::_grouped_mm"
    " aten::_scaled_dot_product_flash_attention aten::_scaled_dot_product_efficient_attention"
    " aten::_scaled_dot_product_cudnn_attention aten::_flash_attention_forward"
    " aten::_efficient_attention_forward aten::_flash_attention_backward"
    " aten::_efficient_attention_backward aten::_cudnn_attention_forward"
    " aten::_cudnn_attention_backward aten::_cudnn_rnn aten::_cudnn_rnn_backward"
    " aten::_thnn_fused_lstm_cell_backward_impl"
)
OPERATORS = frozenset(f"{_OF_TORCH_TB_PROFILER} {_SINCE}".split())
"""Operators that tensor cores can serve: torch_tb_profiler's, and those that torch has since."""


def eligible_operators(
    host: HostRows, device_events: DeviceEvents, kinds: DeviceEventKinds
) -> Bool:
    """Operators that tensor cores can serve, shape (n,).

    An operator is also eligible if it launched a kernel on tensor cores, whatever its name.
    """
    eligible = (host.kind == EventCategory.OPERATOR) & host.is_named(OPERATORS.__contains__)
    launcher = _launchers(host, device_events)
    eligible[launcher[(kinds.tensor_core == 1) & (launcher >= 0)]] = True
    return np.asarray(eligible)


def _launchers(host: HostRows, device_events: DeviceEvents) -> TreeRow:
    return lookup(host.any_operator_around, device_events.launch)


def tensor_core_eligible(
    host: HostRows, device_events: DeviceEvents, kinds: DeviceEventKinds
) -> Bool:
    """Device events that an innermost eligible operator launched itself, shape (d,).

    Those that run on tensor cores are eligible whatever launched them, and of a replayed graph no
    others: its operators, and those of launches before the trace, are not in it.
    """
    eligible = eligible_operators(host, device_events, kinds)
    outer = np.zeros(len(host), bool)
    row = np.flatnonzero(eligible)
    while len(row):
        row = unique(host.call_tree.parent[row])
        row = row[(row >= 0) & ~lookup(outer, row).astype(bool)]
        outer[row] = True
    innermost = (eligible & ~outer).astype(np.int64)
    launched = lookup(innermost, _launchers(host, device_events)) > 0
    launched &= ~of_graph(host, device_events, np.arange(len(device_events)))
    return np.asarray(launched | (kinds.tensor_core == 1))


# Use of a device by its kernels: torch_tb_profiler's utilization, efficiency, occupancy.
#
# All are over one window: from the first step to the last, with the device events they launched.
# Kernels count as far as they lie in it, whichever step launched them.


def utilization(start: Nanoseconds, end: Nanoseconds, window: tuple[int, int]) -> float | None:
    """Share of the window in which any kernel ran; None for an empty window."""
    if window[1] <= window[0]:
        return None
    time = intervals.lengths_within(intervals.of(start, end), np.array([window], np.int64))
    return int(time[0]) / (window[1] - window[0])


def sm_efficiency(
    start: Nanoseconds, end: Nanoseconds, blocks: Float, window: tuple[int, int]
) -> float | None:
    """Mean over the window of blocks per multiprocessor, at most one; 0 to 1.

    Args:
        start, end: kernels, shape (k,), nanoseconds.
        blocks: `blocks per SM` of each, NaN for unknown.
        window: nanoseconds.

    Returns:
        None where it is unknown of every kernel.
    """
    start, end, used = _inside(start, end, np.where(blocks > 0, blocks, np.nan), window)
    if not len(used):
        return None
    time = np.concatenate([start, end])
    order = np.argsort(time, kind="stable")
    running = np.cumsum(np.concatenate([used, -used])[order])[:-1]
    passed = np.diff(time[order])
    return float((np.clip(running, 0, 1) * passed).sum() / (window[1] - window[0]))


def occupancy(
    start: Nanoseconds, end: Nanoseconds, percent: Float, window: tuple[int, int]
) -> float | None:
    """Mean of the kernels' estimated occupancy by their time in the window, percent.

    Args:
        percent: `est. achieved occupancy %` of each, NaN for unknown.

    Returns:
        None where it is unknown of every kernel.
    """
    start, end, known = _inside(start, end, np.where(percent >= 0, percent, np.nan), window)
    time = end - start
    return float((known * time).sum() / time.sum()) if len(known) else None


def _inside(
    start: Nanoseconds, end: Nanoseconds, value: Float, window: tuple[int, int]
) -> tuple[Nanoseconds, Nanoseconds, Float]:
    """Kernels of known value that run in the window, cut to it."""
    start, end = np.maximum(start, window[0]), np.minimum(end, window[1])
    chosen = (start < end) & ~np.isnan(value)
    return start[chosen], end[chosen], value[chosen]
