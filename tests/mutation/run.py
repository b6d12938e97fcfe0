"""Change the modules of `targets.py` one small fault at a time and count what their tests notice.

python tests/mutation/run.py [--sample 150] [--report benchmarks/results/mutants.md] [MODULE ...]

The faults and the runs are mutmut's. Interrupted, it goes on where it was: verdicts are in
`build/mutants/`, one copy of the tree per module.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path
from random import Random

from mutmut.mutation.data import SourceFileMutationData
from mutmut.mutation.diff_apply import get_diff_for_mutant
from mutmut.mutation.file_mutation import mutate_file_contents
from mutmut.stats import status_by_exit_code
from mutmut.utils.file_utils import change_cwd
from mutmut.utils.format_utils import (
    get_mutant_name,
    orig_function_and_class_names_from_key,
)
from report import Score, markdown
from targets import TARGETS, Target
from working_copy import PACKAGE, working_copy

HERE = Path(__file__).resolve().parent
SEED = 1
_AGAIN = (None, 2)
"""No verdict, or a run that was interrupted."""
_NO_TESTS = 33
"""mutmut's verdict on what no test calls; where that is all of a module, it gives up instead."""
_GAVE_UP = "could not find any test case for any mutant"


def main() -> None:
    options = _options()
    targets = [
        target for target in TARGETS if not options.modules or target.name in options.modules
    ]
    scores = []
    for target in targets:
        began = time.monotonic()
        score = measure(target, options)
        scores.append(score)
        say(
            f"{score.name}: {score.noticed} of {score.tried} noticed "
            f"({score.mutants} mutants, {time.monotonic() - began:.0f} s)\n"
        )
    if options.json:
        options.json.write_text(json.dumps([score._asdict() for score in scores], indent=1))
    before = json.loads(options.before.read_text()) if options.before else []
    text = markdown(scores, [Score(**row) for row in before], options.sample, options.list)
    if options.report:
        options.report.write_text(text)
    else:
        say(text)


def measure(target: Target, options: argparse.Namespace) -> Score:
    """Run the mutants of one target that have no verdict yet, and count all that were drawn."""
    tools = f"mutmut {version('mutmut')}"
    copy = working_copy(
        options.tree.resolve(), target, options.folder.resolve(), tools, options.quick
    )
    path = Path(PACKAGE) / target.module
    with change_cwd(copy):
        names = mutants_of(path)
        order = Random(SEED).sample(names, len(names))  # a larger sample has the smaller one in it
        drawn = sorted(order[: options.sample or None])
        verdicts = _verdicts(path)
        if missing := [name for name in drawn if verdicts.get(name) in _AGAIN]:
            covered = _run_mutmut(missing, options.processes)
            verdicts = _verdicts(path) if covered else dict.fromkeys(drawn, _NO_TESTS)
        states = {name: status_by_exit_code[verdicts.get(name)] for name in drawn}
        survived = [name for name in drawn if states[name] in ("survived", "no tests")]
        unknown = [name for name in drawn if states[name] in ("not checked", "skipped")]
        if unknown:
            raise SystemExit(f"{target.name}: {len(unknown)} mutants have no verdict; run again")
        return Score(
            name=target.name,
            module=target.module,
            mutants=len(names),
            tried=len(drawn),
            noticed=len(drawn) - len(survived),
            by_time=sum(state == "timeout" for state in states.values()),
            not_noticed=[
                (_place(name), states[name], get_diff_for_mutant(name, path=path))
                for name in survived
            ],
        )


def _place(name: str) -> str:
    function, owner = orig_function_and_class_names_from_key(name)
    return ".".join(filter(None, (owner, function.removesuffix("_property"))))


def mutants_of(path: Path) -> list[str]:
    """Names of the mutants that mutmut makes of one file of the working folder."""
    made = mutate_file_contents(str(path), path.read_text())
    return [get_mutant_name(path, name) for name in made.mutant_names]


def _verdicts(path: Path) -> dict[str, int | None]:
    data = SourceFileMutationData(path=path)
    data.load()
    return data.exit_code_by_key


def _run_mutmut(names: list[str], processes: int) -> bool:
    """Run mutmut in the working folder, and return whether any test calls what it changes.

    Raises:
        SystemExit: it failed; with its last lines.
    """
    command = [str(Path(sys.executable).with_name("mutmut")), "run", f"--max-children={processes}"]
    done = subprocess.run(
        [*command, *names],
        env={**os.environ, "PYTHONPATH": str(HERE), "PYTHONDONTWRITEBYTECODE": ""},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode and _GAVE_UP in done.stdout:
        return False
    if done.returncode:
        raise SystemExit(done.stdout[-4000:])
    return True


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    names = [target.name for target in TARGETS]
    parser.add_argument("modules", nargs="*", metavar="MODULE", help=", ".join(names))
    parser.add_argument("--sample", type=int, default=0, help="mutants per module; 0: all")
    parser.add_argument("--quick", action="store_true", help="only tests of `make test`")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--report", type=Path, help="the table, as markdown; else printed")
    parser.add_argument("--list", action="store_true", help="with the changes nobody noticed")
    parser.add_argument("--json", type=Path, help="the figures, for a later --before")
    parser.add_argument("--before", type=Path, help="figures to compare with")
    parser.add_argument("--tree", type=Path, default=HERE.parents[1], help="the checkout")
    parser.add_argument("--folder", type=Path, default=HERE.parents[1] / "build" / "mutants")
    options = parser.parse_args()
    if unknown := set(options.modules) - set(names):
        parser.error(f"no module {', '.join(sorted(unknown))}; there are {', '.join(names)}")
    return options


def say(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


if __name__ == "__main__":
    main()
