"""Hold what is installed for development against known advisories, where the registries tell them.

    python .ci/audit.py [--index URL] [--frontend FOLDER]

One line an advisory, and status 1 if there is any. A registry that cannot be reached, or that tells
none (a mirror often serves files only), is said to be skipped.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import distributions
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import quote
from urllib.request import urlopen

from pip._internal.models.index import PyPI

ACCEPTED: dict[str, str] = {}
"""Ids of advisories that do not concern us, each with the reason."""
OWN = "tb-hookview"
PROBE = ("flask", "3.0.0")
"""A package that every full registry tells of."""
SECONDS = 10.0
"""How long a registry may take for one answer."""


class SilentError(Exception):
    """The registry does not tell."""


def asked(index: str, package: tuple[str, str]) -> list[Any] | None:
    """What the index tells of a version of a package; None where it does not know it."""
    parts = [quote(part, safe="") for part in package]
    try:
        with urlopen("/".join([index, "pypi", *parts, "json"]), timeout=SECONDS) as answer:
            told: list[Any] | None = json.load(answer).get("vulnerabilities")
            return told
    except HTTPError as error:
        if error.code == 404:
            return None
        raise SilentError(f"status {error.code}") from error
    except (OSError, ValueError) as error:
        raise SilentError(str(error)) from error


def python_advisories(index: str) -> Iterator[str]:
    """Advisories about the packages of this environment."""
    if asked(index, PROBE) is None:
        raise SilentError("it serves files alone")
    installed = sorted(
        {
            (found.metadata["Name"], found.version.partition("+")[0])
            for found in distributions()
            if found.metadata["Name"] not in (None, OWN)
        }
    )
    with ThreadPoolExecutor(8) as pool:
        told = list(pool.map(lambda package: asked(index, package), installed))
    for (name, version), advisories in zip(installed, told, strict=True):
        if advisories is None:
            print(f"audit: {name} {version} is not known to the registry")
        for advisory in advisories or []:
            if not advisory.get("withdrawn"):
                fixed = ", ".join(advisory.get("fixed_in") or []) or "no release"
                yield f"{advisory['id']} {name} {version}: fixed in {fixed}"


def page_advisories(frontend: Path) -> Iterator[str]:
    """Advisories about the packages of the page."""
    command = ["npm", "audit", "--json", "--fetch-retries=0", f"--fetch-timeout={SECONDS:.0f}000"]
    try:
        done = subprocess.run(
            command, cwd=frontend, capture_output=True, text=True, timeout=6 * SECONDS, check=False
        )
        found = json.loads(done.stdout)
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        raise SilentError(str(error)) from error
    if "vulnerabilities" not in found:
        raise SilentError(str(found.get("message", "no answer"))[:100])
    for name, package in found["vulnerabilities"].items():
        for advisory in package["via"]:
            if isinstance(advisory, dict):  # else the name of the package that has it
                place = str(advisory.get("url", "")).rpartition("/")[2]
                yield f"{place} {name} {advisory['range']}: {advisory['severity']}"


def main(arguments: list[str] | None = None) -> int:
    """Print what is found; 1 if anything is."""
    options = argparse.ArgumentParser(description="known advisories about what is installed")
    options.add_argument("--index", default=PyPI.url.rstrip("/"))
    options.add_argument("--frontend", type=Path, default=Path("frontend"))
    chosen = options.parse_args(arguments)
    count = 0
    for what, advisories in (
        ("Python packages", python_advisories(chosen.index)),
        ("packages of the page", page_advisories(chosen.frontend)),
    ):
        try:
            found = [line for line in advisories if line.partition(" ")[0] not in ACCEPTED]
        except SilentError as reason:
            print(f"audit: {what} skipped, their registry tells no advisories ({reason})")
            continue
        for line in found:
            print(f"audit: {line}")
        print(f"audit: {what}: {len(found)} known advisories")
        count += len(found)
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
