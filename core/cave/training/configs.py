"""How the Cave's models are trained: one config each, by name, from the recipes in recipes.toml.

The main line has every objective and architecture in several sizes. Variants tell apart why models
converge: other seeds, objectives nearer to published ones, narrow supervision, disjoint task sets,
weight decay, width, shares of the data, and transfer from the other modality.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
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
ALL_TASKS = tuple(FACTORS)
TASK_SETS = 3  # for each count
_TASKS = {"all": ALL_TASKS, "one": ("largest kind",)}
_RECIPES = tomllib.loads((Path(__file__).parent / "recipes.toml").read_text("utf-8"))
_FAMILY = _RECIPES["family"]
TASK_COUNTS: list[int] = _FAMILY["task_counts"]
_SMALL = ("xs", "s", "m")
_CAUSAL = ("gpt2", "llama", "bloom")
_REPLICATED = ("vit_tiny_patch16_224", *_CAUSAL, NOTES)
_SEEDS = (1, 2)  # and 0


@dataclass(frozen=True)
class Config:
    """How one model is made.

    model: arguments of timm.create_model or of the transformers config. steps: number of updates, 0
    for an untrained model. rate: peak, after `warmup` steps, then along a cosine. snapshots: steps
    after which a copy is published as NAME-step00000. start: whose published weights it begins
    with. data: share of the training events that it sees. teacher: a frozen model of the other
    modality whose features of the same events it also predicts. varies: how it differs from the
    usual recipe. tier: `starter` and `core` are trained on two CPU cores, `family` on a GPU.
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
        return FAMILIES[self.architecture]

    @property
    def reads(self) -> Item:
        if self.architecture == NOTES:
            return "melody"
        return "image" if self.family in ("ViT", "ResNet") else "caption"

    @property
    def choices(self) -> dict[str, Any]:
        return asdict(self)


