"""Modules whose calls cannot be seen, as they ran inside of compiled regions.

    main ops   [. forward                                             ]
    main ops     [Torch-Compiled Region: 0/0] [head forward]
    listed       body, body.fc                head, head.fc

`body` and `body.fc` were not called, and a region ran in the nearest module above them that was:
if they ran, then in there. `head.fc` was not called, and did not run.
"""

from __future__ import annotations

import numpy as np

from tb_hookview.analysis.host.rows import HostRows
from tb_hookview.analysis.modules.tree import ModuleCalls, Modules
from tb_hookview.arrays.joins import isin
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.types import Bool, Int

_REGION = "Torch-Compiled Region"


def compiled_modules(host: HostRows, modules: Modules, module_calls: ModuleCalls) -> Bool:
    """Return whether each module ran inside of compiled regions, where they ran; shape (m,)."""
    found = np.zeros(len(modules), bool)
    if host.trace.manifest is None:  # then every module has calls
        return found
    called = np.zeros(len(modules), bool)
    called[module_calls.module[module_calls.module >= 0]] = True
    holding = np.zeros(len(modules) + 1, bool)  # the last is not in a module, index -1
    holding[_modules_around_regions(host, module_calls)] = True
    listed = frozenset(m.path for m in host.trace.manifest.modules if m.compiled)
    nearest = np.full(len(modules), -1, np.int64)
    """The nearest module above that was called; parents come before their children."""
    for module, parent in enumerate(modules.parent.tolist()):
        if parent >= 0:
            nearest[module] = parent if called[parent] else nearest[parent]
        found[module] = holding[nearest[module]] or modules.path[module] in listed
    return found & ~called


def _modules_around_regions(host: HostRows, module_calls: ModuleCalls) -> Int:
    """Return the innermost module around each compiled region, -1 for none."""
    strings = [n for n, text in enumerate(host.trace.strings.texts) if text.startswith(_REGION)]
    rows = np.flatnonzero(isin(host.string, strings))
    return lookup(module_calls.module, module_calls.innermost(host.call_tree)[rows])
