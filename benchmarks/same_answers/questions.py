"""What the page asks about a trace: report, modules, comparisons."""

from __future__ import annotations

from typing import Any

from .asking import Asking, Both, spread
from .timeline import TimelineQuestions

_MODULES = 25
_MEASURES = ("forward_host_us", "forward_compute_us", "backward_host_us", "backward_compute_us")
NO_STEP = "no such step"


def ask_about(asking: Asking, run: str, worker: str) -> list[str]:
    """Ask everything about one trace; return the names of its steps."""
    questions = TraceQuestions(asking, run, worker)
    report, _ = questions.ask("report")
    if not isinstance(report, dict) or "steps" not in report:
        questions.ask("timeline")
        return []
    steps = [step["name"] for step in report["steps"]]
    questions.about_steps(steps)
    questions.about_modules(report, steps)
    kernels = [kernel["name"][:16] for kernel in report.get("kernels", [])[:2]]
    TimelineQuestions(asking, run, worker).ask_all(report, [*kernels, "aten::m", "E"])
    return steps


class TraceQuestions:
    """Questions about one trace."""

    def __init__(self, asking: Asking, run: str, worker: str) -> None:
        self._asking, self._run, self._worker = asking, run, worker

    def ask(self, route: str, *query: tuple[str, Any]) -> Both:
        """Ask both servers about this trace."""
        which = [("run", self._run), ("worker", self._worker)]
        return self._asking.ask(f"api/{route}", self._run, [*which, *query])

    def about_steps(self, steps: list[str]) -> None:
        """The report of single steps, of two together, and of one that is not there."""
        for some in (spread(steps, 1), steps[1:3]):
            if some:
                self.ask("report", *(("step", step) for step in some))
        self.ask("report", ("step", NO_STEP))

    def about_modules(self, report: Any, steps: list[str]) -> None:
        """Detail, calls and search of modules."""
        paths = [module["path"] for module in report["modules"]]
        for path in [*spread(paths, _MODULES), "no such module"]:
            self.ask("module", ("path", path))
        for path in spread(paths, 3) if steps else ():
            self.ask("module", ("path", path), ("step", steps[-1]))
        some = [("path", path) for path in spread(paths, 60)]
        for measure in _MEASURES if some else ():
            self.ask("module/bars", ("measure", measure), *some)
        for text in ("e", "gemm", "nccl"):
            self.ask("module/search", ("q", text))


def compare_traces(asking: Asking, traces: list[tuple[str, str, list[str]]]) -> None:
    """Compare each trace (run, worker, steps) with the next one, and some with themselves."""
    for base, other in zip(traces, [*traces[1:], traces[0]], strict=True):
        for steps in (False, True):
            query: list[tuple[str, str]] = []
            for prefix, (run, worker, names) in (("", base), ("other_", other)):
                query += [(f"{prefix}run", run), (f"{prefix}worker", worker)]
                query += [(f"{prefix}step", name) for name in spread(names, 1) if steps]
            asking.ask("api/compare", f"{base[0]} and {other[0]}", query)
        if len(base[2]) > 1:
            run, worker, names = base
            which = [("run", run), ("worker", worker), ("step", names[0])]
            other_which = [("other_run", run), ("other_worker", worker), ("other_step", names[-1])]
            asking.ask("api/compare", f"steps of {run}", which + other_which)
