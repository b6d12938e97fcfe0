"""Pictures of numbers that link rows to one another, and of some that do not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.faults import cuda_sync, faults


def conflicts(folder: Path, picture: str) -> int:
    found = faults(folder, picture).get("external-id")
    return found.count if found else 0


def test_a_call_that_names_an_operator_around_it_agrees(tmp_path: Path) -> None:
    picture = """
        main ops   [aten::linear ext=1                              ]
        main ops    [aten::mm ext=2                                ]
        main calls   [launch ext=2 corr=9]  [launch ext=1 corr=10]
        """
    assert conflicts(tmp_path, picture) == 0


def test_a_call_that_names_another_operator_is_counted(tmp_path: Path) -> None:
    picture = """
        main ops   [aten::mm ext=1          ] [aten::relu ext=2          ]
        main calls   [launch ext=1 corr=9]      [launch ext=1 corr=10]
        """
    assert conflicts(tmp_path, picture) == 1


def test_a_file_whose_calls_carry_their_own_correlation_is_not_checked(tmp_path: Path) -> None:
    picture = """
        main ops   [aten::mm ext=9          ] [aten::relu ext=10          ]
        main calls   [launch ext=10 corr=10]    [launch ext=9 corr=9 ]
        """
    assert conflicts(tmp_path, picture) == 0


def test_nodes_of_other_names_with_one_number(tmp_path: Path) -> None:
    picture = """
        main ops [mul seq=1 ][add seq=2 ]
        back ops                         [nodeA seq=2 F=1][nodeB seq=2 F=1][nodeB seq=1 F=1]
        """
    found = faults(tmp_path, picture)["shared-number"]
    assert (found.count, found.share) == (1, pytest.approx(1 / 3))


@pytest.mark.parametrize(
    "nodes",
    [
        "[nodeA seq=2 F=1][nodeA seq=2 F=1]",
        "[nodeA seq=2 F=1][nodeB seq=2 F=2]",
        "[nodeA seq=2 F=1][nodeB seq=3 F=1]",
    ],
    ids=["one name", "two threads", "two numbers"],
)
def test_nodes_that_are_told_apart(tmp_path: Path, nodes: str) -> None:
    assert "shared-number" not in faults(tmp_path, f"back ops {nodes}")


OPERATOR = "main ops [aten::mm   ]"
WHOLE = {
    "Collective name": "allreduce",
    "dtype": "Float",
    "In msg nelems": 4,
    "Out msg nelems": 4,
    "Group size": 2,
}


def collective(**args: Any) -> dict[str, Any]:
    place = {"ph": "X", "cat": "cpu_op", "pid": 77, "tid": "main", "ts": 1, "dur": 1}
    return {**place, "name": "record_param_comms", "args": args}


@pytest.mark.parametrize("key", WHOLE)
def test_a_collective_that_lacks_a_size(tmp_path: Path, key: str) -> None:
    lacking = {name: value for name, value in WHOLE.items() if name != key}
    found = faults(tmp_path, OPERATOR, collective(**WHOLE), collective(**lacking), collective())
    assert found["silent-collective"].count == 2


def test_collectives_with_all_that_they_need(tmp_path: Path) -> None:
    assert "silent-collective" not in faults(tmp_path, OPERATOR, collective(**WHOLE))
    assert "silent-collective" not in faults(tmp_path, OPERATOR)


RECORD = "main calls [cudaEventRecord corr=5]"
KEY = "wait_on_cuda_event_record_corr_id"


@pytest.mark.parametrize("kind", ["Event Sync", "Stream Wait Event"])
@pytest.mark.parametrize(
    ("start", "args", "code"),
    [
        (50, {KEY: 5}, None),
        (0, {KEY: 5}, "later-record"),
        (50, {KEY: 9}, None),
        (50, {KEY: -1}, None),
        (50, {}, None),
    ],
)
def test_the_recording_of_an_event_that_is_waited_for(
    tmp_path: Path, kind: str, start: int, args: dict[str, int], code: str | None
) -> None:
    found = faults(tmp_path, RECORD, cuda_sync(kind, start, **args))
    assert list(found) == ([code] if code else [])


def test_other_syncs_wait_for_no_event(tmp_path: Path) -> None:
    assert faults(tmp_path, RECORD, cuda_sync("Stream Sync", 50, stream=7)) == {}


@pytest.mark.parametrize(("end", "count"), [("  ]", 0), ("     ]", 1)])
def test_a_call_that_ends_after_its_operator_has_another_clock(
    tmp_path: Path, end: str, count: int
) -> None:
    """Two microseconds may be what whole microseconds cut off."""
    picture = f"""
        main ops   [aten::linear                            ]
        main ops    [aten::empty      ]
        main calls     [launch corr=9 {end}
        gpu  kernel                       [k corr=9 ]
        """
    found = faults(tmp_path, picture).get("outlasting-call")
    assert (found.count if found else 0) == count
    assert found is None or (found.time, found.share) == (5000, 1.0)
