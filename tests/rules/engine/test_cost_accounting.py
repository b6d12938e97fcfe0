"""What a finding costs: gaps of the device, each charged once."""

from __future__ import annotations

from pathlib import Path

import grid
import numpy as np
import pytest
from rules import eager
from rules.diagnosed import diagnosed
from rules.drawn import NAMES, findings, report
from support.loaded import loaded

from tb_hookview import markers
from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.selection import select
from tb_hookview.formats import format_us
from tb_hookview.loading import load
from tb_hookview.rules.catalogue import RULES
from tb_hookview.rules.diagnosis import find_all
from tb_hookview.rules.engine import cost_accounting
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.cost_accounting import starts
from tb_hookview.rules.engine.rule import Occurrence, Rule
from tb_hookview.schema import Finding
from tb_hookview.timeline import Timeline

STEPS = {
    "s1": "ProfilerStep#1",
    "s2": "ProfilerStep#2",
    "fc": markers.encode("forward", "fc", "Linear"),
    "frame": "train.py(12): step",
}
WAIT = """
    main ops   [aten::item                      ] [aten::mm     ]
    main calls    [copy corr=5]  [wait corr=6  ]  [launch corr=7]
    gpu  copy            [D2P corr=5       ]
    gpu  kernel [k   ]                                  [k corr=7             ]
    """
"""64 us, so that shares of the step are exact."""


def charged(context: Context) -> list[Finding]:
    """Findings with their costs, most expensive first, without replayed gains."""
    found = [each.finding for each in cost_accounting.findings(context)]
    return sorted(found, key=lambda finding: -(finding.cost_us_per_step or 0.0))


def test_idle_time_after_a_sync_is_its_cost(tmp_path: Path) -> None:
    data = report(tmp_path, WAIT)
    (finding,) = [each for each in data.findings if each.rule == "sync-scalar-item"]
    assert finding.cost_us_per_step == data.syncs[0].device_idle_us
    assert f"idled {format_us(finding.cost_us_per_step)} because" in finding.evidence


def test_a_sync_that_costs_nothing_has_severity_info(tmp_path: Path) -> None:
    (finding,) = findings(
        tmp_path,
        """
        main ops   [aten::item            ] [aten::mm         ]
        main calls [launch corr=1][wait  ]    [launch corr=2]
        gpu  kernel [k corr=1                                    ][k corr=2]
        """,
    )["sync-scalar-item"]
    assert (finding.severity, finding.cost_us_per_step) == ("info", 0)
    assert "did not idle" in finding.evidence


def test_severity_of_a_trace_without_steps_leaves_out_its_set_up(tmp_path: Path) -> None:
    """A sync of 60 us is much of the 300 us after a second in which the host does other things."""
    begin = 1_001_000
    rows = [
        *eager.operators([("aten::mm", "k")], start=1000),
        *eager.operators([("aten::mm", "k")], start=begin, kernel=40),
        eager.row("cpu_op", "aten::item", begin + 20, 60),
        eager.row("cuda_runtime", "cudaStreamSynchronize", begin + 21, 55),
        *eager.operators([("aten::mm", "k")], start=begin + 100, kernel=180),
    ]
    path = grid.write(tmp_path / "t.json", rows)
    (finding,) = diagnosed(path)["sync-scalar-item"]
    assert (finding.cost_us_per_step or 0) < 0.001 * 1_000_000
    assert finding.severity == "high"
    marked = [eager.row("user_annotation", "ProfilerStep#1", 999, begin), *rows]
    (finding,) = diagnosed(grid.write(path, marked))["sync-scalar-item"]
    assert finding.severity == "low", "in a step all that it takes is its length"


@pytest.mark.parametrize(("ahead_us", "severity"), [(2_000, "low"), (20_000, "high")])
def test_a_long_time_before_the_first_launch_is_set_up(
    tmp_path: Path, ahead_us: int, severity: str
) -> None:
    begin = 1000 + ahead_us
    rows = [
        eager.row("cpu_op", "aten::empty", 1000, 5),
        *eager.operators([("aten::mm", "k")], start=begin, kernel=40),
        eager.row("cpu_op", "aten::item", begin + 20, 60),
        eager.row("cuda_runtime", "cudaStreamSynchronize", begin + 21, 19),
        *eager.operators([("aten::mm", "k")], start=begin + 100, kernel=180),
    ]
    (finding,) = diagnosed(grid.write(tmp_path / "t.json", rows))["sync-scalar-item"]
    assert finding.severity == severity


def test_without_a_device_the_cost_is_unknown(tmp_path: Path) -> None:
    (finding,) = findings(
        tmp_path,
        """
        main ops   [aten::item            ]
        main calls    [wait  ]
        """,
    )["sync-scalar-item"]
    assert (finding.cost_us_per_step, finding.gain_bound_us_per_step) == (None, None)
    assert "does not show" in finding.evidence


