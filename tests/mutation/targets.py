"""The table of mutated modules and the tests next to each; to be edited when files move."""

from __future__ import annotations

from typing import NamedTuple


class Target(NamedTuple):
    """One module, and the tests that have to notice what is changed in it."""

    name: str
    """Label of the row, stable when the file moves: results before and after meet by it."""
    module: str
    """Path within `tb_hookview/`."""
    tests: tuple[str, ...]
    """Glob patterns within `tests/`; "!" before one leaves its files out."""


_IDLE = ("analysis/test_idle*.py",)
_COMPARISON = ("analysis/test_comparison.py",)
_RULES = ("analysis/rules/test_*.py", "!analysis/rules/test_real_*.py")

TARGETS = (
    Target(
        "attribution",
        "analysis/attribution.py",
        ("analysis/test_attribution.py", "analysis/test_work_owners.py"),
    ),
    Target("syncs", "analysis/syncs.py", ("analysis/test_syncs.py",)),
    Target("idle", "analysis/idle.py", _IDLE),
    Target("gaps", "analysis/gaps.py", _IDLE),
    Target("queue", "analysis/queue.py", _IDLE),
    Target("device_time", "analysis/device_time.py", _IDLE),
    Target("phases", "analysis/phases.py", ("analysis/test_steps.py", "analysis/test_threads.py")),
    Target(
        "launches",
        "analysis/launches.py",
        ("analysis/test_work_owners.py", "analysis/test_odd_traces.py"),
    ),
    Target("rules", "analysis/rules/__init__.py", _RULES),
    Target("rules.rule", "analysis/rules/rule.py", _RULES),
    Target("rules.billing", "analysis/rules/billing.py", _RULES),
    Target("rules.context", "analysis/rules/context.py", _RULES),
    Target("rules.waits", "analysis/rules/waits.py", _RULES),
    Target("comparison", "analysis/comparison.py", _COMPARISON),
    Target("comparison_sides", "analysis/comparison_sides.py", _COMPARISON),
    Target("comparison_tables", "analysis/comparison_tables.py", _COMPARISON),
    Target("pairing", "analysis/pairing.py", _COMPARISON),
    Target("merging", "timeline/merging.py", ("timeline/test_merging.py",)),
    Target("times", "trace/times.py", ("trace/test_times.py",)),
)
