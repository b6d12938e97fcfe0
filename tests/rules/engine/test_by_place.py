"""Occurrences of rules that explain syncs: one for each module and place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import grid
import numpy as np
import pytest
from rules.drawn import NAMES

from tb_hookview import markers
from tb_hookview.analysis.selection import select
from tb_hookview.loading import load
from tb_hookview.rules.catalogue import RULES
from tb_hookview.rules.engine.by_place import ELSEWHERE, UNKNOWN, by_place
from tb_hookview.rules.engine.context import Context

LABELS = {
    **NAMES,
    "s1": "ProfilerStep#1",
    "s2": "ProfilerStep#2",
    "s3": "ProfilerStep#3",
    "a": markers.encode("forward", "a", "Linear"),
}
STEPS = """
    main  ops    [aten::item ]   [a               ]   [aten::to      ]      [a                ]
    main  ops                     [aten::item    ]      [aten::copy_ ]       [aten::item     ]
    main  calls   [wait     ]       [wait       ]         [wait    ]           [wait       ]
    main  notes [s1         ][s2                                     ][s3                       ]
    """


def context_of(folder: Path, picture: str, steps: list[str] | None = None) -> Context:
    drawn = grid.events(picture, LABELS)
    selection = select(load(grid.write(folder / "trace.json", drawn)), steps)
    return Context(selection, RULES)


def every_sync(context: Context, **fields: Any) -> dict[tuple[str | None, str], Any]:
    found = by_place(context, np.ones(len(context.syncs), bool), **fields)
    paths = {-1: None, **dict(enumerate(context.analysis.modules.path))}
    return {(paths[each.module], each.place): each for each in found}


def test_syncs_by_module_and_outermost_operator(tmp_path: Path) -> None:
    """Of two measured steps; the first step's does not."""
    context = context_of(tmp_path, STEPS)
    found = every_sync(context)
    assert {key: len(each.examples) for key, each in found.items()} == {
        ("a", "aten::item"): 2,
        (None, "aten::to"): 1,
    }
    item = found["a", "aten::item"]
    assert item.evidence == "2 syncs in 2 steps, the host blocked for 13.0 us per step"
    assert item.examples.tolist() == context.syncs.start[[1, 3]].tolist()
    copied = found[None, "aten::to"]
    assert copied.evidence == "1 sync in 2 steps, the host blocked for 5.00 us per step"
    assert (copied.latent, copied.caveats, copied.confidence) == (UNKNOWN, (), None)
    assert copied.gaps.tolist() == []


def test_what_a_rule_adds(tmp_path: Path) -> None:
    context = context_of(tmp_path, STEPS)
    found = every_sync(context, note="a note", caveats=("Careful.",), confidence="low")
    for each in found.values():
        assert each.evidence.endswith("; a note")
        assert (each.caveats, each.confidence) == (("Careful.",), "low")


def test_of_no_sync_nothing(tmp_path: Path) -> None:
    context = context_of(tmp_path, STEPS)
    assert list(by_place(context, np.zeros(len(context.syncs), bool))) == []
    only_first = np.arange(len(context.syncs)) == 0
    assert list(by_place(context, only_first)) == []


@pytest.mark.parametrize(
    ("around", "place"),
    [
        ("[aten::to                 ]", "aten::to"),
        ("[my_function              ]", "my_function"),
        ("[autograd::engine         ]", "autograd::engine"),
        ("", "cudaStreamSynchronize"),
    ],
    ids=["a library's operator", "of no library", "autograd", "none"],
)
def test_the_place_is_named_by_what_asked_for_the_sync(
    tmp_path: Path, around: str, place: str
) -> None:
    """An operator of a library; else the innermost; else the call itself."""
    picture = f"""
        main ops   {around}
        main calls    [wait      ]
        """
    assert list(every_sync(context_of(tmp_path, picture))) == [(None, place)]


def test_an_operator_of_a_library_around_one_of_none_names_the_place(tmp_path: Path) -> None:
    picture = """
        main ops   [aten::to                 ]
        main ops     [my_function          ]
        main calls     [wait      ]
        """
    assert list(every_sync(context_of(tmp_path, picture))) == [(None, "aten::to")]


