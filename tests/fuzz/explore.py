"""Explore the targets with atheris for some minutes; findings are saved, by kind, and counted.

python tests/fuzz/explore.py --minutes 60 [--folder FOLDER] [TARGET ...]
python tests/fuzz/explore.py --smallest FILE TARGET > SMALLER
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from random import Random

HERE = Path(__file__).resolve().parent
NAMES = ("reader", "analyzer", "timeline", "addresses")
LONGEST = 32_768
"""Bytes of an input; what is packed may be more."""
HANG_S = 30
_DONE = re.compile(r"#(\d+)\s+\w+\s+cov: (\d+)")

os.environ["HOOKVIEW_CACHE"] = "off"
sys.path.insert(0, str(HERE.parent))


def say(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def main() -> None:
    options = _options()
    if options.smallest:
        from fuzz.findings import smallest
        from fuzz.targets import TARGETS

        feed, _ = TARGETS[options.targets[0]]
        sys.stdout.buffer.write(smallest(feed, options.smallest.read_bytes()))
    elif options.seconds:
        _explore(options.targets[0], options.folder, options.seconds)
    else:
        failed = _share(options.targets or NAMES, options.folder, options.minutes)
        sys.exit(1 if failed else 0)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("targets", nargs="*", choices=[*NAMES, []])
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--folder", type=Path, default=HERE / "found")
    parser.add_argument("--seconds", type=float, help="explore one target in this process")
    parser.add_argument("--smallest", type=Path, help="shrink a finding of one target")
    return parser.parse_args()


def _share(targets: list[str] | tuple[str, ...], folder: Path, minutes: float) -> bool:
    """Give every target its part of the time; say what came of it, and whether anything failed."""
    failed = False
    for target in targets:
        end = time.monotonic() + 60 * minutes / len(targets)
        inputs = covered = hangs = 0
        while (left := end - time.monotonic()) > 1:
            ran, reached, is_well = _one(target, folder, left)
            inputs, covered, hangs = inputs + ran, max(covered, reached), hangs + (not is_well)
            if not ran:
                break
        found = sorted(path.name for path in folder.glob(f"{target}-*") if path.suffix != ".txt")
        say(
            f"{target}: {inputs} inputs, {minutes / len(targets):.1f} min, "
            f"{covered} edges, {len(found)} kinds of fault, {hangs} hangs or crashes"
            + "".join(f"\n  {name}" for name in found)
            + "\n"
        )
        failed = failed or bool(found) or hangs > 0 or not inputs
    return failed


def _one(target: str, folder: Path, seconds: float) -> tuple[int, int, bool]:
    """Explore in a process of its own; return inputs, edges reached, and whether it ended well."""
    command = [sys.executable, __file__, target, "--folder", str(folder), "--seconds", str(seconds)]
    ran = covered = 0
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    ) as process:
        for line in process.stdout or ():
            if match := _DONE.match(line):
                ran, covered = int(match[1]), int(match[2])
            elif line.startswith(f"{target}:") or "ERROR" in line:
                say(line)
    return ran, covered, process.returncode == 0


def _explore(target: str, folder: Path, seconds: float) -> None:
    import atheris

    with atheris.instrument_imports(include=["tb_hookview"]):
        from fuzz.findings import Findings, fault_of
        from fuzz.targets import TARGETS, first_inputs

    feed, damage = TARGETS[target]
    findings = Findings(folder, target)
    corpus = folder / "corpus" / target
    corpus.mkdir(parents=True, exist_ok=True)
    for number, data in enumerate(first_inputs(target)):
        (corpus / f"first-{number}").write_bytes(data)

    def one(data: bytes) -> None:
        fault = fault_of(feed, data)
        if fault is not None and (path := findings.keep(fault, data)):
            say(f"{target}: {path.name} ({len(data)} bytes)\n")

    def change(data: bytes, longest: int, seed: int) -> bytes:
        random = Random(seed)
        if random.random() < 0.15:
            return atheris.Mutate(data, longest)
        return damage(data, random)[:longest]

    arguments = [
        f"-max_total_time={max(1, int(seconds))}",
        f"-max_len={LONGEST}",
        f"-timeout={HANG_S}",
        "-rss_limit_mb=3000",
        f"-artifact_prefix={folder / f'{target}-stopped-'}",
        "-report_slow_units=10",
    ]
    atheris.Setup([sys.argv[0], *arguments, str(corpus)], one, custom_mutator=change)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
