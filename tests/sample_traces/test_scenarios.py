"""Before and after compute the same; on the CPU, at small sizes."""

from __future__ import annotations

import pytest
import torch

from sample_traces import scenarios
from sample_traces.scenario import Scenario, Setting, UnavailableError
from sample_traces.scenarios import data, sampler, waits
from sample_traces.scenarios.patch_dropout import IndexedPatchDropout
from sample_traces.worker import agree
from tb_hookview.rules.catalogue import RULES

SMALL = Setting(torch.device("cpu"), small=True)
# Compiling takes longer than everything else together; worker processes are the next test's.
SLOW_TO_BUILD = {"compiled", "graph_break"}
COMPARED = [
    scenario
    for scenario in scenarios.SCENARIOS
    if len([each for each in scenario.variants if each.build]) > 1
    and scenario.name not in ("loader_bound", "slow_storage")
]


def first_losses(scenario: Scenario, name: str) -> list[float]:
    (variant,) = (each for each in scenario.variants if each.name == name)
    torch.manual_seed(0)
    with variant.conditions(SMALL):
        training = variant.build(SMALL)
        torch.manual_seed(1)
        losses = [training.step().item() for _ in range(3)]
    training.close()
    return losses


@pytest.mark.parametrize("scenario", COMPARED, ids=lambda scenario: scenario.name)
def test_all_variants_train_alike(scenario):
    losses = []
    for variant in scenario.variants:
        if variant.name in SLOW_TO_BUILD:
            continue
        try:
            losses.append(first_losses(scenario, variant.name))
        except UnavailableError as reason:
            if "GPU" not in str(reason):
                pytest.skip(str(reason))
    assert len(set(losses[0])) == 3, "nothing is learned from step to step"
    assert agree(losses, scenario.tolerance) is not False


def test_losses_that_differ_do_not_agree():
    assert agree([[1.0, 2.0], [1.0, 2.1]], 0.01) is False
    assert agree([[1.0, 2.0], [1.0, 2.001]], 0.01) is True
    assert agree([[1.0, 2.0]], 0.01) is agree([[1.0], [9.0]], None) is None


def test_patch_dropout_keeps_the_patches_that_timm_keeps():
    from sample_traces import libraries

    try:
        layers = libraries.load("timm.layers")
    except UnavailableError as reason:
        pytest.skip(str(reason))
    results = []
    for layer in (layers.PatchDropout(0.5), IndexedPatchDropout(0.5)):
        torch.manual_seed(0)
        tokens = torch.randn(3, 9, 4, requires_grad=True)
        kept = layer.train()(tokens)
        kept.square().sum().backward()
        results.append((kept.detach(), tokens.grad))
    assert torch.equal(results[0][0], results[1][0])
    assert torch.equal(results[0][1], results[1][1])


@pytest.mark.parametrize("labelled", [0, 1, 7, 8, 9, 60, 64])
def test_both_samplers_choose_the_same_samples(labelled):
    labels = torch.zeros(64, dtype=torch.int32)
    labels[torch.randperm(64)[:labelled]] = 3
    scores = torch.rand(64)
    chosen, _ = sampler.choose_nonzero(labels, scores, 8)
    padded, counts = sampler.choose_static(labels, scores, 8)
    assert counts.sum() == len(chosen) == min(8, labelled)
    assert set(padded[counts].tolist()) == set(chosen.tolist())
    assert (labels[chosen] > 0).all()


def test_the_static_sampler_takes_a_batch_at_once():
    labels = sampler.make_labels(SMALL, 5, 3000)
    scores = torch.rand(5, 3000)
    together = sampler.choose_static(labels, scores, 16)
    for row in range(5):
        alone = sampler.choose_static(labels[row], scores[row], 16)
        assert torch.equal(together[0][row], alone[0])
        assert torch.equal(together[1][row], alone[1])


@pytest.mark.parametrize("seed", range(5))
def test_a_masked_loss_has_the_same_gradient_either_way(seed):
    torch.manual_seed(seed)
    scores, targets = torch.randn(2, 6, 5), torch.randint(5, (2, 6))
    mask = torch.rand(2, 6) < 0.5
    gradients = []
    for indexed in (True, False):
        given = scores.clone().requires_grad_()
        waits.MaskedLoss(indexed=indexed)(given, targets, mask).backward()
        gradients.append(given.grad)
    torch.testing.assert_close(*gradients)


def test_a_log_reads_every_loss_in_order_and_refuses_what_is_not_finite():
    now, later = waits.Log(1), waits.Log(3)
    for value in (1.0, 2.0, 3.0, 4.0):
        now.add(torch.tensor(value))
        later.add(torch.tensor(value))
    assert later.values == [1.0, 2.0, 3.0]
    later.flush()
    assert now.values == later.values == [1.0, 2.0, 3.0, 4.0]
    with pytest.raises(FloatingPointError):
        now.add(torch.tensor(float("nan")))
    later.add(torch.tensor(float("inf")))
    with pytest.raises(FloatingPointError):
        later.flush()


def test_workers_decode_what_the_process_itself_would():
    images = data.CompressedImages(3, 32)
    loader = torch.utils.data.DataLoader(images, batch_size=3, num_workers=1)
    ((pixels, labels),) = loader
    assert torch.equal(pixels, torch.stack([images[index][0] for index in range(3)]))
    assert labels.tolist() == [0, 1, 2]
    assert pixels.std() > 0.1


def test_names_are_unique_and_expectations_name_rules_as_rules_are_named():
    names = [scenario.name for scenario in scenarios.SCENARIOS]
    assert len(set(names)) == len(names)
    known = {rule.id for rule in RULES}
    for scenario in scenarios.SCENARIOS:
        variants = [variant.name for variant in scenario.variants]
        assert len(set(variants)) == len(variants)
        expected = [rule for v in scenario.variants for e in v.expected for rule in e.any_of]
        assert bool(expected) != scenario.healthy or scenario.on_cpu
        assert all(
            (variant.build is None) != (variant.record is None) for variant in scenario.variants
        )
        # Rules of waits are all there; a misspelled one would never be found.
        assert {rule for rule in expected if rule.startswith("sync-")} <= known
