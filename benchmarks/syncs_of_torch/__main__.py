"""Compares the table of the dry run with what CUDA builds of torch call.

    python -m benchmarks.syncs_of_torch VERSION... [--folder DIR] [--write]

VERSION is a release of torch with CUDA, whose wheel is downloaded (up to 1 GB); or a wheel; or a
folder with its libraries (lib). Nothing of torch is run. With --write the result
goes to benchmarks/results/syncs_of_torch.md. The exit status is 1 where a row is contradicted or a
caller is neither in the table nor explained.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import date
from pathlib import Path

from benchmarks.common.markdown import table

from .comparison import LIBRARIES, Comparison, compare

RESULT = Path(__file__).resolve().parents[1] / "results" / "syncs_of_torch.md"
_HEAD = """# Rows of the dry run's table against builds of torch

`make syncs-of-torch` wrote this page on {date}. It reads the direct calls in the machine code of
`libtorch_cuda.so`, `libtorch_cuda_linalg.so` and `libtorch_cpu.so`, and compares the callers of
synchronizing functions with the rows of `tb_hookview/dryrun/operators`. A row is confirmed where a
function that it names calls one, contradicted where none does. A call shows that a function can
wait, not under which condition: conditions are read in the source (`source` of each row).
"""


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(
        "benchmarks.syncs_of_torch",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("builds", nargs="+", metavar="VERSION")
    parser.add_argument("--folder", type=Path, help="where wheels are kept; else they are deleted")
    parser.add_argument("--write", action="store_true", help="write the page of results")
    options = parser.parse_args()
    found = {}
    for build in options.builds:
        with _libraries(build, options.folder) as (folder, version):
            print(f"reading torch {version}", file=sys.stderr)
            major, minor = version.split(".")[:2]
            found[version] = compare(folder, (int(major), int(minor)))
    text = "\n".join([_HEAD.format(date=date.today()), _summary(found), "", *_details(found)])
    print(text)
    if options.write:
        RESULT.parent.mkdir(exist_ok=True)
        RESULT.write_text(f"{text}\n", encoding="utf-8")
    return int(any(each.contradicted or each.missed for each in found.values()))


@contextmanager
def _libraries(build: str, kept: Path | None) -> Iterator[tuple[Path, str]]:
    """The folder of a build's libraries, and its version."""
    given = Path(build)
    if given.is_dir():
        version = (given.parent / "version.py").read_text()
        yield given, _version(version)
        return
    with tempfile.TemporaryDirectory() as folder:
        wheel = given if given.is_file() else _download(build, kept or Path(folder))
        with zipfile.ZipFile(wheel) as archive:
            for name in LIBRARIES:
                member = archive.getinfo(f"torch/lib/{name}")
                member.filename = name
                archive.extract(member, folder)
        yield Path(folder), _version(wheel.name)


def _version(text: str) -> str:
    found = re.search(r"\d+\.\d+\.\d+", text)
    if found is None:
        raise SystemExit(f"{text}: no version of torch in it")
    return found[0]


def _download(version: str, folder: Path) -> Path:
    # Three signs: a build for the CPU, which has a local version, is not meant.
    command = ["pip", "download", f"torch==={version}", "--no-deps", "--only-binary", ":all:"]
    subprocess.run([sys.executable, "-m", *command, "-q", "-d", str(folder)], check=True)
    return next(folder.glob(f"torch-{version}-*.whl"))


def _summary(found: dict[str, Comparison]) -> str:
    head = [
        *("torch", "rows confirmed", "contradicted", "without a function"),
        *("explained in CUDA code", "explained in shared code", "missed"),
    ]
    counts = (
        [version, *(str(len(part)) for part in comparison)] for version, comparison in found.items()
    )
    return table(head, counts)


def _details(found: dict[str, Comparison]) -> Iterator[str]:
    yield "## Rows\n"
    operators = {
        row.operators[0]: row.condition.replace("|", "\\|")
        for each in found.values()
        for part in (each.confirmed, each.contradicted, each.unnamed)
        for row in part
    }
    body = (
        [f"`{name}`", condition, *(_verdict(each, name) for each in found.values())]
        for name, condition in operators.items()
    )
    yield table(["row", "when", *found], body, left=2 + len(found))
    yield "\n## Callers without a row, in CUDA code\n"
    yield _callers(found, {name: {**e.explained, **_missed(e)} for name, e in found.items()})
    yield "\n## Callers without a row, in code that CPU and CUDA share\n"
    yield "Functions of `libtorch_cpu.so` that `libtorch_cuda.so` calls and that call what waits.\n"
    yield _callers(found, {name: each.shared for name, each in found.items()})


def _missed(comparison: Comparison) -> dict[str, str]:
    return {
        name: f"**missed**: {', '.join(sorted(callees))}"
        for name, callees in comparison.missed.items()
    }


def _callers(found: Mapping[str, Comparison], reasons: Mapping[str, dict[str, str]]) -> str:
    """A table of callers: the reason, and in which builds they are."""
    callers = {name: why for each in reasons.values() for name, why in each.items()}
    body = (
        [f"`{name}`", why, *("yes" if name in reasons[build] else "" for build in found)]
        for name, why in sorted(callers.items())
    )
    return table(["function", "why none is needed", *found], body, left=2 + len(found))


def _verdict(comparison: Comparison, name: str) -> str:
    for verdict, rows in (
        ("confirmed", comparison.confirmed),
        ("**contradicted**", comparison.contradicted),
        ("not in torch", comparison.unnamed),
    ):
        if any(row.operators[0] == name for row in rows):
            return verdict
    return "no row"


if __name__ == "__main__":
    sys.exit(main())