def test_the_first_step_is_left_out(tmp_path: Path) -> None:
    picture = """
        main notes [s1                              ][s2                              ]
        main ops     [aten::item                   ] [aten::argmax] [aten::item    ]
        main calls      [wait             ]            [launch corr=7] [wait   ]
        gpu  kernel [k   ]                                     [k corr=7]
        """
    (finding,) = findings(tmp_path, picture, STEPS)["sync-scalar-item"]
    assert (finding.count, "in 1 step," in finding.evidence) == (1, True)


def test_a_step_in_which_nothing_is_done_does_not_count(tmp_path: Path) -> None:
    """What follows the last step of a loop is often recorded as one more."""
    picture = """
        main notes [s1                              ][s2            ]
        main ops     [aten::item                   ]   [aten::empty]
        main calls    [copy corr=5][wait      ]
        gpu  copy         [D2P corr=5    ]
        """
    (finding,) = findings(tmp_path, picture, STEPS)["sync-scalar-item"]
    assert finding.count == 1


def test_a_chosen_step_counts_even_if_it_is_the_first(tmp_path: Path) -> None:
    picture = """
        main notes [s1                              ][s2                              ]
        main ops     [aten::item                   ]    [aten::argmax]
        main calls      [wait             ]
        """
    path = grid.write(tmp_path / "t.json", grid.events(picture, {**NAMES, **STEPS}))
    analysis = load(path)
    whole, first = (select(analysis, steps) for steps in (None, ["1"]))
    assert find_all(whole) == []
    (found,) = find_all(first)
    assert found.finding.rule == "sync-scalar-item"


def test_each_module_has_a_finding_of_its_own(tmp_path: Path) -> None:
    picture = """
        main ops   [fc                    ]
        main ops      [aten::item      ]    [aten::item     ]
        main calls      [wait       ]         [wait      ]
        """
    found = findings(tmp_path, picture, STEPS)["sync-scalar-item"]
    assert sorted(finding.where for finding in found) == [
        "fc, aten::item",
        "not in a module, aten::item",
    ]
    assert {finding.module for finding in found} == {"fc", None}


STACKS = f"    main python [frame{' ' * 60}]"


@pytest.mark.parametrize(
    ("stacks", "shapes", "told"),
    [
        (True, False, ["Python stacks"]),
        (False, True, ["shapes of inputs"]),
        (True, True, ["Python stacks and shapes of inputs"]),
        (False, False, []),
    ],
)
def test_what_of_the_recording_slowed_the_host(
    tmp_path: Path, stacks: bool, shapes: bool, told: list[str]
) -> None:
    drawn = grid.events(f"{STACKS if stacks else ''}{WAIT}", {**NAMES, **STEPS})
    if shapes:
        item = next(event for event in drawn if event["name"] == "aten::item")
        item["args"]["Input Dims"] = [[]]
    (finding,) = diagnosed(grid.write(tmp_path / "t.json", drawn))["sync-scalar-item"]
    assert finding.cost_us_per_step
    assert [each for each in finding.caveats if "slow the host" in each] == [
        f"Recorded with {what}, which slow the host down: without them the device may idle less."
        for what in told
    ]


def test_the_recording_does_not_matter_where_nothing_idles(tmp_path: Path) -> None:
    picture = """
        main python [frame                                     ]
        main ops   [aten::item            ] [aten::mm         ]
        main calls [launch corr=1][wait  ]    [launch corr=2]
        gpu  kernel [k corr=1                                    ][k corr=2]
        """
    (finding,) = findings(tmp_path, picture, STEPS)["sync-scalar-item"]
    assert finding.caveats == []


def context_of(tmp_path: Path, *rules: Rule, picture: str = WAIT) -> Context:
    analysis = load(grid.write(tmp_path / "t.json", grid.events(picture, NAMES)))
    selection = select(analysis, None)
    return Context(selection, rules)


def rule(identifier: str, *occurrences: Occurrence) -> Rule:
    return Rule(
        identifier, "host", "Title", "description", "Fix.", "reference", find=lambda _: occurrences
    )


def test_a_gap_is_charged_to_the_first_rule_that_claims_it(tmp_path: Path) -> None:
    every = np.arange(len(context_of(tmp_path).analysis.gaps))
    assert len(every) > 1
    context = context_of(
        tmp_path,
        rule("first", Occurrence("there", "seen", gaps=every[:1])),
        rule("second", Occurrence("there", "seen", gaps=every)),
        rule("third", Occurrence("there", "seen", gaps=every)),
    )
    cost = {finding.rule: finding.cost_us_per_step for finding in charged(context)}
    gaps = context.analysis.gaps.duration / 1000
    assert cost == {"first": gaps[0], "second": pytest.approx(gaps[1:].sum())}
    evidence = {each.rule: each.evidence for each in charged(context)}
    assert "other findings" not in evidence["first"]
    assert f"and {format_us(gaps[0])} that are in the cost of other" in evidence["second"]


