"""A dry run as SARIF 2.1.0, which reviews show on its lines."""

from __future__ import annotations

import json
from pathlib import PurePath
from typing import Any
from urllib.parse import quote

from tb_hookview.dryrun.outlets.text import Place, headline, per_step, places, sentence, where
from tb_hookview.schema.host import DryRunReport, DrySync

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def sarif(report: DryRunReport, version: str) -> str:
    """Return a log with one run.

    Args:
        report: what the dry run found.
        version: of this program.
    """
    found = places(report)
    rules = {place.sync.cause: place.sync for place in found}
    notes = [*report.notes, *(f"Not known: {each}" for each in report.unknown)]
    run: dict[str, Any] = {
        "tool": {
            "driver": {
                "name": "hookview dry-run",
                "semanticVersion": version,
                "rules": [_rule(sync) for sync in rules.values()],
            }
        },
        "invocations": [
            {
                "executionSuccessful": True,
                "toolExecutionNotifications": [
                    {"level": "note", "message": {"text": text}}
                    for text in (headline(report), *notes)
                ],
            }
        ],
        "columnKind": "utf16CodeUnits",
        "results": [_result(place, list(rules), report) for place in found],
    }
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1)


def _rule(sync: DrySync) -> dict[str, Any]:
    return {
        "id": sync.cause,
        "shortDescription": {"text": sync.title},
        "help": {"text": sync.fix},
        "defaultConfiguration": {"level": "warning"},
    }


def _result(place: Place, rules: list[str], report: DryRunReport) -> dict[str, Any]:
    sync = place.sync
    text = f"{per_step(place.total, report)} per step: {sentence(sync)}; {where(sync)}. {sync.fix}"
    result: dict[str, Any] = {
        "ruleId": sync.cause,
        "ruleIndex": rules.index(sync.cause),
        "level": "warning" if sync.certain else "note",
        "message": {"text": text},
        "locations": [_location(sync.line, sync)] if sync.line else [],
    }
    if sync.forward_line is not None:
        result["relatedLocations"] = [_location(sync.forward_line, None, "the forward operator")]
    if sync.allowed is not None:
        result["suppressions"] = [{"kind": "external", "justification": sync.allowed}]
    return result


def _location(line: str, sync: DrySync | None, message: str = "") -> dict[str, Any]:
    file, _, number = line.rpartition(":")
    region: dict[str, Any] = {"startLine": int(number)}
    if sync is not None:
        if sync.last_line is not None:
            region["endLine"] = sync.last_line
        if sync.code:
            region["snippet"] = {"text": sync.code}
    absolute = PurePath(file).is_absolute()
    uri = PurePath(file).as_uri() if absolute else quote(PurePath(file).as_posix())
    location: dict[str, Any] = {
        "physicalLocation": {"artifactLocation": {"uri": uri}, "region": region}
    }
    if message:
        location["message"] = {"text": message}
    return location
