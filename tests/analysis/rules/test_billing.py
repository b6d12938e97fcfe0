"""What a finding costs: gaps of the device, each billed once."""

from __future__ import annotations

from pathlib import Path

import grid
import numpy as np
import pytest
from analysis.rules.drawn import NAMES, findings, report

from tb_hookview import markers
from tb_hookview.analysis import build_report, load
from tb_hookview.analysis.report import step_rows
from tb_hookview.analysis.rules import RULES, billing
from tb_hookview.analysis.rules.context import Context
from tb_hookview.analysis.rules.rule import Match, Rule
from tb_hookview.analysis.selection import select

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
    gpu  kernel [k   ]                                  [k corr=7]
    """


def test_the_device_idle_behind_a_wait_is_its_cost(tmp_path: Path) -> None:
    data = report(tmp_path, WAIT)
    (finding,) = [each for each in data.findings if each.rule == "sync-scalar-item"]
    assert finding.cost_us_per_step == data.syncs[0].device_idle_us
    assert f"idled {finding.cost_us_per_step:.1f} us a step" in finding.evidence


def test_a_wait_that_costs_nothing_is_told_as_information(tmp_path: Path) -> None:
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


def test_without_a_device_nothing_can_be_said_of_cost(tmp_path: Path) -> None:
    (finding,) = findings(
        tmp_path,
        """
        main ops   [aten::item            ]
        main calls    [wait  ]
        """,
    )["sync-scalar-item"]
    assert (finding.cost_us_per_step, finding.gain_us_per_step) == (None, None)
    assert "does not tell" in finding.evidence


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
    assert build_report(load(path)).data.findings == []
    (finding,) = build_report(load(path), ["1"]).data.findings
    assert finding.rule == "sync-scalar-item"


def test_each_module_has_a_finding_of_its_own(tmp_path: Path) -> None:
    picture = """
        main ops   [fc                    ]
        main ops      [aten::item      ]    [aten::item     ]
        main calls      [wait       ]         [wait      ]
        """
    found = findings(tmp_path, picture, STEPS)["sync-scalar-item"]
    assert sorted(finding.where for finding in found) == [
        "fc, aten::item",
        "outside every module, aten::item",
    ]
    assert {finding.module for finding in found} == {"fc", None}


def test_stacks_are_told_of(tmp_path: Path) -> None:
    (finding,) = findings(tmp_path, f"    main python [frame{' ' * 60}]{WAIT}", STEPS)[
        "sync-scalar-item"
    ]
    assert any("stacks" in caveat for caveat in finding.caveats)


def context_of(tmp_path: Path, *rules: Rule) -> Context:
    analysis = load(grid.write(tmp_path / "t.json", grid.events(WAIT, NAMES)))
    selection = select(analysis, None)
    return Context(selection, step_rows(selection), rules)


def rule(identifier: str, *matches: Match) -> Rule:
    return Rule(
        identifier, "host", "Title", "matches", "Fix.", "reference", match=lambda _: matches
    )


def test_a_gap_is_billed_to_the_first_rule_that_claims_it(tmp_path: Path) -> None:
    every = np.arange(len(context_of(tmp_path).analysis.gaps))
    assert len(every) > 1
    context = context_of(
        tmp_path,
        rule("first", Match("there", "seen", gaps=every[:1])),
        rule("second", Match("there", "seen", gaps=every)),
        rule("third", Match("there", "seen", gaps=every)),
    )
    cost = {finding.rule: finding.cost_us_per_step for finding in billing.find(context)}
    gaps = context.analysis.gaps.duration / 1000
    assert cost == {"first": gaps[0], "second": pytest.approx(gaps[1:].sum())}


def test_waste_is_gained_as_far_as_the_remedy_saves_it(tmp_path: Path) -> None:
    context = context_of(
        tmp_path,
        rule("all", Match("", "seen", wasted_us=3.0)),
        rule("part", Match("", "seen", wasted_us=2.0, saved_us=0.5)),
        rule("unknown", Match("", "seen", wasted_us=1.0, claims_gain=False)),
        rule("nothing", Match("", "seen")),
    )
    found = billing.find(context)
    costs = [(each.rule, each.cost_us_per_step, each.gain_us_per_step) for each in found]
    assert costs == [("all", 3.0, 3.0), ("part", 2.0, 0.5), ("unknown", 1.0, None)]
    assert "cannot be told" in found[2].evidence


def test_advice_stands_under_the_finding_it_belongs_to(tmp_path: Path) -> None:
    invisible = Rule("unseen", "host", "Unseen", "not in a trace", "Look elsewhere.", "reference")
    visible = Rule(
        *("seen", "host", "Seen", "matches", "Fix.", "reference"),
        match=lambda _: [Match("", "seen", wasted_us=1.0)],
        advice=("unseen",),
    )
    (finding,) = billing.find(context_of(tmp_path, visible, invisible))
    assert [(advice.id, advice.fix) for advice in finding.advice] == [("unseen", "Look elsewhere.")]


@pytest.mark.parametrize(
    ("cost", "severity"), [(0.04, "low"), (2.0, "medium"), (6.0, "high"), (0.0, "info")]
)
def test_severity_is_the_share_of_the_step(tmp_path: Path, cost: float, severity: str) -> None:
    step = context_of(tmp_path).step_us
    match = Match("", "seen", wasted_us=cost / 100 * step, latent="it matters")
    (finding,) = billing.find(context_of(tmp_path, rule("one", match)))
    assert finding.severity == severity


def test_rules_are_in_order_of_priority() -> None:
    """But for what explains its waits better than all, and for what takes what is left."""
    order = ("sync", "data-loading", "data-movement", "memory", "host")
    apart = ("debug-apis-on", "sync-in-operator", "step-outlier")
    rules = [each for each in RULES if each.family in order and each.id not in apart]
    assert rules == sorted(rules, key=lambda each: order.index(each.family))
