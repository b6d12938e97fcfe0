"""What all rules find in a trace."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from tb_hookview import schema
from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.selection import Selection
from tb_hookview.errors import NotFoundError
from tb_hookview.isolation import Failures
from tb_hookview.rules.catalogue import RULES
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.cost_accounting import Found, findings
from tb_hookview.rules.gains import with_gains
from tb_hookview.schema import PROFILER

if TYPE_CHECKING:
    from tb_hookview.simulation.alone import Alone
    from tb_hookview.simulation.changes import Change


class Diagnosis(NamedTuple):
    """What the rules find in a trace."""

    causes: list[str]
    """Id of the rule that explains each sync of the trace; `profiler` for the profiler's own."""
    findings: list[schema.Finding]
    failures: Failures
    """Rules and replays that failed on this trace."""


def diagnose(selection: Selection, alone: Alone, failures: Failures) -> Diagnosis:
    """Ask every rule about the selected steps of a trace.

    Args:
        selection: these steps.
        alone: their replays.
        failures: where it is noted what fails.
    """
    context = Context(selection, RULES, failures)
    found = with_gains(context, findings(context), alone)
    return Diagnosis(causes_of(context), found, failures)


def causes_of(context: Context) -> list[str]:
    """Id of the rule that explains each sync of a trace, `profiler` for the profiler's own."""
    rules = context.rules
    return [rules[rule].id if rule >= 0 else PROFILER for rule in context.explained.tolist()]


def find_all(selection: Selection) -> list[Found]:
    """All findings with what they were charged for, without their gains."""
    return findings(Context(selection, RULES))


def without_findings(analysis: Analysis, found: Iterable[Found]) -> Change:
    """What would be gone without some findings; those of unknown gain change nothing."""
    from tb_hookview.rules.engine.removal import removed
    from tb_hookview.simulation.changes import together

    return together([removed(analysis, each) for each in found if _gains(each)])


def _gains(found: Found) -> bool:
    return found.finding.gain_unknown is None


def findings_named(found: Sequence[Found], wanted: Iterable[str]) -> list[Found]:
    """Those of some findings that are meant.

    Args:
        found: all findings of a trace.
        wanted: ids of findings, or of rules for all of theirs.

    Raises:
        NotFoundError: there is no such finding.
    """
    named: list[Found] = []
    for name in wanted:
        meant = [each for each in found if name in (each.finding.id, each.finding.rule)]
        if not meant:
            known = ", ".join(dict.fromkeys(each.finding.rule for each in found)) or "none"
            raise NotFoundError(f"no finding {name!r} in this trace; there are {known}")
        named += meant
    return named
