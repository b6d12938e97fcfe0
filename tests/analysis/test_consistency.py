from __future__ import annotations

from pathlib import Path

import grid
import pytest
import shared_traces

from tb_hookview.analysis.consistency import external_id_conflicts
from tb_hookview.loading import load


def conflicts(folder: Path, picture: str) -> int:
    made = load(grid.write(folder / "t.json", grid.events(picture)))
    return external_id_conflicts(made.host)


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


@pytest.mark.parametrize("path", shared_traces.all_traces(), ids=lambda path: path.name)
def test_time_and_external_id_agree_on_real_traces(path: Path) -> None:
    made = load(path)
    assert external_id_conflicts(made.host) == 0
