from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from support.sync_feature import Tensors
from support.sync_features import FEATURES
from support.training_sync_features import REFUSED

Counted = Callable[[Callable[[], object]], tuple[int, int]]


@pytest.mark.slow
def test_features_cause_as_many_syncs_as_cuda_does(counted: Counted) -> None:
    wrong = {}
    version = tuple(map(int, torch.__version__.split(".")[:2]))
    for name, feature in FEATURES.items():
        if not feature.since <= version <= feature.until:
            continue
        tensors = Tensors()
        found = counted(lambda feature=feature, tensors=tensors: feature.run(tensors))  # type: ignore[misc]
        if found != (feature.syncs, feature.uncertain):
            wrong[name] = (found, feature.why)
    assert wrong == {}


def test_there_are_features_of_all_sorts() -> None:
    assert len(FEATURES) >= 150
    assert sum(feature.syncs == 0 for feature in FEATURES.values()) >= 75


def test_what_cuda_refuses_is_refused(counted: Counted) -> None:
    accepted = []
    for name, call in REFUSED.items():
        tensors = Tensors()
        try:
            counted(lambda call=call, tensors=tensors: call(tensors))  # type: ignore[misc]
        except (RuntimeError, TypeError, NotImplementedError):
            continue
        accepted.append(name)
    assert accepted == []
