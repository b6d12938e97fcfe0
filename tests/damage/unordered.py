"""What of a report does not depend on the order of events in the file."""

from __future__ import annotations

from typing import Any

import msgspec

from tb_hookview.report.result import Report

TABLES = ("kernels", "operators", "nodes", "threads", "streams", "devices", "modules")
"""Rows of equal rank may come in any order."""


def unordered(report: Report) -> dict[str, Any]:
    """A report without its file and ids, and with the rows of each table in one order."""
    data: dict[str, Any] = _without_ids(msgspec.to_builtins(report.data))
    for table in TABLES:
        data[table].sort(key=lambda row: msgspec.json.encode(row, order="sorted"))
    del data["trace"]["path"], data["trace"]["format"]
    return data


def _without_ids(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_ids(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {
        key: _without_ids(each)
        for key, each in value.items()
        if key != "id" and not key.endswith(("_id", "_ids"))
    }
