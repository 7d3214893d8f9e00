"""What a learner takes from a frozen model of the other modality, and at what cost."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch.nn import functional as F

from core.cave.training.configs import CONFIGS
from core.cave.training.language import NextToken, Transfer, teach, width_of
from core.cave.training.loop import advance, begin, open_feed, world_of
from core.cave.training.pool import Pool
from core.cave.training.train import make_card, make_model, make_task
from core.cave.training.vision import Supervised
from core.errors import TrainingError
from core.settings import CAVE_WEIGHTS
from tests.cave.training.conftest import CPU, tiny

pytestmark = pytest.mark.slow

LEARNERS = ("gpt2-xs-images", "vit-multitask-xs-captions")


@pytest.mark.parametrize("name", LEARNERS)
def test_loss_is_its_own_and_one_minus_the_cosine(pool: Pool, name: str) -> None:
    config = tiny(name)
    model, tokenizer = make_model(config, pool)
    own = make_task(config, model, tokenizer)
    assert isinstance(own, Supervised | NextToken)
    targets = teach(config, pool, CAVE_WEIGHTS, CPU)
    batch = open_feed(config, pool, CPU, targets=targets)(0)
    batch["targets"][0] = torch.nan
    task = Transfer(own, learner=width_of(config), teacher=64)
    loss, states = own.read(batch)
    shown = batch["targets"].isfinite().all(1)
    cosines = F.cosine_similarity(task.predict(states)[shown], batch["targets"][shown])
    torch.testing.assert_close(task(batch), loss + 1 - cosines.mean())
    torch.testing.assert_close(loss, own(batch))
    batch["targets"][:] = torch.nan
    torch.testing.assert_close(task(batch), loss)


@pytest.mark.parametrize("name", LEARNERS)
def test_teachers_are_shown_what_the_learner_sees_and_no_more(pool: Pool, name: str) -> None:
    config = tiny(name, data=0.5)
    targets = teach(config, pool, CAVE_WEIGHTS, CPU)
    events = 24 if config.reads == "image" else 32
    assert targets.shape == (events, 64)
    seen = targets[: events // 2]
    torch.testing.assert_close(seen.mean(0), torch.zeros(64), atol=1e-5, rtol=0)
    torch.testing.assert_close(seen.std(0), torch.ones(64))
    assert targets[events // 2 :].isnan().all()


def test_events_that_are_not_drawn_have_no_target(pool: Pool) -> None:
    targets = teach(tiny("gpt2-xs-images"), pool, CAVE_WEIGHTS, CPU)
    assert targets.isfinite().all(1).sum() == 24


def test_teachers_never_saw_the_modality_of_their_learners() -> None:
    taught = [config for config in CONFIGS.values() if config.teacher]
    assert len(taught) == 18
    for config in taught:
        teacher = CONFIGS[str(config.teacher)]
        assert teacher.reads != config.reads
        assert teacher.objective in ("MAE (class token)", "language")


def test_a_run_learns_from_both_worlds(pool: Pool) -> None:
    config = tiny("gpt2-xs-images")
    model, tokenizer = make_model(config, pool)
    own = make_task(config, model, tokenizer)
    assert isinstance(own, NextToken)
    task = Transfer(own, learner=width_of(config), teacher=64)
    run = begin(config, task, CPU, world=world_of(config, pool))
    targets = teach(config, pool, CAVE_WEIGHTS, CPU)
    before = task.predict.weight.detach().clone()
    advance(run, open_feed(config, pool, CPU, targets=targets))
    assert not torch.equal(task.predict.weight, before)
    card = make_card(run, model, device="cpu")["training"]
    assert card["world"] == f"{pool.shown}-{pool.said}"
    assert card["config"]["teacher"] == "vit-mae-s"


def test_missing_teacher_is_named(pool: Pool, tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match="learns from vit-mae-s, whose weights are not in"):
        teach(tiny("gpt2-xs-images"), pool, tmp_path, CPU)