def vision(
    line: str, objective: str, size: str, *, label: str = "", title: str = "", **more: Any
) -> Config:
    """Return the config of a `line` (vit or resnet) of a size that learns an objective.

    label, title: replace the objective in its name and title. more: what differs from the
    objective's recipe.
    """
    shape = _RECIPES["sizes"][line][size]
    if line == "vit":
        depth, width, heads = shape
        architecture = "vit_tiny_patch16_224"
        model = {"img_size": IMAGE, "patch_size": 8, "depth": depth, "embed_dim": width}
        model |= {"num_heads": heads, "num_classes": 0}
    else:
        architecture = "resnet10t"
        model = {"stem_width": shape[0], "channels": shape[1], "num_classes": 0}
    recipe = dict(_RECIPES["objectives"][objective])
    if options := recipe.get("options"):
        lists = {name: tuple(one) for name, one in options.items() if isinstance(one, list)}
        tasks = {"tasks": _TASKS[options["tasks"]]} if "tasks" in options else {}
        recipe["options"] = options | lists | tasks
    name = f"{line}-{label or objective.partition(' (')[0].lower()}-{size}"
    full = f"{FAMILIES[architecture]} {size.upper()} · {title or objective}"
    steps = {"steps": _RECIPES["images"][size] // recipe["batch"]}
    return Config(name, full, architecture, objective, model, size=size, **steps | recipe | more)


def language(architecture: str, size: str, *, tier: Tier = "family") -> Config:
    """Return the config of a language model: gpt2, llama, bloom or roberta, or of melodies."""
    depth, width, heads = _RECIPES["sizes"]["text"][size]
    shape = {"num_hidden_layers": depth, "hidden_size": width, "num_attention_heads": heads}
    models: dict[str, dict[str, Any]] = {
        "gpt2": {"n_layer": depth, "n_embd": width, "n_head": heads, "n_positions": CONTEXT},
        "bloom": {"n_layer": depth, "hidden_size": width, "n_head": heads},
        "llama": {  # three matrices in its feed-forward where the others have two
            **shape,
            "intermediate_size": 8 * width // 3,
            "max_position_embeddings": CONTEXT,
            "tie_word_embeddings": True,
        },
        "roberta": {  # it counts from its padding id on
            **shape,
            "intermediate_size": 4 * width,
            "max_position_embeddings": CONTEXT + 8,
        },
    }
    steps, rate = _RECIPES["text"][size]
    return Config(
        f"{architecture}-{size}",
        f"{FAMILIES[architecture]} {size.upper()}",
        architecture,
        {"roberta": "masked language", NOTES: "next note"}.get(architecture, "language"),
        models["gpt2" if architecture == NOTES else architecture],
        steps=1500 if architecture == NOTES else steps,
        batch=32,
        rate=rate,
        decay=0.01,
        size=size,
        tier=tier,
    )


def draw_tasks(count: int) -> list[tuple[str, ...]]:
    """Return TASK_SETS random sets of `count` tasks each; no task is in two of them while the tasks
    last.
    """
    rng = np.random.default_rng([17, count])
    order = np.concatenate([rng.permutation(len(ALL_TASKS)) for _ in range(2)])
    drawn = order[: TASK_SETS * count].reshape(TASK_SETS, count)
    return [tuple(ALL_TASKS[index] for index in sorted(chosen)) for chosen in drawn]


def _main_line() -> Iterator[Config]:
    for size in _SMALL:
        tier: Tier = "family" if size == "xs" else "core"
        for objective in ("multitask", "MAE (class token)", "SimCLR", "CLIP"):
            yield vision("vit", objective, size, tier=tier)
        start = f"vit-clip-{size}"
        yield vision("vit", "CLIP fine-tuned (multitask)", size, label="tuned", start=start)
        yield vision("vit", "untrained", size)
        yield vision("resnet", "multitask", size, tier="core" if size == "s" else "family")
    yield vision("resnet", "untrained", "s")
    for size in _RECIPES["text"]:
        for architecture in _CAUSAL:
            yield language(architecture, size, tier="core" if size in _SMALL else "family")
    yield from (language("roberta", size) for size in ("s", "m"))
    yield from (_untrained(language(architecture, "s")) for architecture in _CAUSAL)
    yield from (language(NOTES, size) for size in ("xs", "s"))
    yield _untrained(language(NOTES, "xs"))


def _untrained(config: Config) -> Config:
    name = f"{config.architecture}-untrained-{config.size}"
    title = f"{config.title} · untrained"
    return replace(config, name=name, title=title, objective="untrained", steps=0)


def _narrow() -> Iterator[Config]:
    for size in _SMALL:
        yield vision("vit", "supervised (one label)", size, label="narrow")
        start = f"vit-clip-{size}"
        yield vision("vit", "CLIP fine-tuned (one label)", size, label="tuned-narrow", start=start)


def _task_sets() -> Iterator[Config]:
    named = {
        f"{count}tasks-set{number}": (f"{count} task{'s' * (count > 1)}, set {number}", tasks)
        for count in TASK_COUNTS
        for number, tasks in enumerate(draw_tasks(count), 1)
    }
    named |= {
        label: (f"{label} alone", tuple(tasks)) for label, tasks in _FAMILY["special"].items()
    }
    for label, (title, tasks) in named.items():
        options = {"tasks": tasks}
        yield vision(
            "vit", "multitask", "s", label=label, title=title, options=options, varies="tasks"
        )


def _simplicity() -> Iterator[Config]:
    usual = vision("vit", "multitask", "xs")
    for decay in _FAMILY["decays"]:
        title = f"weight decay {decay:g}"
        yield _variant(usual, f"decay{decay:g}", title, decay=decay, varies="weight decay")
    for width in _FAMILY["widths"]:
        model = {**usual.model, "embed_dim": width}
        yield _variant(usual, f"width{width}", f"width {width}", model=model, varies="width")


def _learners() -> tuple[Config, Config]:
    return vision("vit", "multitask", "xs"), language("gpt2", "xs")


def _data() -> Iterator[Config]:
    for usual in _learners():
        for part in _FAMILY["shares"]:
            title = f"1/{part} of the data"
            yield _variant(usual, f"data1of{part}", title, data=1 / part, varies="data")


def _transfer() -> Iterator[Config]:
    for usual in (*_learners(), *_data()):
        teacher, label = _FAMILY["teachers"][usual.name.split("-data")[0]]
        yield _variant(usual, label, f"with {label}", teacher=teacher, varies="transfer")


def _variant(usual: Config, label: str, title: str, **changes: Any) -> Config:
    return replace(usual, name=f"{usual.name}-{label}", title=f"{usual.title} · {title}", **changes)


def _replicates(line: Iterable[Config], narrow: Iterable[Config]) -> Iterator[Config]:
    """Train again, from another initialization or from a replicate of the start, with the data in
    another order: what is trained of the main line up to M, narrow supervision up to S, the shares
    of data and transfer twice; the strengths of simplicity once.
    """
    trained = [
        config
        for config in line
        if config.steps and config.size in _SMALL and config.architecture in _REPLICATED
    ]
    small = [config for config in narrow if config.size != "m"]
    again = [(seed, (*trained, *small, *_data(), *_transfer())) for seed in _SEEDS]
    for seed, configs in (*again, (1, (*_simplicity(),))):
        for config in configs:
            start = f"{config.start}-seed{seed}" if config.start else None
            changes = {"seed": seed, "start": start, "snapshots": (), "tier": "family"}
            yield _variant(config, f"seed{seed}", f"seed {seed}", **changes)


def _table() -> dict[str, Config]:
    """Name every config, and mark the starters and the models that publish copies on the way, at
    about equal steps of the logarithm.
    """
    table = {}
    line, narrow = list(_main_line()), list(_narrow())
    published = (  # nearer to the letter of their works than the main line's
        *(vision("vit", "MAE (published)", size, label="mae-published") for size in ("xs", "s")),
        vision("vit", "DINO (with KoLeo)", "s"),
    )
    variants = *published, *narrow, *_task_sets(), *_simplicity(), *_data(), *_transfer()
    for config in (*line, *variants, *_replicates(line, narrow)):
        if config.name in _FAMILY["starters"]:
            config = replace(config, tier="starter")
        if config.name in _FAMILY["tracked"]:
            steps = tuple(max(1, config.steps // part) for part in (40, 15, 6, 2))
            config = replace(config, snapshots=steps)
        table[config.name] = config
    return table


CONFIGS = _table()


def select(names: Iterable[str] = (), *, tiers: Iterable[Tier] = ()) -> list[Config]:
    """Return the configs of these names and of these tiers, in the table's order: a `start`
    precedes what begins with it.

    Raises UnknownNameError.
    """
    for name in names:
        if name not in CONFIGS:
            raise UnknownNameError("training config", name, CONFIGS)
    chosen = CONFIGS.values()
    return [one for one in chosen if one.name in set(names) or one.tier in set(tiers)]
