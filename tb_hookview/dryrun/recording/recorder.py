"""Notes each sync with its cause, line, module and autograd node."""

from __future__ import annotations

import sys
import threading
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import CodeType, FrameType
from typing import NamedTuple

import torch

from tb_hookview.dryrun.operators.row import Reason
from tb_hookview.dryrun.operators.uploads import FROM_PINNED as PINNED
from tb_hookview.dryrun.recording import frames
from tb_hookview.dryrun.recording.frames import OFFLOADING, Owner, Spot, Use, statement_text
from tb_hookview.dryrun.recording.modules import ModuleCalls, ModuleName, current_node

# The rule of the trace's findings that a sync belongs to.


_DATA_DEPENDENT = (
    *("repeat_interleave", "_unique", "_unique2", "unique_dim", "unique_consecutive"),
    *("unique_dim_consecutive", "bincount", "histc", "linalg_matrix_exp", "cholesky"),
    "_coalesce",
)
_INDEXING = (
    *("aten::index", "aten::_unsafe_index", "aten::_index_put_impl_"),
    "aten::masked_scatter_backward",
)


_TRAINING = {
    "torch/amp/grad_scaler.py": "sync-grad-scaler",
    "torch/nn/utils/clip_grad.py": "sync-grad-clip",
    "torch/optim/optimizer.py": "sync-optimizer-scalar-state",
}


class Situation(NamedTuple):
    """What is known of a sync when its cause is chosen."""

    operator: str
    within: str
    """The operator around it that is known by name; "" for none."""
    reason: Reason
    phase: str
    use: Use
    codes: Collection[CodeType]
    """Code of the frames around it."""


def cause(of: Situation) -> str:
    """Return the id of the rule, whose fix is that of the sync."""
    if of.reason.kind == "explicit":
        return "sync-explicit"
    return _of_training(of) or _of_indexing(of) or _of_operator(of) or _of_kind(of)


def _of_training(of: Situation) -> str:
    """What the update of the parameters asks for, by the innermost frame of it."""
    for code in of.codes if of.reason.kind == "read" else ():
        for file, rule in _TRAINING.items():
            if code.co_filename.endswith(file):
                return rule
    return ""


def _of_indexing(of: Situation) -> str:
    indexing = of.operator in _INDEXING or of.within in _INDEXING
    if of.operator == "aten::masked_select" or (indexing and of.reason.kind == "size"):
        return "sync-mask-index"
    if of.reason.kind == "to_device" and indexing:
        return "sync-host-index-or-slice"
    if of.operator == "aten::nonzero":
        return "sync-nonzero-variable-shape"
    return ""


def _of_operator(of: Situation) -> str:
    name = of.operator.removeprefix("aten::").partition(".")[0]
    of_errors = of.within == "aten::_linalg_check_errors" or name.startswith("_linalg")
    if of_errors or name.startswith("linalg_") or name in _DATA_DEPENDENT:
        return "sync-data-dependent-size"
    if of.operator == "aten::_local_scalar_dense":
        if of.use is Use.BRANCH:
            return "sync-bool-branch"
        return "sync-host-index-or-slice" if of.use is Use.SUBSCRIPT else "sync-scalar-item"
    return ""


def _of_kind(of: Situation) -> str:
    kind = of.reason.kind
    if of.operator != "aten::copy_" and of.within == "":
        return "sync-in-operator"
    if kind == "staging":
        return "h2d-nonblocking-unpinned"
    if kind == "to_host":
        return "sync-d2h-copy"
    if kind == "to_device":
        if of.reason.text == PINNED:
            return "h2d-pinned-but-blocking"
        moved = of.phase == "other" or any(code.co_name in OFFLOADING for code in of.codes)
        return "h2d-pageable-blocking" if moved else "create-on-cpu-then-move"
    return "sync-in-operator"


STACK = 40
"""Frames of the program that are noted of a sync."""


class Line(NamedTuple):
    """A line of the program, and the statement that it is a part of."""

    filename: str
    """As Python names it."""
    number: int
    last: int
    column: int | None
    last_column: int | None
    function: str
    code: str

    def __str__(self) -> str:
        return f"{frames.shown(self.filename)}:{self.number}"


@dataclass(frozen=True)
class NotedSync:
    """The host would wait for the device here."""

    step: int
    phase: str
    operator: str
    within: str
    reason: Reason
    node: str | None
    module: ModuleName | None
    line: Line | None
    via: str | None
    """The line of torch's Python code that the program called, innermost."""
    forward_line: Line | None
    stack: tuple[str, ...]
    cause: str


class _Around(NamedTuple):
    """What the frames around a sync are."""

    spot: Spot | None
    via: str | None
    use: Use
    stack: tuple[str, ...]
    codes: list[CodeType]