def test_an_occurrence_may_have_a_title_and_a_fix_of_its_own(tmp_path: Path) -> None:
    ours = Occurrence("here", "seen", latent="so")
    own = Occurrence("there", "seen", latent="so", title="Own", fix="Other.")
    found = charged(context_of(tmp_path, rule("both", ours, own)))
    assert {(each.title, each.fix) for each in found} == {("Title", "Fix."), ("Own", "Other.")}


def test_a_gap_that_outlasts_the_step_costs_what_lies_in_it(tmp_path: Path) -> None:
    picture = """
        main notes [ProfilerStep#1              ]
        main calls [launch corr=1]                         [launch corr=7]
        gpu  kernel [k corr=1                ]                   [k corr=7]
        """
    gap = np.array([1])
    late = rule("late", Occurrence("", "seen", gaps=gap))
    (finding,) = charged(context_of(tmp_path, late, picture=picture))
    assert (finding.cost_us_per_step, finding.gain_bound_us_per_step) == (3, 3)


def test_waste_is_gained_as_far_as_the_fix_saves_it(tmp_path: Path) -> None:
    plain = context_of(tmp_path).analysis.device_events
    kernel, copy, last = (np.array([row]) for row in range(3))
    context = context_of(
        tmp_path,
        rule("all", Occurrence("", "seen", wasted=kernel)),
        rule("part", Occurrence("", "seen", wasted=copy, saved=0.5)),
        rule("unknown", Occurrence("", "seen", wasted=last, claims_gain=False)),
        rule("nothing", Occurrence("", "seen")),
    )
    length = (plain.duration / 1000).tolist()
    found = {each.rule: each for each in charged(context)}
    costs = {name: each.cost_us_per_step for name, each in found.items()}
    gains = {name: each.gain_bound_us_per_step for name, each in found.items()}
    assert costs == {"all": length[0], "part": length[1], "unknown": length[2]}
    assert gains == {"all": length[0], "part": length[1] / 2, "unknown": None}
    assert "does not show what the fix gains" in (found["unknown"].gain_unknown or "")


def test_device_events_are_charged_to_the_first_rule_that_calls_them_wasted(tmp_path: Path) -> None:
    rows = np.arange(3)
    context = context_of(
        tmp_path,
        rule("first", Occurrence("", "seen", wasted=rows[:1], wasted_ns=np.array([1000]))),
        rule("second", Occurrence("", "seen", wasted=rows[:2])),
        rule("third", Occurrence("", "seen", wasted=rows[:2])),
    )
    found = {each.rule: each for each in charged(context)}
    time = context.analysis.device_events.duration[:2].sum() / 1000
    costs = {name: each.cost_us_per_step for name, each in found.items()}
    assert costs == {"first": 1.0, "second": time - 1.0}
    assert "1.00 us of that time are in the cost of other findings" in found["second"].evidence


def test_no_gap_and_no_device_event_is_charged_twice(tmp_path: Path) -> None:
    """Random claims against an account of single nanoseconds."""
    drawn = context_of(tmp_path)
    plain = drawn.analysis
    random = np.random.default_rng(4)
    for _ in range(200):
        claims = [_claim(random, plain) for _ in range(random.integers(1, 6))]
        rules = tuple(rule(f"r{i}", match) for i, match in enumerate(claims))
        context = Context(drawn.selection, rules)
        found = {each.rule: each for each in charged(context)}
        expected = _charged_slowly(claims, plain)
        for i, cost in enumerate(expected):
            own = found[f"r{i}"].cost_us_per_step if f"r{i}" in found else 0.0
            assert own == pytest.approx(cost)
        total = plain.gaps.duration.sum() + plain.device_events.duration.sum()
        assert sum(expected) * 1000 <= total + 1e-6


def _claim(random: np.random.Generator, analysis: Analysis) -> Occurrence:
    gaps = np.flatnonzero(random.random(len(analysis.gaps)) < 0.5)
    work = np.flatnonzero(random.random(len(analysis.device_events)) < 0.6)
    part = (
        random.integers(0, analysis.device_events.duration[work] + 1)
        if random.random() < 0.5
        else None
    )
    return Occurrence("there", "seen", gaps=gaps, wasted=work, wasted_ns=part)


