"""Modules whose calls the trace cannot show, so that their work is unknown, not 0.

    exclude=["blocks.1"]   blocks          a list, never called
                           blocks.0        marked, called
                           blocks.1        not marked: what it ran is of the module above that was

What is known of `blocks` is not all of it, so it is unseen like `blocks.1`.
"""

from __future__ import annotations

import numpy as np

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.modules.attribution import EVIDENCE
from tb_hookview.arrays.joins import mask_of
from tb_hookview.arrays.types import Bool

_LISTS = frozenset({"ModuleDict", "ModuleList", "ParameterDict", "ParameterList"})
"""Classes without a forward: nothing is missing where one of them is not marked, or not called."""


def unseen_modules(analysis: Analysis) -> Bool:
    """Return whether the work of each module is unknown, shape (m,).

    It is of one that was not called, and runs in compiled code without a map, was not to be marked,
    or has gradients, or is of a root of which nothing was called though it is in use; or is above
    such a one.
    """
    modules, manifest = analysis.modules, analysis.trace.manifest
    calls = analysis.module_calls.module
    called = with_times(analysis) | mask_of(calls[calls >= 0], len(modules))
    hidden = {each.path for each in manifest.modules if not each.marked} if manifest else set()
    unseen = np.array([path in hidden for path in modules.path], bool) | _in_use(analysis)
    unseen &= np.array([name not in _LISTS for name in modules.module_class], bool)
    unseen |= analysis.compiled_modules | _of_uncalled_roots(analysis, called)
    unseen &= ~called
    for module, parent in reversed([*enumerate(modules.parent.tolist())]):
        if parent >= 0 and unseen[module]:
            unseen[parent] |= not called[parent]
    return unseen


def _in_use(analysis: Analysis) -> Bool:
    """Modules of which gradients are marked: `forward` was called, or the parameters are used."""
    attribution = analysis.attribution
    by_mark = attribution.node_evidence == EVIDENCE.index("mark")
    return mask_of(attribution.node_module[by_mark], len(analysis.modules))


def _of_uncalled_roots(analysis: Analysis, called: Bool) -> Bool:
    """Modules below roots of which none was called, though their gradients are marked.

    The parameters are in use then: what ran is another object that has them. Where no module was
    called at all, that may be of what was not trained, too, or nothing of it was recorded.
    """
    modules = analysis.modules
    found = np.zeros(len(modules), bool)
    in_use = _in_use(analysis) | (not called.any())
    for root in np.flatnonzero(modules.parent < 0).tolist():
        below = slice(root, int(modules.end[root]))
        found[below] = in_use[below].any() and not called[below].any()
    return found


def with_times(analysis: Analysis) -> Bool:
    """Return whether the times of each module are known by placed graphs, shape (m,).

    They are for a module that a placed graph ran, and for one that no graph names if they are for
    all modules right below it: a list of modules is never called itself.
    """
    known = np.zeros(len(analysis.modules), bool)
    if analysis.compiled is None:
        return known
    known[analysis.compiled.ran[:, 1]] = True
    above, lacking = np.zeros_like(known), np.zeros_like(known)
    for module, parent in reversed([*enumerate(analysis.modules.parent.tolist())]):
        known[module] |= above[module] and not lacking[module]
        if parent >= 0:
            above[parent] = True
            lacking[parent] |= analysis.compiled_modules[module] and not known[module]
    return known
