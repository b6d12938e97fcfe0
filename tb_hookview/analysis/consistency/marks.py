"""Marks of the recorder that cannot be used."""

from __future__ import annotations

import numpy as np

from tb_hookview import markers
from tb_hookview.analysis.consistency.fault import Fault, counted
from tb_hookview.analysis.host.roles import MARK_ROLES, Role
from tb_hookview.analysis.host.rows import HostRows
from tb_hookview.analysis.modules.marks import marked_modules
from tb_hookview.analysis.modules.tree import Modules
from tb_hookview.arrays.joins import isin, unique_counts

_BACKWARD_MARKS = (Role.GRADIENT_MARK, Role.BEFORE_MARK, Role.AFTER_MARK)


def unusable_marks(host: HostRows, modules: Modules) -> tuple[Fault, ...]:
    """Marks that cannot be used fully, by reason."""
    marks = np.flatnonzero(isin(host.role, [int(r) for r in _BACKWARD_MARKS]))
    unknown = int(np.count_nonzero(marked_modules(host, modules, marks) < 0))
    before = np.count_nonzero(host.role == Role.BEFORE_MARK)
    after = np.count_nonzero(host.role == Role.AFTER_MARK)
    other = int(np.count_nonzero(host.role == Role.UNKNOWN_MARK))
    return (
        *counted("mark-without-module", unknown),
        *counted("mark-without-pair", int(abs(before - after))),
        *counted("later-mark", _later_marks(host)),
        *counted("unknown-mark", other),
        *counted("later-manifest", _later_manifest(host)),
    )


def _later_marks(host: HostRows) -> int:
    """Count marks of a known kind and a later version.

    These are read as of our version.
    """
    strings = host.string[isin(host.role, [int(role) for role in MARK_ROLES])]
    distinct, count = unique_counts(strings)
    decoded = [markers.decode(host.trace.strings[string]) for string in distinct.tolist()]
    later = [mark is not None and mark.version > markers.VERSION for mark in decoded]
    return int(count[np.array(later, bool)].sum())


def _later_manifest(host: HostRows) -> int:
    manifest = host.trace.manifest
    version = manifest.version if manifest else None
    return int(version is not None and version > markers.VERSION)
