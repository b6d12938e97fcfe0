"""Checks the recorder on several versions of torch; brings compatibility.md up to date.

    python tests/versions/run.py [--versions 2.6 2.15] [--python PYTHON] [--slow]

Each version gets a virtual environment of its own (5 GB), one at a time, which is removed again. In
it `zoo.py` records and analyzes small trainings, and the recorder's tests and those of this folder
run. The page keeps what it says of other versions. Options of pip are taken from its environment
variables.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from collections import Counter
from collections.abc import Iterable
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
VERSIONS = ("2.6", "2.7", "2.8", "2.9", "2.10", "2.11", "2.12", "2.13", "2.14", "2.15")
TESTS = ("tests/recorder", "tests/versions")
NEEDED = re.compile(
    r'^  "((?:click|flask|isal|msgspec|perfetto|platformdirs|rich|werkzeug)\b.*)",$'
)
"""Dependencies of ours that the tests load; the others are of the TensorBoard plugin."""
FREE_BYTES = 12 << 30


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--versions", nargs="+", default=VERSIONS)
    parser.add_argument("--python", type=Path, help="check the torch of this interpreter instead")
    parser.add_argument("--slow", action="store_true", help="also the tests marked slow")
    parser.add_argument(
        "--page", type=Path, default=ROOT / "benchmarks" / "results" / "compatibility.md"
    )
    chosen = parser.parse_args()
    for version in [torch_of(chosen.python)] if chosen.python else chosen.versions:
        result = check(version, chosen.python, slow=chosen.slow)
        chosen.page.write_text(updated(chosen.page.read_text(), result))


def torch_of(python: Path) -> str:
    """Return major and minor version of the torch that an interpreter has."""
    code = "import torch; print(*torch.__version__.split('.')[:2], sep='.')"
    return subprocess.check_output([python, "-c", code], text=True).strip()


def check(version: str, python: Path | None, *, slow: bool) -> dict[str, Any]:
    """Return what a version of torch does.

    Args:
        version: major and minor.
        python: an interpreter that has it; without one, an environment is made and removed again.
        slow: also run the tests marked slow.
    """
    began = time.monotonic()
    if shutil.disk_usage(tempfile.gettempdir()).free < FREE_BYTES:
        raise SystemExit("error: less than 12 GB of disk are free for an environment of torch")
    with tempfile.TemporaryDirectory(prefix=f"torch-{version}-") as folder:
        if python is None:
            say(version, "installing")
            python = install(version, Path(folder, "venv"))
        say(version, "recording the zoo")
        zoo = run_zoo(python, Path(folder))
        say(version, "running the recorder's tests")
        tests = run_tests(python, Path(folder), slow=slow)
    say(version, f"{one_line(tests)}; {time.monotonic() - began:.0f} s in all")
    return {**zoo, "tests": tests, "slow": slow, "date": f"{datetime.now(timezone.utc):%Y-%m-%d}"}


def say(version: str, text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} torch {version}: {text}", flush=True)  # noqa: T201


def install(version: str, folder: Path) -> Path:
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    python = folder / "bin" / "python"
    lines = (ROOT / "pyproject.toml").read_text().splitlines()
    ours = [match[1] for line in lines if (match := NEEDED.match(line))]
    pip: list[str | Path] = [python, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    wanted = [f"torch=={version}.*", "numpy>=1.26", "pytest", "hypothesis", *ours]
    subprocess.run([*pip, "install", *wanted], check=True)
    return python


def run_zoo(python: Path, folder: Path) -> dict[str, Any]:
    found = folder / "zoo.json"
    done = in_checkout([python, "tests/versions/zoo.py", found])
    if done.returncode:
        raise SystemExit(f"error: zoo.py failed\n{done.stderr}")
    answer: dict[str, Any] = json.loads(found.read_text())
    return answer


def run_tests(python: Path, folder: Path, *, slow: bool) -> dict[str, Any]:
    """Return how many tests had which outcome, and the names or reasons of those that matter."""
    report = folder / "junit.xml"
    options = ["-q", "-p", "no:cacheprovider", f"--junitxml={report}"]
    options += [] if slow else ["-m", "not slow"]
    done = in_checkout([python, "-m", "pytest", *options, *TESTS])
    if not report.exists():
        raise SystemExit(f"error: the tests did not run\n{done.stdout}\n{done.stderr}")
    return outcomes(ElementTree.parse(report).iter("testcase"))


def outcomes(cases: Iterable[ElementTree.Element]) -> dict[str, Any]:
    passed, failed, skipped = 0, dict[str, str](), Counter[str]()
    for case in cases:
        kinds = {child.tag: message_of(child) for child in case}
        if "failure" in kinds or "error" in kinds:
            # A test whose clean-up fails too is there twice.
            name = f"{case.get('classname', '')}::{case.get('name', '')}"
            failed.setdefault(name, first_line(kinds.get("failure", kinds.get("error", ""))))
        elif "skipped" in kinds:
            skipped[kinds["skipped"]] += 1
        else:
            passed += 1
    return {"passed": passed, "failed": failed, "skipped": dict(skipped)}


def message_of(outcome: ElementTree.Element) -> str:
    message = outcome.get("message", "")
    # A whole file that is skipped has its reason in a tuple in the text.
    found = re.search(r"Skipped: (.*?)['\"]\)", outcome.text or "")
    if message == "collection skipped" and found:
        return found[1]
    return message.removeprefix("Skipped: ")


def first_line(message: str) -> str:
    return message.strip().partition("\n")[0][:100]


def in_checkout(command: list[str | Path]) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "HOOKVIEW_CACHE": "off"}
    return subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )


def one_line(tests: dict[str, Any]) -> str:
    skipped = sum(tests["skipped"].values())
    return f"{tests['passed']} passed, {len(tests['failed'])} failed, {skipped} skipped"


def updated(page: str, *results: dict[str, Any]) -> str:
    """Return the page with results in the place of what it says of the same versions."""
    parts = {**known(page), **{numbers(result["torch"]): part(result) for result in results}}
    lines = [line for version, lines in sorted(parts.items()) for line in ("", *lines[1:])]
    rows = [lines[0] for _, lines in sorted(parts.items())]
    return HEAD.format(machine=machine()) + "\n".join([*rows, TAIL, *lines]) + "\n"


def known(page: str) -> dict[tuple[int, int], list[str]]:
    """Return the row and the section of each version."""
    rows = {numbers(line[2:]): line for line in page.splitlines() if re.match(r"\| \d", line)}
    sections = {numbers(text): text.rstrip().splitlines() for text in page.split("\n### ")[1:]}
    return {
        version: [line, f"### {sections[version][0]}", *sections[version][1:]]
        for version, line in rows.items()
    }


def numbers(version: str) -> tuple[int, int]:
    """Return major and minor version."""
    major, minor = version.split(".")[:2]
    return int(major), int(minor)


def part(result: dict[str, Any]) -> list[str]:
    """Return the row and the section of a version."""
    return [row(result), f"### {release(result)}", "", *(detail(result) or ["Nothing."])]


def release(result: dict[str, Any]) -> str:
    version: str = result["torch"]
    return version.partition("+")[0]


def row(result: dict[str, Any]) -> str:
    shares = [share for share in result["cases"].values() if isinstance(share, float)]
    tests = result["tests"]
    cells = (
        release(result),
        result["python"],
        f"{len(shares)} of {len(result['cases'])}",
        f"{100 * min(shares):.1f}%" if shares else "-",
        tests["passed"],
        len(tests["failed"]),
        sum(tests["skipped"].values()),
        result["date"],
    )
    return f"| {' | '.join(map(str, cells))} |"


def detail(result: dict[str, Any]) -> list[str]:
    """Return one line for each case, test or reason that is not as it should be."""
    lines = [
        f'- case "{label}": {share if isinstance(share, str) else f"{100 * share:.1f}%"}'
        for label, share in result["cases"].items()
        if isinstance(share, str) or share < 0.9995
    ]
    lines += [f"- failed: `{name}`: {why}" for name, why in result["tests"]["failed"].items()]
    lines += [
        f"- skipped ({count}): {reason}" for reason, count in result["tests"]["skipped"].items()
    ]
    return lines


def machine() -> str:
    return f"{os.cpu_count()} cores, {platform.machine()}, {platform.system()}, no GPU"


HEAD = """# Versions of torch

`make versions` checks the recorder on each version of torch below, in a virtual environment of its
own, and writes this page. It needs 12 GB of disk and some minutes per version. Machine: {machine}.

The cases are small trainings that are recorded and analyzed (`tests/versions/zoo.py`): eager,
checkpoints, autocast, DistributedDataParallel over gloo, compiled models, and features of modules.
"Attributed" is the least share of the backward's host time, among these cases, that the report
attributes to the module that made the node; torch's own counter says which one did. The tests are
those of `tests/recorder` and `tests/versions`, without those marked slow.

| torch | Python | cases that ran | attributed | tests passed | failed | skipped | date |
| --- | --- | ---: | ---: | ---: | ---: | ---: | --- |
"""
TAIL = """
`pyproject.toml` declares 2.6, the lowest version that was run. 2.4
trains as ever, but a model that is wrapped, then compiled, and first called while it is recorded
has marks of the calls with which the compiler looked at its modules; and one node of a jagged
tensor's backward (4 of 300 us) is attributed to no module (2026-11-22). 2.2 and 2.3 lack
`torch.compiler.is_compiling`, which the recorder needs.

## What did not run or pass"""


if __name__ == "__main__":
    main()
