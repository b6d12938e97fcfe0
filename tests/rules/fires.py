"""Print which rules fire on which real trace, for the tables of benchmarks/results/rules.md.

cd tests && python -m rules.fires [--full] [PREFIX_OF_TRACE ...]
"""

from __future__ import annotations

import sys

import shared_traces

from tb_hookview.loading import analyze
from tb_hookview.schema import Finding


def main(arguments: list[str]) -> None:
    full = "--full" in arguments
    prefixes = tuple(argument for argument in arguments if argument != "--full")
    for path in shared_traces.all_traces():
        name = path.relative_to(shared_traces.FOLDER).as_posix()
        if prefixes and not name.startswith(prefixes):
            continue
        data = analyze(path).data
        steps = data.steps
        mean = sum(step.duration_us for step in steps) / max(len(steps), 1)
        say(f"{name}: {len(steps)} steps of {mean:.0f} us")
        for finding in data.findings:
            say(f"    {_line(finding)}")
            if full:
                say(f"        {finding.evidence}")
                say(f"        {finding.caveats} {finding.examples[:3]}")


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")


def _line(finding: Finding) -> str:
    costs = (finding.cost_us_per_step, finding.gain_us_per_step)
    cost, gain = ("-" if value is None else f"{value:.1f}" for value in costs)
    return (
        f"{finding.rule} | {finding.severity} | {finding.where} | {finding.count} times | "
        f"costs {cost}, gains {gain} us per step | {finding.confidence}"
    )


if __name__ == "__main__":
    main(sys.argv[1:])
