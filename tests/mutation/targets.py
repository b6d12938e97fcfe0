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


_IDLE = ("analysis/idle/test_*.py", "analysis/device/test_launch_timing.py")
_CALLS = ("analysis/calls/test_*.py", "analysis/syncs/test_*.py")
_COMPARISON = ("comparison/test_*.py",)
_SIMULATION = (
    "analysis/dependencies/test_*.py",
    "simulation/test_*.py",
    "!simulation/test_gloo.py",
    "!simulation/test_real_traces.py",
)
_SWEEP = "invariants/test_real_traces.py"
_RULES = ("rules/**/test_*.py", "!rules/test_real_*.py")

TARGETS = (
    Target(
        "attribution",
        "analysis/modules/attribution.py",
        ("analysis/modules/test_attribution.py", "analysis/modules/test_device_attribution.py"),
    ),
    Target("syncs", "analysis/syncs/detection.py", ("analysis/syncs/test_*.py",)),
    Target("idle", "analysis/idle/causes.py", _IDLE),
    Target("calls.copies", "analysis/calls/waits.py", _CALLS),
    Target("gaps", "analysis/idle/gaps.py", _IDLE),
    Target("queue", "analysis/calls/division.py", _IDLE),
    Target(
        "device_time",
        "analysis/device/events.py",
        (
            *_IDLE,
            *(
                "analysis/device/test_events.py",
                "analysis/modules/test_device_attribution.py",
                "report/test_odd_traces.py",
            ),
        ),
    ),
    Target(
        "phases",
        "analysis/phases.py",
        (
            "analysis/test_phases.py",
            "analysis/test_steps.py",
            "report/tables/test_threads.py",
            _SWEEP,
        ),
    ),
    Target("steps", "analysis/steps.py", ("analysis/test_steps.py",)),
    Target(
        "backward_spans",
        "analysis/backward_spans.py",
        ("analysis/test_backward_spans.py", "timeline/lanes/test_lane.py", _SWEEP),
    ),
    Target("rules", "rules/diagnosis.py", _RULES),
    Target("rules.rule", "rules/engine/rule.py", _RULES),
    Target("rules.billing", "rules/engine/cost_accounting.py", _RULES),
    Target("rules.by_place", "rules/engine/by_place.py", _RULES),
    Target("rules.context", "rules/engine/context.py", _RULES),
    Target("rules.device_events", "rules/engine/parts.py", _RULES),
    Target("formats", "formats.py", ("test_formats.py",)),
    Target("rules.waits", "rules/engine/syncs.py", _RULES),
    Target("comparison", "comparison/compare.py", _COMPARISON),
    Target("comparison_sides", "comparison/sides.py", _COMPARISON),
    Target("merging", "timeline/merging.py", ("timeline/test_merging.py",)),
    Target("times", "trace/columns/growing.py", ("trace/columns/test_times.py",)),
    Target(
        "graph",
        "analysis/dependencies/graph.py",
        (
            *_SIMULATION,
            *("analysis/dependencies/test_links.py", "timeline/event/test_*.py", _SWEEP),
        ),
    ),
    Target("graph.build", "analysis/dependencies/build.py", _SIMULATION),
    Target("graph.collectives", "analysis/dependencies/points.py", _SIMULATION),
    Target("changes", "simulation/changes.py", _SIMULATION),
    Target("recording_cost", "simulation/recording_cost.py", _SIMULATION),
    Target("critical_path", "simulation/critical_path.py", _SIMULATION),
    Target(
        "path_pieces",
        "simulation/path_rows.py",
        (*_SIMULATION, *("timeline/lanes/test_path_lane.py",)),
    ),
    Target("replay", "simulation/replay.py", _SIMULATION),
    Target("simulator", "simulation/simulator.py", _SIMULATION),
    Target("whatif", "simulation/whatif.py", _SIMULATION),
)