def _charged_slowly(claims: list[Occurrence], analysis: Analysis) -> list[float]:
    """Cost of each claim, microseconds: what is left of all that it asks for, one by one."""
    gap_left = dict(enumerate(analysis.gaps.duration.tolist()))
    work_left = dict(enumerate(analysis.device_events.duration.tolist()))
    costs = []
    for claim in claims:
        cost = sum(gap_left.pop(gap, 0) for gap in claim.gaps.tolist())
        for place, row in enumerate(claim.wasted.tolist()):
            asked = work_left[row] if claim.wasted_ns is None else int(claim.wasted_ns[place])
            taken = min(asked, work_left[row])
            work_left[row] -= taken
            cost += taken
        costs.append(cost / 1000)
    return costs


def test_advice_stands_under_the_finding_it_belongs_to(tmp_path: Path) -> None:
    invisible = Rule("unseen", "host", "Unseen", "not in a trace", "Look elsewhere.", "reference")
    visible = Rule(
        *("seen", "host", "Seen", "description", "Fix.", "reference"),
        find=lambda _: [Occurrence("", "seen", wasted=np.arange(1))],
        advice=("unseen",),
    )
    (finding,) = charged(context_of(tmp_path, visible, invisible))
    assert [(advice.id, advice.fix) for advice in finding.advice] == [("unseen", "Look elsewhere.")]


@pytest.mark.parametrize(
    ("cost", "severity"),
    [(0.0, "info"), (0.04, "low"), (1.0, "medium"), (2.0, "medium"), (5.0, "high"), (6.0, "high")],
)
def test_severity_is_the_share_of_the_step(tmp_path: Path, cost: float, severity: str) -> None:
    step = context_of(tmp_path).steps.duration_us
    part = np.array([round(cost * step * 10)])
    match = Occurrence("", "seen", wasted=np.array([1]), wasted_ns=part, latent="it matters")
    (finding,) = charged(context_of(tmp_path, rule("one", match)))
    assert finding.severity == severity


def test_rules_are_in_order_of_priority() -> None:
    """Except rules that explain their syncs best, and rules that take what is left."""
    order = ("sync", "data-loading", "data-movement", "memory", "host")
    apart = (
        *("debug-apis-on", "allocator-malloc-free-in-step", "sync-in-operator"),
        *("step-outlier", "device-layout-copies"),
    )
    visible = [each for each in RULES if each.visible]
    rules = [each for each in visible if each.family in order and each.id not in apart]
    assert rules == sorted(rules, key=lambda each: order.index(each.family))


def test_an_example_is_what_begins_there(tmp_path: Path) -> None:
    data = report(tmp_path, WAIT)
    (finding,) = [each for each in data.findings if each.rule == "sync-scalar-item"]
    assert finding.examples == [data.syncs[0].start_us]
    (length,) = finding.examples_us
    assert length is not None
    assert length >= data.syncs[0].duration_us > 1
    assert finding.examples_event_id == [data.syncs[0].event_id]


@pytest.mark.parametrize("trace", ["hta_sampled_rank-0"])
def test_lengths_of_examples_as_a_walk_over_all_tables_finds_them(trace: str) -> None:
    data = loaded(trace)
    selection = select(data, None)
    context = Context(selection, RULES)
    ends: dict[int, int] = {}
    tables = (context.call_tree, data.device_events, context.syncs, data.gaps)
    spans = [pair for table in tables for pair in zip(table.start, table.end, strict=True)]
    for start, end in [*spans, *data.steps.window]:
        ends[int(start)] = max(ends.get(int(start), 0), int(end))
    checked, gaps, steps = 0, data.gaps, set(data.steps.window[:, 0].tolist())
    for found in cost_accounting.findings(context):
        mine = found.occurrence.gaps[: 0 if found.occurrence.of_steps else None]
        own = [gap for gap in mine if gaps.start[gap] in steps]
        idle = {int(gaps.start[gap]): int(gaps.end[gap]) for gap in own}
        expected = [
            ((ends | idle)[start] - start) / 1000 if start in ends else None
            for start in starts(found.occurrence, context)
        ]
        assert found.finding.examples_us == expected
        _assert_rows(data, starts(found.occurrence, context), found.finding)
        checked += len(expected)
    assert checked > 20


def _assert_rows(data: Analysis, moments: list[int], finding: Finding) -> None:
    """The rows of the examples are on the timeline and lie in their spans: a sync has its call."""
    events, timeline = data.trace.events, Timeline(data)
    examples = zip(moments, finding.examples_us, finding.examples_event_id, strict=True)
    for start, length, row in examples:
        if row is not None:
            assert length is not None
            assert start <= events.start[row] <= events.end[row] <= start + round(length * 1000)
            timeline.position_of(row)
