"""Pairs of recordings by others: a training with and without workers, a model on two devices."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from common.traces import FOLDER

from known_answers.answer import HOST, Answer, Predicted, Round, ask, loading_of
from tb_hookview.analysis.selection import Selection
from tb_hookview.loading import load
from tb_hookview.simulation.questions import scaled
from tb_hookview.simulation.simulator import Simulator

_WITHOUT, _WITH = "kineto_resnet50_num_workers_0", "kineto_resnet50_num_workers_4"
_H100, _MI300 = "tracelens_h100_bert_small", "tracelens_mi300_bert_small"
_SHARED = "workers take time of the host's cores: without them its own work is quicker by a seventh"


def answers() -> list[Answer]:
    """Answers for all pairs, in both directions; those whose traces are absent are left out."""
    return [*_loaders(), *_devices()]


def _devices() -> list[Answer]:
    """Answers where the other device's kernels and host take what they take in its recording.

    So only how the two work together is asked.
    """
    found = [
        Simulator(Selection(load(path), None))
        for name in (_H100, _MI300)
        for path in FOLDER.glob(f"{name}*")
    ]
    if len(found) != 2:
        return []
    words = "BERT, an H100 -> an MI300X", "BERT, an MI300X -> an H100"
    return [_moved(*each) for each in zip(words, found, found[::-1], strict=True)]


def _moved(words: str, before: Simulator, after: Simulator) -> Answer:
    kernels = _device_time(after) / _device_time(before)
    host = _host_time(after) / _host_time(before)
    asked = ask(before, scaled(before.analysis, {"kernels": kernels, "host": host}))
    question = f"kernels={kernels:.2f}, host={host:.2f}"
    return Answer(words, question, [Round(asked, after.recorded.step / 1e6)])


def _device_time(simulator: Simulator) -> int:
    return int(simulator.graph.nodes.duration[~simulator.graph.nodes.history].sum())


def _host_time(simulator: Simulator) -> int:
    return int(simulator.graph.edges.lag[simulator.graph.edges.of(*HOST)].sum())


def _loaders() -> list[Answer]:
    """Answers for a training without workers and with four.

    Some steps with workers take far longer than the others, so each is asked about by itself, and
    the median of the other recordings' steps is what happened. On the way back the loader takes
    what it takes in the other recording.
    """
    without, workers = _steps(_WITHOUT), _steps(_WITH)
    if not without or not workers:
        return []
    takes = statistics.mean(map(loading_of, without))
    return [
        _answer("no workers -> 4", without, workers, 0.0),
        _answer("4 workers -> none", workers, without, takes, _SHARED),
    ]


def _answer(
    words: str,
    before: Sequence[Simulator],
    after: Sequence[Simulator],
    loading: float,
    note: str = "",
) -> Answer:
    """The answer where the loader takes some nanoseconds per step instead."""
    happened = statistics.median(each.recorded.step / 1e6 for each in after)
    return Answer(
        f"ResNet-50 on a V100: {words}",
        f"data takes {loading / 1e6:.1f} ms" if loading else "data=0",
        [Round(_ask(each, loading), happened) for each in before],
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
