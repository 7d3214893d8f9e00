"""How a model of the Cave is made: its config, and the recipes that configs are made by.

A config says what is built (`model`: arguments of timm.create_model or of the transformers config),
what it learns (`objective` and its `options`) and how long. `tier` says when it is trained:
`starter` and `core` are made for two CPU cores, `family` for a GPU.

Every model of the Cave's family, one config each, keyed by name.

The main line has every objective and architecture in several sizes. Beside it stand what tells
apart why models come together: replicates, of another initialization and another order of the data;
objectives nearer to published ones, narrow supervision, task sets that have nothing in common,
strengths of weight decay, widths, shares of the data, and transfer from a model of the other
modality at each share.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

import numpy as np

from core.cave.tasks import FACTORS
from core.errors import UnknownNameError
from core.modalities import Item

Tier = Literal["starter", "core", "family"]
Varies = Literal["", "tasks", "weight decay", "width", "data", "transfer"]
IMAGE = 48  # pixels: 36 patches of 8
CONTEXT = 128  # tokens
VOCABULARY = 1280  # enough that the captions' words are whole
NOTES = "note-gpt2"  # GPT-2 with notes for words
FAMILIES = {
    "vit_tiny_patch16_224": "ViT",
    "resnet10t": "ResNet",
    "gpt2": "GPT-2",
    "llama": "LLaMA",
    "bloom": "BLOOM",
    "roberta": "RoBERTa",
    NOTES: "Note GPT-2",
}
_READ: Mapping[str, Item] = {"ViT": "image", "ResNet": "image", "Note GPT-2": "melody"}


@dataclass(frozen=True)
class Config:
    """How one model is made.

    architecture: a timm model, or gpt2, llama, bloom, roberta, note-gpt2. steps, batch: number of
    updates and items in each; 0 steps: left as it was initialized. rate: peak learning rate,
    reached after `warmup` steps, then down a cosine. snapshots: steps after which a copy is
    published as NAME-step00000. start: the model whose published weights it begins with. size: xs,
    s, m, l or xl. data: the share of the training events that it ever sees. teacher: the model of
    the other modality whose features of the same events it also learns to predict, its published
    weights frozen. varies: in what it differs from the usual recipe of its objective.
    """

    name: str
    title: str
    architecture: str
    objective: str
    model: Mapping[str, Any]
    steps: int
    batch: int
    rate: float
    options: Mapping[str, Any] = field(default_factory=dict)
    decay: float = 0.05
    warmup: int = 100
    seed: int = 0
    snapshots: tuple[int, ...] = ()
    start: str | None = None
    size: str = ""
    data: float = 1.0
    teacher: str | None = None
    varies: Varies = ""
    tier: Tier = "family"

    @property
    def family(self) -> str:
        """Return the architecture line for people."""
        return FAMILIES[self.architecture]

    @property
    def reads(self) -> Item:
        """Return what it reads of a stimulus."""
        return _READ.get(self.family, "caption")

    @property
    def choices(self) -> dict[str, Any]:
        """Return the config as plain data."""
        return asdict(self)


_VIT = {"xs": (2, 48, 3), "s": (4, 64, 4), "m": (6, 96, 6)}  # depth, width, heads
_RESNET = {
    "xs": (8, [8, 16, 32, 48]),
    "s": (16, [16, 32, 64, 96]),
    "m": (32, [32, 64, 96, 160]),
}  # stem, channels
_TEXT = {
    "xs": (2, 32, 2),
    "s": (3, 64, 4),
    "m": (4, 96, 6),
    "l": (5, 120, 5),
    "xl": (6, 144, 6),
}  # depth, width, heads
_IMAGES = {"xs": 96_000, "s": 192_000, "m": 192_000}  # seen in training
_TEXT_STEPS = {"xs": 1500, "s": 2000, "m": 2500, "l": 4000, "xl": 5000}
_TEXT_RATE = {"xs": 6e-3, "s": 4e-3, "m": 3e-3, "l": 2e-3, "xl": 1.5e-3}
NARROW = ("largest kind",)  # the one label of an ordinary classifier
ALL_TASKS = tuple(FACTORS)
_OBJECTIVES: dict[str, dict[str, Any]] = {
    "multitask": {"batch": 64, "rate": 2e-3, "options": {"tasks": ALL_TASKS}},
    "MAE (class token)": {
        "batch": 64,
        "rate": 2e-3,
        "options": {"masked": 0.4, "width": 64, "depth": 2},
    },
    "MAE (published)": {
        "batch": 64,
        "rate": 2e-3,
        "options": {"masked": 0.75, "width": 32, "depth": 2},
    },
    "SimCLR": {"batch": 128, "rate": 2e-3, "options": {"temperature": 0.2, "width": 128}},
    "DINO (with KoLeo)": {  # each image in six views
        "batch": 64,
        "rate": 1.5e-3,
        "options": {
            "width": 128,
            "outputs": 512,
            "small": 4,
            "momentum": 0.99,
            "temperatures": (0.1, 0.04),
            "spread": 0.3,
        },
    },
    "CLIP": {"batch": 128, "rate": 2e-3, "options": {"width": 64, "depth": 2}},
    "supervised (one label)": {"batch": 64, "rate": 2e-3, "options": {"tasks": NARROW}},
    "CLIP fine-tuned (one label)": {"batch": 64, "rate": 5e-4, "options": {"tasks": NARROW}},
    "CLIP fine-tuned (multitask)": {"batch": 64, "rate": 5e-4, "options": {"tasks": ALL_TASKS}},
    "untrained": {"batch": 64, "rate": 0.0, "steps": 0},
}


def vision(line: str, objective: str, size: str, *, label: str = "", **more: Any) -> Config:
    """Return the config of a `line` (vit or resnet) of a size that learns an objective.

    label: stands in its name for the objective, which else stands there without its parentheses.
    title: stands for it in its title. more: what differs from the objective's recipe.
    """
    architecture, model = {"vit": _vit, "resnet": _resnet}[line](size)
    recipe = _OBJECTIVES[objective]
    name = f"{line}-{label or objective.partition(' (')[0].lower()}-{size}"
    title = f"{FAMILIES[architecture]} {size.upper()} · {more.pop('title', objective)}"
    return Config(
        name,
        title,
        architecture,
        objective,
        model,
        size=size,
        **{"steps": _IMAGES[size] // recipe["batch"], **recipe, **more},
    )


def _vit(size: str) -> tuple[str, dict[str, Any]]:
    depth, width, heads = _VIT[size]
    shape = {"depth": depth, "embed_dim": width, "num_heads": heads}
    return "vit_tiny_patch16_224", {"img_size": IMAGE, "patch_size": 8, **shape, "num_classes": 0}


def _resnet(size: str) -> tuple[str, dict[str, Any]]:
    stem, channels = _RESNET[size]
    return "resnet10t", {"stem_width": stem, "channels": channels, "num_classes": 0}


def language(architecture: str, size: str) -> Config:
    """Return the config of a language model: gpt2, llama, bloom or roberta of a size."""
    objective = "masked language" if architecture == "roberta" else "language"
    return Config(
        f"{architecture}-{size}",
        f"{FAMILIES[architecture]} {size.upper()}",
        architecture,
        objective,
        _text(architecture, size),
        steps=_TEXT_STEPS[size],
        batch=32,
        rate=_TEXT_RATE[size],
        decay=0.01,
        size=size,
    )


def notes(size: str) -> Config:
    """Return the config of a model of melodies of a size: a GPT-2 whose words are notes."""
    return replace(language(NOTES, size), objective="next note", steps=1500)


def _text(architecture: str, size: str) -> dict[str, Any]:
    depth, width, heads = _TEXT[size]
    if architecture in ("gpt2", NOTES):
        return {"n_layer": depth, "n_embd": width, "n_head": heads, "n_positions": CONTEXT}
    if architecture == "bloom":
        return {"n_layer": depth, "hidden_size": width, "n_head": heads}
    shape = {"num_hidden_layers": depth, "hidden_size": width, "num_attention_heads": heads}
    if architecture == "llama":  # three matrices in its feed-forward where the others have two
        return {
            **shape,
            "intermediate_size": 8 * width // 3,
            "max_position_embeddings": CONTEXT,
            "tie_word_embeddings": True,
        }
    return {
        **shape,
        "intermediate_size": 4 * width,
        "max_position_embeddings": CONTEXT + 8,
    }  # it counts from its padding id on


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
