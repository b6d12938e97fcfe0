"""How many processes may work at once."""

from __future__ import annotations

import multiprocessing
import os
import sys

import pytest

from tb_hookview.errors import UsageError
from tb_hookview.workers import limits
from tb_hookview.workers.limits import VARIABLE, cores, processes
from tb_hookview.workers.pool import Workers


@pytest.fixture(autouse=True)
def many_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "cores", lambda: 8)
    monkeypatch.delenv(VARIABLE, raising=False)


def test_as_many_as_cores_unless_the_variable_has_fewer(monkeypatch: pytest.MonkeyPatch) -> None:
    found = [processes()]
    for text in ("", "1", " 3 ", "8", "99"):
        monkeypatch.setenv(VARIABLE, text)
        found.append(processes())
    assert found == [8, 8, 1, 3, 8, 8]
    assert cores() >= 1


@pytest.mark.parametrize("text", ["0", "-1", "two", "1.5", "²"])
def test_what_is_not_a_number_is_an_error_that_names_it(
    monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setenv(VARIABLE, text)
    with pytest.raises(UsageError, match=VARIABLE):
        processes()


def test_one_in_a_frozen_program(monkeypatch: pytest.MonkeyPatch) -> None:
    """There `sys.executable` is that program, and not a Python."""
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    assert processes() == 1


def test_one_inside_a_pool() -> None:
    with multiprocessing.get_context("fork").Pool(1) as pool:
        assert pool.apply(processes) == 1


def test_one_inside_our_own_workers() -> None:
    assert Workers(1).submit(os.getenv, VARIABLE).result(60) == "1"
    assert Workers(1).submit(processes).result(60) == 1
