"""Each objective's loss against what its formula says."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from core.cave.tasks import FACTORS
from core.cave.training.configs import ALL_TASKS, CONFIGS
from core.cave.training.language import MaskedToken, NextToken
from core.cave.training.loop import Feed, open_feed
from core.cave.training.pool import Pool
from core.cave.training.train import make_model
from core.cave.training.vision import (
    ClassTokenAutoencoder,
    Clip,
    MaskedAutoencoder,
    SelfDistillation,
    SimCLR,
    Supervised,
    distill,
    normalize,
    random_view,
    read_class,
    waves,
)
from tests.cave.training.conftest import CPU, tiny

pytestmark = pytest.mark.slow

KINDS = {"class token": ClassTokenAutoencoder, "published": MaskedAutoencoder}


def first_batch(pool: Pool, name: str, **changes: object) -> dict[str, Tensor]:
    return open_feed(tiny(name, **changes), pool, CPU)(0)


def model_of(pool: Pool, name: str) -> torch.nn.Module:
    return make_model(CONFIGS[name], pool)[0]


def test_guessing_costs_one_in_every_task(pool: Pool) -> None:
    task = Supervised(model_of(pool, "vit-multitask-xs"), tasks=ALL_TASKS)
    torch.nn.init.zeros_(task.head.weight)
    torch.nn.init.zeros_(task.head.bias)
    assert task(first_batch(pool, "vit-multitask-xs")).item() == pytest.approx(1.0, abs=1e-5)


def test_a_model_learns_the_tasks_that_are_named(pool: Pool) -> None:
    task = Supervised(model_of(pool, "vit-multitask-xs"), tasks=("weather", "largest kind"))
    batch = first_batch(pool, "vit-multitask-xs")
    weather, kind = (list(ALL_TASKS).index(name) for name in ("weather", "largest kind"))
    logits = task.head(task.model(normalize(batch["images"])))
    split = len(FACTORS["weather"])
    truth = batch["answers"].long()
    losses = [
        F.cross_entropy(logits[:, :split], truth[:, weather]) / math.log(split),
        F.cross_entropy(logits[:, split:], truth[:, kind]) / math.log(len(FACTORS["largest kind"])),
    ]
    torch.testing.assert_close(task(batch), sum(losses) / 2)


@pytest.mark.parametrize("kind", KINDS)
def test_masked_autoencoder_is_asked_for_hidden_patches_only(pool: Pool, kind: str) -> None:
    task = KINDS[kind](model_of(pool, "vit-mae-xs"), masked=0.75, width=16, depth=1)
    assert task.shown == 9  # of 36
    batch = first_batch(pool, "vit-mae-xs")
    torch.manual_seed(3)
    order = torch.rand(4, 36).argsort(1)
    changed = batch["images"].clone()
    for row, hidden in enumerate(order[:, 9:]):
        for patch in hidden.tolist():
            y, x = divmod(patch, 6)
            changed[row, :, 8 * y : 8 * y + 8, 8 * x : 8 * x + 8] = (
                7  # one flat color in place of what was to be drawn
            )
    torch.manual_seed(3)
    before = task(batch)
    torch.manual_seed(3)
    flat = task(
        {"images": changed}
    )  # the same guesses, for the encoder saw the same; all targets are zero now
    assert flat.item() == pytest.approx(before.item() - 1, abs=0.15)


def test_published_masked_autoencoder_equals_one_image_at_a_time_by_the_formula(
    pool: Pool,
) -> None:
    """The encoder gets nothing but shown patches; the decoder gets every token in its place."""
    task = MaskedAutoencoder(model_of(pool, "vit-mae-xs"), masked=0.75, width=16, depth=1)
    batch = first_batch(pool, "vit-mae-xs")
    torch.manual_seed(5)
    loss = task(batch)
    torch.manual_seed(5)
    orders = torch.rand(4, 36).argsort(1).tolist()
    model, errors = task.model, []
    for image, order in zip(normalize(batch["images"]), orders, strict=True):
        squares = [
            image[:, 8 * y : 8 * y + 8, 8 * x : 8 * x + 8] for y in range(6) for x in range(6)
        ]
        shown = [
            model.patch_embed(squares[place][None].tile(6, 6))[0, 0] + model.pos_embed[0, 1 + place]
            for place in order[:9]
        ]
        encoded = model.norm(model.blocks(torch.stack([model.cls_token[0, 0], *shown])[None]))[0]
        tokens = [task.blank + task.places[place] for place in range(36)]
        for place, code in zip(order[:9], encoded[1:], strict=True):
            tokens[place] = task.bridge(code) + task.places[place]
        drawn = task.draw(task.decoder(torch.stack([task.bridge(encoded[0]), *tokens])[None]))[
            0, 1:
        ]
        for place in order[9:]:
            pixels = squares[place].flatten()
            target = (pixels - pixels.mean()) / (pixels.var() + 1e-6).sqrt()
            errors.append(((drawn[place] - target) ** 2).mean())
    assert loss.item() == pytest.approx(torch.stack(errors).mean().item(), rel=1e-4)
    loss.backward()
    assert model.pos_embed.grad is None  # fixed waves
    assert not model.pos_embed[:, 0].any()


def test_positions_are_sines_and_cosines_of_column_and_row() -> None:
    places = waves(3, 8)
    column, row = 2, 1  # the sixth of nine patches
    expected = [
        wave(at / scale)
        for at in (column, row)
        for wave in (math.sin, math.cos)
        for scale in (1, 100)
    ]
    assert places[row * 3 + column].tolist() == pytest.approx(expected, rel=1e-5)


def distillation_of(pool: Pool) -> SelfDistillation:
    options = {**CONFIGS["vit-dino-s"].options, "outputs": 6, "width": 16, "small": 2}
    return SelfDistillation(model_of(pool, "vit-dino-s"), **options)


def test_distillation_equals_a_slow_sum_over_pairs_of_views() -> None:
    answers, targets = torch.randn(4, 3, 5), torch.randn(2, 3, 5)
    total, terms = 0.0, 0
    for i, target in enumerate(targets.tolist()):
        for j, answer in enumerate(answers.tolist()):
            for p, q in zip(target, answer, strict=True):
                if i != j:
                    up, down = sum(map(math.exp, p)), sum(map(math.exp, q))
                    total -= sum(
                        math.exp(a) / up * math.log(math.exp(b) / down)
                        for a, b in zip(p, q, strict=True)
                    )
                    terms += 1
    assert terms == 3 * (2 * 4 - 2)
    assert distill([*answers], [*targets]).item() == pytest.approx(total / terms, rel=1e-5)


def test_teacher_follows_the_student_and_learns_nothing_itself(pool: Pool) -> None:
    task, batch = distillation_of(pool), first_batch(pool, "vit-dino-s")
    loss = task(batch)
    assert 0 < loss.item() < 10
    loss.backward()
    assert task.model.cls_token.grad is None
    assert task.student.cls_token.grad.abs().sum() > 0
    before = task.model.cls_token.clone()
    with torch.no_grad():
        task.student.cls_token += 1
        task(batch)
    torch.testing.assert_close(task.model.cls_token - before, torch.full_like(before, 0.01))


def test_center_is_a_running_mean_of_what_the_teacher_says(pool: Pool) -> None:
    task, batch = distillation_of(pool), first_batch(pool, "vit-dino-s")
    said: list[Tensor] = []
    task.teacher_head.register_forward_hook(lambda *seen: said.append(seen[-1]))
    with torch.no_grad():
        task(batch)
        task(batch)
    expected = 0.9 * 0.1 * said[0].mean(0) + 0.1 * said[1].mean(0)
    torch.testing.assert_close(task.center, expected)


def test_class_token_of_a_view_of_full_size_is_the_model_s_own(pool: Pool) -> None:
    model = model_of(pool, "vit-dino-s")
    images = normalize(first_batch(pool, "vit-dino-s")["images"])
    torch.testing.assert_close(read_class(model, images), model(images))
    small = random_view(images, area=(0.15, 0.4), side=24)
    assert small.shape == (4, 3, 24, 24)
    assert read_class(model, small).shape == (4, 64)


def test_contrastive_loss_of_two_views_equals_a_slow_sum(
    pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = SimCLR(model_of(pool, "vit-simclr-xs"), temperature=0.2, width=16)
    batch = first_batch(pool, "vit-simclr-xs")
    views: list[Tensor] = []
    monkeypatch.setattr(
        "core.cave.training.vision.random_view",
        lambda images: views.append(random_view(images)) or views[-1],
    )
    loss = task(batch)
    rows = F.normalize(task.project(task.model(torch.cat(views))), dim=1).detach()
    total = 0.0
    for i in range(8):
        others = [math.exp(float(rows[i] @ rows[j]) / 0.2) for j in range(8) if j != i]
        total -= math.log(math.exp(float(rows[i] @ rows[(i + 4) % 8]) / 0.2) / sum(others))
    assert loss.item() == pytest.approx(total / 8, rel=1e-4)


def test_caption_loss_starts_at_chance_and_ignores_padding(pool: Pool) -> None:
    task = Clip(model_of(pool, "vit-clip-xs"), width=16, depth=1)
    batch = first_batch(pool, "vit-clip-xs")
    longer = {
        **batch,
        "tokens": F.pad(batch["tokens"], (0, 5)),
        "present": F.pad(batch["present"], (0, 5)),
    }
    loss = task(batch)
    assert task(longer).item() == pytest.approx(loss.item(), rel=1e-5)
    assert 0 < loss.item() < 4 * math.log(4)


@pytest.mark.parametrize("name", ["gpt2-xs", "llama-xs", "bloom-xs"])
def test_next_token_loss_is_the_mean_surprise_of_present_tokens(pool: Pool, name: str) -> None:
    task = NextToken(model_of(pool, name))
    batch = first_batch(pool, name)
    nats = []
    for tokens, present in zip(batch["tokens"], batch["present"], strict=True):
        text = tokens[present]
        chances = task.model(input_ids=text[None]).logits[0, :-1].log_softmax(-1)
        nats += [-chances[place, token].item() for place, token in enumerate(text[1:])]
    assert task(batch).item() == pytest.approx(sum(nats) / len(nats), rel=1e-4)


def test_masked_loss_starts_at_the_size_of_the_vocabulary(pool: Pool) -> None:
    model, tokenizer = make_model(CONFIGS["roberta-s"], pool)
    assert tokenizer is not None
    task = MaskedToken(model, mask=tokenizer.mask_token_id)
    assert task(first_batch(pool, "roberta-s")).item() == pytest.approx(
        math.log(len(tokenizer)), rel=0.05
    )


def test_batch_is_a_function_of_seed_and_step(pool: Pool) -> None:
    feed, other = (
        open_feed(tiny("vit-clip-xs"), pool, CPU),
        open_feed(tiny("vit-clip-xs", seed=1), pool, CPU),
    )
    assert all(
        torch.equal(feed(3)[name], feed(3)[name]) for name in ("images", "tokens", "present")
    )
    assert not torch.equal(feed(3)["images"], feed(4)["images"])
    assert not torch.equal(feed(3)["images"], other(3)["images"])


def test_a_share_of_the_data_is_its_first_events(pool: Pool) -> None:
    feed = open_feed(tiny("vit-multitask-xs", data=1 / 4), pool, CPU)
    images = pool.pictures()
    kept = images[: round(len(images) / 4)]
    seen = torch.cat([feed(step)["images"] for step in range(4)])
    assert all((kept == image).flatten(1).all(1).any() for image in seen)


def test_image_and_caption_of_a_batch_belong_together() -> None:
    events = torch.arange(50)
    feed = Feed(
        {"images": events},
        tuple(events[:, None] + 1 for _ in range(2)),
        (0.5, 0.5),
        batch=8,
        seed=0,
    )
    batch = feed(0)
    assert torch.equal(batch["images"] + 1, batch["tokens"][:, 0])
    assert batch["present"].all()
