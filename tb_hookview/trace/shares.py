"""A large file decoded by several processes, each of which takes some of its blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tb_hookview.cache import FileState
from tb_hookview.errors import TraceError
from tb_hookview.trace.columns.builder import Builder
from tb_hookview.trace.format.wanted import Wanted
from tb_hookview.trace.plan import shares
from tb_hookview.trace.source.file import TraceFile
from tb_hookview.trace.source.limits import Limits
from tb_hookview.trace.source.size import BLOCK, estimated_size
from tb_hookview.trace.text.pieces import EVERYTHING, Share, TraceRoot, cut

if TYPE_CHECKING:
    from concurrent.futures import Future

    from tb_hookview.workers.pool import Workers


class Decoded(NamedTuple):
    """A share of a file."""

    builder: Builder
    root: TraceRoot | None
    """None where the file goes on."""


class Plan(NamedTuple):
    """The shares of a file, by process."""

    own: Share
    """Ours, the first one."""
    fraction: float
    """Fraction of the file that our share is, about."""
    others: list[Future[Decoded | None]]
    """Those of other processes, in the order of the file."""


ALONE = Plan(EVERYTHING, 1.0, [])


def share_out(file: TraceFile, workers: Workers, limits: Limits, wanted: Wanted) -> Plan:
    """Begin the shares of other processes, if the file is large enough for any."""
    try:
        size, state = estimated_size(file), file.state()
    except (OSError, TraceError):  # whoever reads it reports the error
        return ALONE
    first, *ends = shares(size, workers.ready_in())
    if not ends:
        return ALONE
    begins = [round(end / BLOCK) for end in (first, *ends[:-1])]
    others = [
        workers.submit(decode_share, file, state, Share(begin, end), limits, wanted)
        for begin, end in zip(begins, [*begins[1:], None], strict=True)
    ]
    return Plan(Share(0, begins[0]), first / size, others)


def decode_share(
    file: TraceFile, state: FileState, share: Share, limits: Limits, wanted: Wanted
) -> Decoded | None:
    """Decode some blocks of a file in the state that it had.

    Returns:
        None where it has another state, or is damaged: where the damage is, and what it does to
        its neighbours, only a single process can say.

    Raises:
        TraceError: it cannot be read.
    """
    if file.state() != state:
        return None
    builder, root = Builder(wanted), None
    for piece in cut(file, share=share, limits=limits, wanted=wanted):
        if piece.damages:
            return None
        if isinstance(piece, TraceRoot):
            root = piece
        else:
            builder.add(piece)
    if file.state() != state:
        return None
    builder.join()
    return Decoded(builder, root)
