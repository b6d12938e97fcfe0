"""Runs the checks of `make lint`, of `make test` (quick), what `make test-all` adds (rest), or all.

pytest runs on all cores, and next to it the other checks one after another. The last line has
pytest's form: how many passed, failed and were skipped, and how long it took.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import resource
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PYTHON = sys.executable
TOOLS = Path(PYTHON).parent
LAST_TIME = ROOT / "build" / "checks.json"
"""Seconds that each check took when it last ended well, for the estimate."""
PATIENCE = 30.0
"""Seconds between two lines of progress where there is no terminal."""

_ENVIRONMENT = {
    "PYTHON": PYTHON,
    "NO_COLOR": "1",
    "COLUMNS": "100",
    # Otherwise every process that the tests start compiles the package again.
    "PYTHONDONTWRITEBYTECODE": "",
}
"""Variables that every check has."""

_SHARE = re.compile(r"\[\s*(\d+)%\]")
_PYTEST_ENDS = re.compile(r"^=*\s?((?:\d+ \w+,? ?)+) in [\d.]+s")
_VITEST_ENDS = re.compile(r"^\s*Tests\s+(.*) \(\d+\)$")
_COUNT = re.compile(r"(\d+) (passed|failed|skipped|errors?)")
_SKIP = re.compile(r"^SKIPPED \[(\d+)\] (\S+?)(?::\d+)?: (.*)$")
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")


@dataclass
class Check:
    """A command, while it runs and after."""

    name: str
    command: list[str]
    folder: Path = ROOT
    lines: list[str] = field(default_factory=list)
    share: float = 0.0
    seconds: float = 0.0
    status: int | None = None
    _process: subprocess.Popen[str] | None = None

    def run(self) -> None:
        """Start the command, and read what it says until it ends."""
        began = time.monotonic()
        self._process = subprocess.Popen(
            self.command,
            cwd=self.folder,
            env={**os.environ, **_ENVIRONMENT},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        assert self._process.stdout is not None
        threading.Thread(target=self._end_with, args=(self._process,), daemon=True).start()
        for line in self._process.stdout:
            self.lines.append(_COLOURS.sub("", line.rstrip("\n")))
            if found := _SHARE.findall(line):
                self.share = int(found[-1]) / 100
        self.status = self._process.wait()
        self.seconds = time.monotonic() - began

    def stop(self) -> None:
        """End the command and what it started."""
        if self._process is not None and self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGTERM)

    @staticmethod
    def _end_with(process: subprocess.Popen[str]) -> None:
        """End what the command left running: it would keep the pipe open."""
        process.wait()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)

    def counts(self) -> Counter[str]:
        """Tests by how they ended; a check without tests counts as one."""
        ends = (_PYTEST_ENDS.match(line) or _VITEST_ENDS.match(line) for line in self.lines[::-1])
        if ended := next(filter(None, ends), None):
            counts: Counter[str] = Counter()
            for count, how in _COUNT.findall(ended.group(1)):
                counts["failed" if how.startswith("error") else how] += int(count)
        else:
            counts = Counter(passed=int(self.status == 0))
        if self.status != 0 and not counts["failed"]:
            counts["failed"] = 1
        return counts


def checks_of(part: str) -> list[list[Check]]:
    """The checks of a part: lists that run next to each other, each in its order."""
    page = ROOT / "frontend"
    lint = [
        Check("ruff", [str(TOOLS / "ruff"), "check", "."]),
        Check("format", [str(TOOLS / "ruff"), "format", "--check", "."]),
        Check("mypy", [str(TOOLS / "mypy")]),
        Check("page: types and style", ["npm", "run", "--silent", "check"], page),
    ]
    if part == "lint":
        return [lint]
    others = [] if part == "rest" else [*lint, Check("page: units", ["npm", "test"], page)]
    if os.environ.get("CHROMIUM"):
        script = {"quick": "e2e:smoke", "rest": "e2e:rest", "all": "e2e"}[part]
        others.append(Check("page: browser", ["npm", "run", "--silent", script], page))
    marks = {"quick": ["-m", "not slow"], "rest": ["-m", "slow"], "all": []}[part]
    spread = ["-n", str(os.cpu_count() or 1), "--dist", "loadfile", "--no-loadscope-reorder"]
    spread += ["--max-worker-restart", "0"]  # after a crash it would wait for ever
    return [[Check("pytest", [PYTHON, "-m", "pytest", "-rs", *spread, *marks])], others]


class Progress:
    """One line that is kept up to date, or one every half minute where there is no terminal."""

    def __init__(self, lanes: list[list[Check]]) -> None:
        self.lanes = lanes
        self.checks = [check for lane in lanes for check in lane]
        self.began = time.monotonic()
        self.before: dict[str, float] = (
            json.loads(LAST_TIME.read_text()) if LAST_TIME.exists() else {}
        )
        self._said = 0.0
        self._reported: set[str] = set()

    def show(self) -> None:
        """Say which checks have ended since, and how far the others are."""
        for check in self.checks:
            if check.status is not None and check.name not in self._reported:
                self._reported.add(check.name)
                how = "ok" if check.status == 0 else "FAILED"
                self._say(f"{check.name}: {how} ({check.seconds:.0f} s)", lasting=True)
        if sys.stdout.isatty() or time.monotonic() - self._said > PATIENCE:
            self._said = time.monotonic()
            self._say(self._how_far(), lasting=False)

    def _how_far(self) -> str:
        passed = time.monotonic() - self.began
        text = f"{passed:.0f} s"
        pytest = self.checks[0]
        if pytest.status is None and pytest.share:
            text += f", pytest {pytest.share:.0%}"
        left = self._left(passed)
        return f"{text}, about {left:.0f} s left" if left is not None else text

    def _left(self, passed: float) -> float | None:
        """By how long the lanes took the last time, or by the share of pytest."""
        if all(check.name in self.before for check in self.checks):
            whole = max(sum(self.before[check.name] for check in lane) for lane in self.lanes)
            return max(whole - passed, 0.0)
        share = self.checks[0].share
        return passed * (1 / share - 1) if share > 0.05 else None

    def _say(self, text: str, *, lasting: bool) -> None:
        if sys.stdout.isatty():
            sys.stdout.write(f"\r\x1b[K{text}" + ("\n" if lasting else ""))
        else:
            sys.stdout.write(text + "\n")
        sys.stdout.flush()

    def keep(self) -> None:
        """Write how long each check took, for the next estimate."""
        if all(check.status == 0 for check in self.checks):
            LAST_TIME.parent.mkdir(exist_ok=True)
            now = {check.name: round(check.seconds, 1) for check in self.checks}
            LAST_TIME.write_text(json.dumps({**self.before, **now}))


def run(part: str) -> int:
    """Run the checks of a part; returns the exit status."""
    lanes = checks_of(part)
    progress = Progress(lanes)

    def follow(lane: list[Check]) -> None:
        for check in lane:
            check.run()

    threads = [threading.Thread(target=follow, args=(lane,), daemon=True) for lane in lanes]
    for thread in threads:
        thread.start()
    try:
        while any(thread.is_alive() for thread in threads):
            progress.show()
            time.sleep(0.2)
    except KeyboardInterrupt:
        for check in progress.checks:
            check.stop()
            if check.status is None:
                print(f"\n--- {check.name} was stopped after:", *check.lines[-40:], sep="\n")
        return 130
    progress.show()
    progress.keep()
    if part != "lint" and not os.environ.get("CHROMIUM"):
        print("skipped the browser: install Chromium, or set CHROMIUM to its path")
    return report(progress.checks, time.monotonic() - progress.began)


def report(checks: list[Check], seconds: float) -> int:
    """Print what failed, why tests were skipped, and the closing line; returns the exit status."""
    failed = [check for check in checks if check.status != 0]
    for check in failed:
        print(f"\n--- {check.name}: {' '.join(check.command)} (in {check.folder.name}/)")
        print("\n".join(check.lines))
    reasons: Counter[str] = Counter()
    for line in (line for check in checks for line in check.lines):
        if found := _SKIP.match(line):
            reasons[found.group(3)] += int(found.group(1))
    for reason, count in reasons.most_common():
        print(f"skipped {count}: {reason}")
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"processor time {(usage.ru_utime + usage.ru_stime) / 60:.1f} min")
    counts = sum((check.counts() for check in checks), Counter())
    order = ("failed", "passed", "skipped")
    ends = ", ".join(f"{counts[how]} {how}" for how in order if counts[how])
    print(f"{ends} in {seconds:.2f}s ({timedelta(seconds=round(seconds))})")
    return bool(failed)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("part", choices=("lint", "quick", "rest", "all"))
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    sys.exit(run(parser.parse_args().part))