class _Local(threading.local):
    within = ""


class Recorder:
    """What a dry run has seen so far."""

    def __init__(self) -> None:
        self.syncs: list[NotedSync] = []
        self.notes: dict[str, None] = {}
        """Sentences about what was not as on a GPU, each once, in order."""
        self.step = 0
        self.modules = ModuleCalls()
        self._local = _Local()

    def start(self) -> None:
        """Follow the calls of modules from now on."""
        self.modules.start()

    def stop(self) -> None:
        """Stop following."""
        self.modules.stop()

    def new_step(self) -> None:
        """Count what follows as of the next step."""
        self.step += 1
        self.modules.new_step()

    def note(self, sentence: str) -> None:
        """Remember a sentence for the end."""
        self.notes[sentence] = None

    def operator(self) -> None:
        """Note the line that calls a kernel."""
        if torch.is_grad_enabled():
            frame: FrameType | None = sys._getframe(1)
            while frame is not None and frames.owner(frame.f_code) is not Owner.PROGRAM:
                frame = frame.f_back
            if frame is not None:
                self.modules.note_operator(frame.f_code, frame.f_lineno)

    @contextmanager
    def inside(self, operator: str) -> Iterator[None]:
        """Note syncs in the block as a part of an operator."""
        before, self._local.within = self._local.within, operator
        try:
            yield
        finally:
            self._local.within = before

    def sync(self, operator: str, reason: Reason) -> None:
        """Note that the host would wait for the device now."""
        around = _look_around(sys._getframe(1))
        node, module, forward = current_node(), self.modules.innermost, None
        phase = "optimizer" if any(map(frames.is_update, around.codes)) else "other"
        if node is not None:
            phase = "backward"
            if module is None:
                module, forward = self._made_by(node)
        elif module is not None:
            phase = "forward"
        within = self._local.within
        name = node.name() if node is not None else None
        situation = Situation(operator, within, reason, phase, around.use, around.codes)
        self.syncs.append(
            NotedSync(
                step=self.step,
                phase=phase,
                operator=operator,
                within=within,
                reason=reason,
                node=name,
                module=module,
                line=_line(around.spot),
                via=around.via,
                forward_line=forward,
                stack=around.stack,
                cause=cause(situation),
            )
        )

    def _made_by(self, node: torch.autograd.graph.Node) -> tuple[ModuleName | None, Line | None]:
        """Module and line of the forward operator that made a node."""
        name = node.name()
        if "AccumulateGrad" in name:
            return None, None
        number = node._sequence_nr()
        if "BackwardHookFunction" in name:  # a module's call makes it, and no operator
            return self.modules.of_node(number), None
        place = self.modules.line_of_node(number, made_after="CopySlices" in name)
        if place is None:
            return self.modules.of_node(number), None
        code, line = place
        spot = Spot(code, line, line, None, None, Use.CALL)
        return self.modules.of_node(number), _line(spot)


def _look_around(start: FrameType) -> _Around:
    first, via, use = None, None, None
    stack: list[str] = []
    for frame in frames.outward(start):
        code = frame.f_code
        kind = frames.owner(code)
        if kind is Owner.PROGRAM:
            first = first or frames.spot(frame)
            if len(stack) < STACK:
                stack.append(f"{frames.shown(code.co_filename)}({frame.f_lineno}): {code.co_name}")
        elif kind is Owner.TORCH and first is None and via is None:
            via = f"{frames.shown(code.co_filename)}:{frame.f_lineno}"
        if kind is not Owner.NOBODY and use is None:
            use = frames.spot(frame).use
    return _Around(first, via, use or Use.CALL, tuple(stack), frames.codes_around(start))


def _line(spot: Spot | None) -> Line | None:
    if spot is None:
        return None
    return Line(
        spot.filename,
        spot.line,
        spot.last_line,
        spot.column,
        spot.last_column,
        spot.code.co_name,
        statement_text(spot.filename, spot.line),
    )


class Watch:
    """Where kernels find the recorder of the dry run that is active."""

    __slots__ = ("recorder",)

    def __init__(self) -> None:
        self.recorder: Recorder | None = None

    def sync(self, operator: str, reason: Reason) -> None:
        """Note a sync, if anything is watched."""
        if self.recorder is not None:
            self.recorder.sync(operator, reason)

    def operator(self) -> None:
        """Note a call of a kernel, if anything is watched."""
        if self.recorder is not None:
            self.recorder.operator()

    def note(self, sentence: str) -> None:
        """Remember a sentence, if anything is watched."""
        if self.recorder is not None:
            self.recorder.note(sentence)


WATCH = Watch()
