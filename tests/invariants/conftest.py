"""An option to ask some invariants alone."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--invariant",
        action="append",
        default=[],
        metavar="NAME",
        help="ask tests/invariants this one alone (topic.function); may be repeated",
    )
