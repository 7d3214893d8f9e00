"""Queries and keys of one language model after the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch

from core.encoders.checkpoint import MAKING, read_notes
from core.encoders.language.encoder import LanguageEncoder, open_language
from core.errors import UnknownNameError
from core.modalities import MUSIC
from core.settings import CAVE_WEIGHTS, check_readable
from core.stimuli.worlds import the_cave
from core.theory.attention.balance import (
    Sides,
    alike,
    apart,
    gradient_sides,
    mix_units,
    project,
    weight_sides,
)
from core.theory.attention.matrices import find_layers, is_turned
from core.theory.attention.question import Attention
from core.theory.looks import Look, Run, in_one_thread

FAMILIES = ("gpt2", "llama", "bloom")
Texts = Sequence[Sequence[int]]


def usual_models() -> tuple[str, ...]:
    """Return the shipped models of size S along their training, untrained first, by family."""
    names = []
    for family in FAMILIES:
        steps = sorted(path.name for path in CAVE_WEIGHTS.glob(f"{family}-s-step*"))
        names += [f"{family}-untrained-s", *steps, f"{family}-s"]
    return tuple(names)


def complete(question: Attention) -> Attention:
    """Return a question that names its models."""
    return replace(question, models=question.models or usual_models())


def start(question: Attention) -> Run:
    """Begin a look at each model; raises UnknownNameError for one that is not shipped."""
    specs = [_spec_of(name) for name in complete(question).models]
    looks = (look(spec, captions=question.captions, seed=question.seed) for spec in specs)
    return Run(in_one_thread(looks), len(specs))


def look(spec: str, *, captions: int, seed: int) -> Look:
    """Measure the balance of every head of a model.

    Figures: model, title, family, step; rows: these with layer, head, and for `weights` and for
    `gradients` each: how far both sides are apart and how alike they are (see
    `core.theory.attention.balance`), with the name's ending _initial for the same model with fresh
    weights and _chance for the mean over random bases of one side. Gradients are NaN for a model
    that does not predict the next token.
    """
    encoder = open_language(spec, device=torch.device("cpu"), precision="fp32")
    texts = _tokens(encoder, captions)
    fresh = _fresh(encoder.model, seed)
    training = encoder.card.training
    about: dict[str, float | str] = {
        "model": encoder.card.name,
        "title": encoder.card.title,
        "family": encoder.card.family,
        "step": float(training.get("steps", float("nan"))),
    }
    columns: dict[str, torch.Tensor] = {}
    for kind in ("weights", "gradients"):
        trained, initial = (_sides(model, kind, texts) for model in (encoder.model, fresh))
        columns |= _compare(kind, trained, initial, turned=is_turned(fresh), seed=seed)
    shape = next(iter(columns.values())).shape
    rows = [
        {**about, "layer": layer + 1, "head": head + 1}
        | {name: float(values[layer, head]) for name, values in columns.items()}
        for layer in range(shape[0])
        for head in range(shape[1])
    ]
    return Look(about, rows=rows)


def _compare(
    kind: str,
    trained: tuple[Sides, Sides],
    initial: tuple[Sides, Sides],
    *,
    turned: bool,
    seed: int,
) -> dict[str, torch.Tensor]:
    first, second = (project(side, turned=turned) for side in trained)
    fresh = [project(side, turned=turned) for side in initial]
    mixed = mix_units(second, turned=turned, seed=seed)
    values = {}
    for name, measure in (("apart", apart), ("alike", alike)):
        values[f"{kind}_{name}"] = measure(first, second)
        values[f"{kind}_{name}_initial"] = measure(*fresh)
        by_chance = torch.stack([measure(first, one) for one in mixed])
        values[f"{kind}_{name}_chance"] = by_chance.mean(0)
    return values


def _sides(model: Any, kind: str, texts: Texts) -> tuple[Sides, Sides]:
    layers = find_layers(model)
    queries, keys = weight_sides(layers)
    if kind == "weights":
        return queries, keys
    if not texts:  # nothing is predicted
        return torch.full_like(queries, torch.nan), torch.full_like(keys, torch.nan)
    return gradient_sides(model, layers, texts)


def _fresh(model: Any, seed: int) -> Any:
    """Return the same architecture with weights as before training."""
    with MAKING, torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        fresh = type(model)(model.config)
    return fresh.eval().requires_grad_(False)


def _tokens(encoder: LanguageEncoder, captions: int) -> Texts:
    """Return captions of the Cave as tokens, cut where the model's positions end; none for a model
    that does not predict the next.
    """
    if not encoder.readout.is_causal:
        return []
    world = the_cave()
    texts = [world.caption(event, world.levels[0]) for event in world.sample("test", captions)]
    tokens: Texts = encoder.tokenizer(
        texts, truncation=encoder.limit is not None, max_length=encoder.limit
    )["input_ids"]
    return tokens


def _spec_of(name: str) -> str:
    if name.startswith("hf:"):
        check_readable(name)
        return name
    folder = CAVE_WEIGHTS / name
    shipped = sorted(
        path.parent.name
        for path in CAVE_WEIGHTS.glob("*/tokenizer.json")
        if read_notes(path.parent).get("modality") != MUSIC.name  # notes are no captions
    )
    if name not in shipped:
        raise UnknownNameError("shipped language model", name, shipped)
    return f"hf:{folder}"