def test_gaps_of_the_syncs_and_why_it_matters_where_others_are_charged_for_them(
    tmp_path: Path,
) -> None:
    picture = """
        main ops   [aten::item                      ] [aten::mm     ]
        main calls    [copy corr=5]  [wait corr=6  ]  [launch corr=7]
        gpu  copy            [D2P corr=5       ]
        gpu  kernel [k   ]                                  [k corr=7             ]
        """
    context = context_of(tmp_path, picture)
    (found,) = every_sync(context).values()
    assert found.latent.startswith("the device idled 6.00 us after it, all of it in the cost of")
    assert found.gaps.tolist() == np.flatnonzero(context.analysis.gaps.sync == 0).tolist() != []


AT_THE_END = """
    main  notes [s1                               ][s2                               ][s3                               ]
    main  ops   [aten::mm     ] [aten::item      ]     [aten::mm     ] [aten::item  ]     [aten::mm     ] [aten::item  ]
    main  calls [launch corr=1] [wait            ]     [launch corr=2] [wait        ]     [launch corr=3] [wait        ]
    gpu   kernel       [k corr=1                ]             [k corr=2            ]             [k corr=3            ]
    """
"""The device idles for the sync of a step until 4 us of the next one have passed."""


@pytest.mark.parametrize(
    ("steps", "count", "idle"),
    [(["1"], 1, 2), (["2"], 1, 4 + 2), (["3"], 1, 4), (None, 2, (4 + 2 + 4) / 2)],
    ids=["first", "second", "last", "measured"],
)
def test_a_step_is_charged_for_its_idle_time_after_the_sync_of_the_step_before(
    tmp_path: Path, steps: list[str] | None, count: int, idle: float
) -> None:
    context = context_of(tmp_path, AT_THE_END, steps)
    (found,) = every_sync(context).values()
    assert len(found.examples) == count
    assert context.gaps.us_per_step(found.gaps) == idle


def test_a_sync_after_which_the_device_idles_in_another_step_alone(tmp_path: Path) -> None:
    picture = """
        main  notes [s1                            ][s2                               ]
        main  ops   [aten::mm     ] [aten::item   ]     [aten::mm     ]
        main  calls [launch corr=1] [wait         ]     [launch corr=2]
        gpu   kernel       [k corr=1               ]           [k corr=2            ]
        """
    (found,) = every_sync(context_of(tmp_path, picture, ["1"])).values()
    assert (found.gaps.tolist(), found.latent) == ([], ELSEWHERE)
    assert every_sync(context_of(tmp_path, picture, ["2"])) == {}


def test_annotations_around_the_syncs_are_named(tmp_path: Path) -> None:
    """The program's own, outermost and innermost; not those of steps and modules."""
    picture = """
        main  ops    [aten::item ]   [aten::item      ]      [aten::item      ]   [aten::item  ]
        main  calls   [wait     ]       [wait       ]           [wait    ]         [wait     ]
        main  notes [s1         ][s2                                     ][s3                       ]
        main  notes                [outer                                    ]
        main  notes                 [middle              ]
        main  notes                  [inner            ]
        """
    (found,) = every_sync(context_of(tmp_path, picture)).values()
    assert found.evidence.endswith("; under outer (1), outer > inner (1)")


def test_syncs_after_which_nothing_is_launched(tmp_path: Path) -> None:
    picture = """
        main ops   [aten::mm     ] [aten::item                  ]
        main calls  [launch corr=7]    [copy corr=5]  [wait corr=6]
        gpu  copy                              [D2P corr=5       ]
        gpu  kernel            [k corr=7]
        """
    (found,) = every_sync(context_of(tmp_path, picture)).values()
    assert found.latent.startswith("nothing is launched after it")


def test_time_on_several_threads_is_said_to_be_so(tmp_path: Path) -> None:
    picture = """
        main  ops    [aten::item ]
        main  calls   [wait     ]
        main2 ops    [aten::item ]
        main2 calls   [wait     ]
        """
    (found,) = every_sync(context_of(tmp_path, picture)).values()
    assert found.evidence.endswith(" on 2 threads")
