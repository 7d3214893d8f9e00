"""Every model of the Cave's family, one config each, keyed by name.

The main line has every objective and architecture in several sizes. Beside it stand what tells
apart why models come together: replicates, of another initialization and another order of the data;
objectives nearer to published ones, narrow supervision, task sets that have nothing in common,
strengths of weight decay, widths, shares of the data, and transfer from a model of the other
modality at each share.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from core.errors import UnknownNameError
from core.training.configs import ALL_TASKS, NOTES, Config, Tier, language, notes, vision

OBJECTIVES = ("multitask", "MAE (class token)", "SimCLR", "CLIP")
VISION_SIZES = ("xs", "s", "m")
LANGUAGE_SIZES = ("xs", "s", "m", "l", "xl")
CAUSAL = ("gpt2", "llama", "bloom")
REPLICATED = ("vit_tiny_patch16_224", *CAUSAL, NOTES)
NOTE_SIZES = ("xs", "s")
SEEDS = (1, 2)  # beside 0
SPECIAL = {"sides": ("leftmost kind", "rightmost kind"), "weather": ("weather",)}
TASK_COUNTS = (1, 2, 4, 8, 16)
TASK_SETS = 3  # for each count
DECAYS = (0.0, 0.2, 0.8, 3.2)  # beside the usual 0.05
WIDTHS = (12, 24, 72, 96)  # beside the usual 48 of XS
SHARES = (4, 16)  # one in so many of the training events
TEACHERS = {  # of a learner: a model that never saw the learner's modality, and what it was shown
    "vit-multitask-xs": ("gpt2-s", "captions"),
    "gpt2-xs": ("vit-mae-s", "images"),
}


def draw_tasks(count: int) -> list[tuple[str, ...]]:
    """Return TASK_SETS random sets of `count` tasks each; no task is in two of them while the tasks
    last.
    """
    rng = np.random.default_rng([17, count])
    order = np.concatenate([rng.permutation(len(ALL_TASKS)) for _ in range(2)])
    drawn = order[: TASK_SETS * count].reshape(TASK_SETS, count)
    return [tuple(ALL_TASKS[index] for index in sorted(chosen)) for chosen in drawn]


def _vision_line() -> Iterator[Config]:
    for size in VISION_SIZES:
        tier: Tier = "family" if size == "xs" else "core"
        for objective in OBJECTIVES:
            yield vision("vit", objective, size, tier=tier)
        yield vision(
            "vit", "CLIP fine-tuned (multitask)", size, label="tuned", start=f"vit-clip-{size}"
        )
        yield vision("vit", "untrained", size)
        yield vision("resnet", "multitask", size, tier="core" if size == "s" else "family")
    yield vision("resnet", "untrained", "s")


def _published() -> Iterator[Config]:
    """Objectives that are nearer to what was published than the main line's: MAE to the letter, and
    self-distillation at the size of the other models of the consensus.
    """
    for size in ("xs", "s"):
        yield vision("vit", "MAE (published)", size, label="mae-published")
    yield vision("vit", "DINO (with KoLeo)", "s")


def _language_line() -> Iterator[Config]:
    for size in LANGUAGE_SIZES:
        for architecture in CAUSAL:
            tier: Tier = "core" if size in ("xs", "s", "m") else "family"
            yield replace(language(architecture, size), tier=tier)
    yield from (language("roberta", size) for size in ("s", "m"))
    yield from (_untrained(language(architecture, "s")) for architecture in CAUSAL)


def _note_line() -> Iterator[Config]:
    yield from (notes(size) for size in NOTE_SIZES)
    yield _untrained(notes("xs"))


def _narrow() -> Iterator[Config]:
    """Supervision by one label, from the start and of a trained CLIP."""
    for size in VISION_SIZES:
        yield vision("vit", "supervised (one label)", size, label="narrow")
        start = f"vit-clip-{size}"
        yield vision("vit", "CLIP fine-tuned (one label)", size, label="tuned-narrow", start=start)


def _task_sets() -> Iterator[Config]:
    for count in TASK_COUNTS:
        for number, tasks in enumerate(draw_tasks(count), 1):
            yield vision(
                "vit",
                "multitask",
                "s",
                label=f"{count}tasks-set{number}",
                title=f"{count} task{'s' * (count > 1)}, set {number}",
                options={"tasks": tasks},
                varies="tasks",
            )
    for label, tasks in SPECIAL.items():
        yield vision(
            "vit",
            "multitask",
            "s",
            label=label,
            title=f"{label} alone",
            options={"tasks": tasks},
            varies="tasks",
        )


def _simplicity() -> Iterator[Config]:
    """Five strengths of weight decay and five widths; the usual ones are of the main line."""
    usual = vision("vit", "multitask", "xs")
    for decay in DECAYS:
        yield _variant(
            usual, f"decay{decay:g}", f"weight decay {decay:g}", decay=decay, varies="weight decay"
        )
    for width in WIDTHS:
        model = {**usual.model, "embed_dim": width}
        yield _variant(usual, f"width{width}", f"width {width}", model=model, varies="width")


def _data() -> Iterator[Config]:
    for usual in (vision("vit", "multitask", "xs"), language("gpt2", "xs")):
        for part in SHARES:
            title = f"1/{part} of the data"
            yield _variant(usual, f"data1of{part}", title, data=1 / part, varies="data")


def _transfer() -> Iterator[Config]:
    """Learn beside the usual objective what a model of the other modality makes of the same events,
    at each share of the data.
    """
    learners = vision("vit", "multitask", "xs"), language("gpt2", "xs")
    for usual in (*learners, *_data()):
        learner = usual.name.split("-data")[0]
        teacher, label = TEACHERS[learner]
        yield _variant(usual, label, f"with {label}", teacher=teacher, varies="transfer")


def _variant(usual: Config, label: str, title: str, **changes: Any) -> Config:
    return replace(usual, name=f"{usual.name}-{label}", title=f"{usual.title} · {title}", **changes)


def _replicate(config: Config, seed: int) -> Config:
    """Train it anew: from another initialization, or from a replicate of its start, with the data
    in another order.
    """
    start = f"{config.start}-seed{seed}" if config.start else None
    again = _variant(config, f"seed{seed}", f"seed {seed}", seed=seed, start=start)
    return replace(again, snapshots=(), tier="family")


def _replicates(line: Iterable[Config], narrow: Iterable[Config]) -> Iterator[Config]:
    """Replicate what is trained of the main line up to M, narrow supervision up to S, the shares of
    data and transfer twice; the strengths of simplicity once.
    """
    trained = [
        config
        for config in line
        if config.steps and config.size in VISION_SIZES and config.architecture in REPLICATED
    ]
    small = [config for config in narrow if config.size != "m"]
    for seed in SEEDS:
        yield from (
            _replicate(config, seed) for config in (*trained, *small, *_data(), *_transfer())
        )
    yield from (_replicate(config, 1) for config in _simplicity())


def _milestones(config: Config) -> Config:
    """Publish four copies on the way, at about equal steps of the logarithm."""
    return replace(config, snapshots=tuple(max(1, config.steps // part) for part in (40, 15, 6, 2)))


def _untrained(config: Config) -> Config:
    """Leave it as it was initialized."""
    return replace(
        config,
        name=f"{config.architecture}-untrained-{config.size}",
        title=f"{config.title} · untrained",
        objective="untrained",
        steps=0,
        snapshots=(),
        tier="family",
    )


def _table() -> dict[str, Config]:
    """Name every config; starters and the models that publish copies on the way are marked here."""
    starters = {
        "vit-multitask-s",
        "vit-multitask-m",
        "vit-clip-s",
        "vit-mae-s",
        "gpt2-xs",
        "gpt2-s",
        "llama-s",
        "bloom-m",
    }
    tracked = {f"vit-{label}-s" for label in ("multitask", "mae", "simclr", "clip", "tuned")} | {
        "gpt2-s",
        "llama-s",
        "bloom-s",
    }
    table = {}
    line = [*_vision_line(), *_language_line(), *_note_line()]
    narrow = list(_narrow())
    reasons = [
        *_published(),
        *narrow,
        *_task_sets(),
        *_simplicity(),
        *_data(),
        *_transfer(),
    ]
    for config in (*line, *reasons, *_replicates(line, narrow)):
        marked = replace(config, tier="starter") if config.name in starters else config
        table[config.name] = _milestones(marked) if config.name in tracked else marked
    return table


CONFIGS = _table()


def select(names: Iterable[str] = (), *, tiers: Iterable[Tier] = ()) -> list[Config]:
    """Return the configs of these names and of these tiers, in the table's order: a `start` stands
    before what begins with it.

    Raises UnknownNameError.
    """
    for name in names:
        if name not in CONFIGS:
            raise UnknownNameError("training config", name, CONFIGS)
    return [
        config
        for config in CONFIGS.values()
        if config.name in set(names) or config.tier in set(tiers)
    ]
