"""What rules may ask of syncs: what is around each, before and after it, and what it copied."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import grid
import pytest
from rules.drawn import NAMES

from tb_hookview.analysis.selection import select
from tb_hookview.loading import load
from tb_hookview.rules.catalogue import RULES
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.syncs import Direction, SyncContext


def context_of(folder: Path, picture: str, names: Mapping[str, str] | None = None) -> Context:
    drawn = grid.events(picture, {**NAMES, **(names or {})})
    selection = select(load(grid.write(folder / "trace.json", drawn)), None)
    return Context(selection, RULES)


def syncs_of(folder: Path, picture: str, names: Mapping[str, str] | None = None) -> SyncContext:
    return context_of(folder, picture, names).syncs


NESTED = """
    main notes [outer                                              ]  [other     ]
    main ops    [aten::to                             ]
    main ops      [aten::copy_                   ]
    main calls       [wait corr=3  ] [wait corr=4]       [wait corr=5]   [wait corr=6]
    """


def test_what_is_around_a_sync_innermost_first(tmp_path: Path) -> None:
    """The last one begins in an annotation and outlasts it: nothing is around it."""
    syncs = syncs_of(tmp_path, NESTED)
    around = [[name for name in syncs.names(rows).tolist() if name] for rows in syncs.around]
    chain = ["aten::copy_", "aten::to", "outer"]
    assert around[:2] == [chain, chain]
    assert "aten::to" not in around[2] + around[3]


def test_the_operator_around_a_sync_may_be_the_first_row_of_the_trace(tmp_path: Path) -> None:
    syncs = syncs_of(
        tmp_path,
        """
        main ops   [aten::to               ]
        main calls   [wait corr=3  ]
        """,
    )
    assert syncs.operator.tolist() == [0]
    assert syncs.names(syncs.around[:, 0]).tolist() == ["aten::to"]
    assert syncs.outermost("aten::to").tolist() == [0]
    assert syncs.outermost("aten::t").tolist() == [-1]
    assert syncs.outermost_matching(r"aten::t").tolist() == [-1]
    assert syncs.before(syncs.operator).tolist() == [-1]


def test_syncs_inside_an_operator_at_any_depth(tmp_path: Path) -> None:
    syncs = syncs_of(tmp_path, NESTED)
    assert syncs.inside("aten::to").tolist() == [True, True, False, False]
    assert syncs.inside("aten::copy_", "other").tolist()[:3] == [True, True, False]
    assert syncs.inside("aten::absent").tolist() == [False] * 4
    assert syncs.inside_matching(r"aten::.*").tolist() == [True, True, False, False]
    assert syncs.inside_matching(r"ten::to").tolist() == [False] * 4
    outermost = syncs.outermost_matching(r"aten::.+")
    assert syncs.names(outermost).tolist() == ["aten::to", "aten::to", "", ""]
    assert syncs.outermost("aten::copy_", "aten::to").tolist() == outermost.tolist()


def test_syncs_without_anything_around_them(tmp_path: Path) -> None:
    syncs = syncs_of(tmp_path, "main calls [wait corr=3  ]  [wait corr=4  ]")
    assert syncs.around.shape == (2, 0)
    assert syncs.inside("aten::to").tolist() == [False, False]


SIBLINGS = """
    main  ops   [aten::abs]  [aten::mul]  [aten::item     ]  [aten::neg]  [aten::add]
    main  ops                             [aten::local   ]
    main  calls                             [wait corr=3]
    other ops                       [aten::sin ]                    [aten::cos]
    """


def test_the_operator_before_and_after_in_the_same_operator(tmp_path: Path) -> None:
    syncs = syncs_of(tmp_path, SIBLINGS)
    item = syncs.outermost("aten::item")
    assert syncs.names(syncs.before(item)).tolist() == ["aten::mul"]
    assert syncs.names(syncs.before(item, "aten::mul")).tolist() == ["aten::abs"]
    assert syncs.names(syncs.before(item, "aten::mul", "aten::abs")).tolist() == [""]
    assert syncs.names(syncs.before(syncs.before(item))).tolist() == ["aten::abs"]
    assert syncs.names(syncs.after(item)).tolist() == ["aten::neg"]
    assert syncs.names(syncs.after(item, "aten::neg")).tolist() == ["aten::add"]
    assert syncs.names(syncs.after(item, "aten::neg", "aten::add")).tolist() == [""]
    # The innermost operator has no neighbour in the one around it.
    assert syncs.names(syncs.before(syncs.operator)).tolist() == [""]
    assert syncs.names(syncs.after(syncs.operator)).tolist() == [""]


def test_names_of_rows(tmp_path: Path) -> None:
    syncs = syncs_of(tmp_path, SIBLINGS)
    item = syncs.outermost("aten::item")
    assert syncs.named(item, "aten::item", "aten::mul").tolist() == [True]
    assert syncs.named(item, "aten::mul").tolist() == [False]
    assert syncs.named(item - item - 1, "aten::item").tolist() == [False]


def test_the_last_row_to_start_before_a_sync_on_its_thread(tmp_path: Path) -> None:
    context = context_of(tmp_path, SIBLINGS)
    syncs, rows = context.syncs, context.rows
    last = syncs.last_before(rows.named("aten::abs", "aten::mul", "aten::sin", "aten::neg"))
    assert syncs.names(last).tolist() == ["aten::mul"]
    assert syncs.last_before(rows.named("aten::neg", "aten::sin")).tolist() == [-1]


@pytest.mark.parametrize(
    ("name", "direction"),
    [
        ("Memcpy DtoH (Device -> Pageable)", Direction.TO_HOST),
        ("CopyDeviceToHost", Direction.TO_HOST),
        ("Memcpy HtoD (Pageable -> Device)", Direction.TO_DEVICE),
        ("CopyHostToDevice", Direction.TO_DEVICE),
        ("Memcpy PtoP (Pageable -> Host)", Direction.OTHER),
    ],
)
def test_which_way_a_copy_goes(tmp_path: Path, name: str, direction: Direction) -> None:
    """The copy is known by its call, or by the call before the synchronize in its operator."""
    syncs = syncs_of(
        tmp_path,
        """
        main ops   [aten::to                          ]   [aten::to                  ]
        main calls   [copy corr=2    ] [wait corr=3  ]     [wait corr=4  ]
        gpu  copy          [way corr=2 ]
        """,
        {"way": name},
    )
    assert syncs.direction.tolist() == [direction, Direction.NONE]
    assert syncs.copy.tolist() == [0, -1]


def test_the_copy_of_a_sync_lies_in_its_operator(tmp_path: Path) -> None:
    syncs = syncs_of(
        tmp_path,
        """
        main ops   [aten::copy_    ]  [aten::item     ] [aten::to                     ]
        main calls [copy corr=2]        [wait corr=3]     [launch corr=5] [wait corr=6]
        gpu  copy        [D2pin corr=2]
        gpu  kernel                                            [k corr=5]
        """,
    )
    assert syncs.copy.tolist() == [-1, -1]


PRINTING = """
    main ops   [finite ][ne  ][both   ] [aten::masked_select ]
    main calls                            [wait corr=3     ]
    """


@pytest.mark.parametrize(
    ("finite", "ne", "both", "prints"),
    [
        ("aten::isfinite", "aten::ne", "aten::__and__", True),
        ("aten::isfinite", "aten::ne", "aten::bitwise_and", True),
        ("aten::isfinite", "aten::ne", "aten::mul", False),
        ("aten::isfinite", "aten::eq", "aten::__and__", False),
        ("aten::isnan", "aten::ne", "aten::__and__", False),
    ],
)
def test_formatting_a_tensor_is_known_by_what_it_compares(
    tmp_path: Path, finite: str, ne: str, both: str, prints: bool
) -> None:
    syncs = syncs_of(tmp_path, PRINTING, {"finite": finite, "ne": ne, "both": both})
    assert syncs.prints.tolist() == [prints]


def test_the_dunder_of_and_calls_the_operator(tmp_path: Path) -> None:
    syncs = syncs_of(
        tmp_path,
        """
        main ops   [aten::isfinite] [aten::ne] [aten::__and__      ] [aten::masked_select]
        main ops                                [aten::bitwise_and]
        main calls                                                     [wait corr=3     ]
        """,
    )
    assert syncs.prints.tolist() == [True]


def test_values_that_are_read(tmp_path: Path) -> None:
    syncs = syncs_of(
        tmp_path,
        """
        main ops   [aten::item     ] [aten::_local_scalar_dense] [aten::nonzero   ]
        main calls   [wait corr=3]     [wait corr=4]               [wait corr=5]
        """,
    )
    assert syncs.reads_value.tolist() == [True, True, False]


def test_what_is_around_begins_with_the_operator(tmp_path: Path) -> None:
    """An annotation between the operator and the call is not listed."""
    syncs = syncs_of(
        tmp_path,
        """
        main notes [outer                                   ]
        main ops    [aten::to                     ]
        main notes     [inner                  ]
        main calls       [wait corr=3     ]
        """,
    )
    (around,) = syncs.around
    assert [name for name in syncs.names(around) if name] == ["aten::to", "outer"]


def test_an_operator_of_any_name_may_be_around(tmp_path: Path) -> None:
    """`record_param_comms` is the first string of every trace."""
    syncs = syncs_of(
        tmp_path,
        """
        main ops    [record_param_comms   ]
        main calls    [wait corr=3     ]
        """,
    )
    assert syncs.inside("record_param_comms").tolist() == [True]
    assert syncs.names(syncs.operator).tolist() == ["record_param_comms"]


def test_what_lies_in_the_operator_before_is_not_before(tmp_path: Path) -> None:
    syncs = syncs_of(
        tmp_path,
        """
        main ops    [aten::abs]  [aten::mul         ]  [aten::item        ]
        main ops                    [aten::add  ]
        main calls                                       [wait corr=3  ]
        """,
    )
    before = syncs.before(syncs.operator)
    assert syncs.names(before).tolist() == ["aten::mul"]
    assert syncs.names(syncs.before(before)).tolist() == ["aten::abs"]
    none = syncs.before(syncs.before(before))
    assert none.tolist() == [-1]
    assert syncs.before(none).tolist() == syncs.after(none).tolist() == [-1]
