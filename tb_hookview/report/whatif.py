"""What-ifs by the names that users have for things: findings, modules, kernels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

import msgspec
import numpy as np
from msgspec import Struct

from tb_hookview import schema
from tb_hookview.analysis.replayed_modules import unknown_device_times
from tb_hookview.analysis.selection import Selection
from tb_hookview.analysis.unseen_modules import unseen_modules
from tb_hookview.rules.diagnosis import find_all, findings_named, without_findings
from tb_hookview.rules.engine.cost_accounting import Found
from tb_hookview.simulation import whatif
from tb_hookview.simulation.changes import Change, together
from tb_hookview.simulation.questions import OF_DEVICES, ROOT, scaled
from tb_hookview.simulation.simulator import Simulator

_NO_EVENTS = "the trace has no device events"
_DEVICE_UNSEEN = f"{{}}: {_NO_EVENTS}, though a device ran, for which the host may have waited"


class WhatIfs(Struct, frozen=True, dict=True):
    """What-ifs about one selection, which share its dependency graph and its findings."""

    selection: Selection
    """The trace, or some of its steps."""

    def answer(
        self,
        without: Iterable[str] = (),
        scale: Mapping[str, float] | None = None,
        *,
        modules: bool = True,
    ) -> schema.WhatIf:
        """Predict the length of a step with something taken out or scaled.

        Args:
            without: ids of findings that are to be gone, or of rules for all of theirs; those of
                unknown gain stay as recorded, and where nothing else is asked, it is refused.
            scale: factors by what they are of (`host`, `kernels`, `kind:copy`, `module:layer1`).
            modules: whether to find the critical path by module, and slack.

        Raises:
            UsageError: there is nothing of that name, or a factor is none.
        """
        names = list(without)
        answer = whatif.what_if(
            self.simulator,
            self.change(names, scale),
            modules=modules,
            refused=self.refusal(names, scale),
        )
        unknown = [each.finding.id for each in self._named(names) if _gain_unknown(each)]
        return msgspec.structs.replace(answer, as_recorded=unknown)

    def refusal(
        self, without: Sequence[str] = (), scale: Mapping[str, float] | None = None
    ) -> str | None:
        """Why a question is not answered, None where it is; arguments are those of `answer`."""
        named = self._named(without)
        if (named or scale) and (why := self.simulator.gains_unknown):
            return why
        if why := self._unseen(scale or {}):
            return why
        unknown = [each for each in named if _gain_unknown(each)]
        known = scale or len(unknown) < len(named)
        return None if known else "; ".join(map(_unknown, unknown)) or None

    def change(
        self, without: Iterable[str] = (), scale: Mapping[str, float] | None = None
    ) -> Change:
        """Change that a question is about; arguments and errors are those of `answer`."""
        analysis = self.selection.analysis
        gone = without_findings(analysis, self._named(list(without)))
        return together([scaled(analysis, scale or {}), gone])

    def _unseen(self, scale: Mapping[str, float]) -> str | None:
        """Why something cannot be scaled: it may have run without being recorded."""
        analysis = self.selection.analysis
        in_graphs = unknown_device_times(self.selection).forward & ~analysis.compiled_modules
        unseen = np.flatnonzero(unseen_modules(analysis) | in_graphs)
        paths = [(analysis.modules.path[module], module) for module in unseen.tolist()]
        named = {
            f"module:{name}": module for path, module in paths for name in (path, path or ROOT)
        }
        for what in named.keys() & scale.keys():
            compiled = analysis.compiled_modules[named[what]]
            return f"{what}: {schema.UNSEEN_IN_COMPILED if compiled else schema.UNSEEN}"
        if analysis.device_unseen:
            return _DEVICE_UNSEEN.format(", ".join(scale)) if scale else None
        if len(analysis.device_events) or analysis.on_host:
            return None
        asked = [what for what in scale if what.partition(":")[0] in OF_DEVICES]
        return f"{', '.join(asked)}: {_NO_EVENTS}" if asked else None

    def _named(self, names: Sequence[str]) -> list[Found]:
        return findings_named(self._found, names) if names else []

    @cached_property
    def simulator(self) -> Simulator:
        """Replays of the selection."""
        return self.selection.derived(Simulator)

    @cached_property
    def _found(self) -> list[Found]:
        return find_all(self.selection)


def _gain_unknown(found: Found) -> bool:
    return found.finding.gain_unknown is not None


def _unknown(found: Found) -> str:
    """Why a finding cannot be taken out."""
    other = f"; scale {found.occurrence.scale} instead" if found.occurrence.scale else ""
    return f"{found.finding.id}: {found.finding.gain_unknown}{other}"
