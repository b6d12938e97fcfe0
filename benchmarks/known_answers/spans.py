"""Two recordings of one training by others, with and without workers that load its batches."""

from __future__ import annotations

import statistics
from collections.abc import Iterator

from common.traces import FOLDER

from known_answers.answer import Answer, Predicted, ask, loading_of, median_of
from tb_hookview.analysis.selection import Selection
from tb_hookview.loading import load
from tb_hookview.simulation.questions import scaled
from tb_hookview.simulation.simulator import Simulator

_WITHOUT, _WITH = "kineto_resnet50_num_workers_0", "kineto_resnet50_num_workers_4"
_SHARED = "workers take time of the host's cores: without them its own work is quicker by a seventh"


def answers() -> Iterator[Answer]:
    """Yield the answers for both directions; none where the traces are absent.

    Some steps with workers take far longer than the others, so each is asked about by itself, and
    medians are compared. On the way back the loader takes what it takes in the other recording.
    """
    without, workers = _steps(_WITHOUT), _steps(_WITH)
    if not without or not workers:
        return
    takes = statistics.mean(map(loading_of, without))
    for before, after, words, loading, note in (
        (without, workers, "no workers -> 4", 0.0, ""),
        (workers, without, "4 workers -> none", takes, _SHARED),
    ):
        yield Answer(
            f"ResNet-50 on a V100: {words}",
            f"data takes {loading / 1e6:.1f} ms" if loading else "data=0",
            median_of([_ask(each, loading) for each in before]),
            statistics.median(each.recorded.step / 1e6 for each in after),
            note,
        )


def _ask(simulator: Simulator, loading: float) -> Predicted:
    factor = loading / loading_of(simulator)
    return ask(simulator, scaled(simulator.analysis, {"data": factor}))


def _steps(folder: str) -> list[Simulator]:
    """Each step of both spans that counts."""
    analyses = [load(path) for path in sorted((FOLDER / folder).glob("*"))]
    return [
        Simulator(Selection(analysis, (step,)))
        for analysis in analyses
        for step in Selection(analysis, None).counted
    ]
