"""How the Cave's models are trained: one config each, by name, from the recipes in recipes.toml.

The main line has every objective and architecture in several sizes. Variants tell apart why models
converge: other seeds, objectives nearer to published ones, narrow supervision, disjoint task sets,
weight decay, width, shares of the data, transfer from the other modality, and half the steps, with
which size M was trained at first.
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
Varies = Literal["", "tasks", "weight decay", "width", "data", "transfer", "steps"]
IMAGE = 48  # pixels
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
_PUBLISHED = ("MAE (published)", "DINO (with KoLeo)")
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
    architecture = {"vit": "vit_tiny_patch16_224", "resnet": "resnet10t"}[line]
    recipe = dict(_RECIPES["objectives"][objective])
    if options := recipe.get("options"):
        lists = {name: tuple(one) for name, one in options.items() if isinstance(one, list)}
        tasks = {"tasks": _TASKS[options["tasks"]]} if "tasks" in options else {}
        recipe["options"] = options | lists | tasks
    name = f"{line}-{label or objective.partition(' (')[0].lower()}-{size}"
    full = f"{FAMILIES[architecture]} {size.upper()} · {title or objective}"
    model = _RECIPES["sizes"][architecture][size]
    steps = {"steps": _RECIPES["images"][size] // recipe["batch"]}
    return Config(name, full, architecture, objective, model, size=size, **steps | recipe | more)


def language(architecture: str, size: str, **more: Any) -> Config:
    """Return the config of a language model: gpt2, llama, bloom or roberta, or of melodies."""
    objective = {"roberta": "masked language", NOTES: "next note"}.get(architecture, "language")
    model = _RECIPES["sizes"]["gpt2" if architecture == NOTES else architecture][size]
    steps, rate = _RECIPES["text"][size]
    recipe = {"steps": 1500 if architecture == NOTES else steps, "rate": rate, "size": size}
    recipe |= {"batch": 32, "decay": 0.01}
    name, title = f"{architecture}-{size}", f"{FAMILIES[architecture]} {size.upper()}"
    return Config(name, title, architecture, objective, model, **recipe | more)


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
    untrained = [language(architecture, "s") for architecture in _CAUSAL]
    yield from (language(NOTES, size) for size in ("xs", "s"))
    for usual in (*untrained, language(NOTES, "xs")):
        name, title = f"{usual.architecture}-untrained-{usual.size}", f"{usual.title} · untrained"
        yield replace(usual, name=name, title=title, objective="untrained", steps=0)


def _varied() -> Iterator[Config]:
    """Yield what differs from a usual recipe in one thing: objectives nearer to the letter of their
    works, narrow supervision, task sets, weight decay, width, share of the data, teacher, steps.
    """
    yield from (
        vision("vit", "MAE (published)", size, label="mae-published") for size in ("xs", "s")
    )
    yield vision("vit", "DINO (with KoLeo)", "s")
    for size in _SMALL:
        yield vision("vit", "supervised (one label)", size, label="narrow")
        start = f"vit-clip-{size}"
        yield vision("vit", "CLIP fine-tuned (one label)", size, label="tuned-narrow", start=start)
    sets = {
        f"{count}tasks-set{number}": (f"{count} task{'s' * (count > 1)}, set {number}", tasks)
        for count in TASK_COUNTS
        for number, tasks in enumerate(draw_tasks(count), 1)
    }
    sets |= {label: (f"{label} alone", tuple(one)) for label, one in _FAMILY["special"].items()}
    for label, (title, tasks) in sets.items():
        changes: dict[str, Any] = {"options": {"tasks": tasks}, "varies": "tasks"}
        yield vision("vit", "multitask", "s", label=label, title=title, **changes)
    sees, reads = vision("vit", "multitask", "xs"), language("gpt2", "xs")
    for decay in _FAMILY["decays"]:
        changes = {"decay": decay, "varies": "weight decay"}
        yield _variant(sees, f"decay{decay:g}", f"weight decay {decay:g}", **changes)
    for width in _FAMILY["widths"]:
        changes = {"model": {**sees.model, "embed_dim": width}, "varies": "width"}
        yield _variant(sees, f"width{width}", f"width {width}", **changes)
    shares = [
        _variant(usual, f"data1of{part}", f"1/{part} of the data", data=1 / part, varies="data")
        for usual in (sees, reads)
        for part in _FAMILY["shares"]
    ]
    yield from shares
    for usual in (sees, reads, *shares):
        teacher, label = _FAMILY["teachers"][usual.name.partition("-data")[0]]
        yield _variant(usual, label, f"with {label}", teacher=teacher, varies="transfer")
    for usual in _main_line():
        if usual.size == "m" and usual.steps and not usual.start:
            changes = {"steps": usual.steps // 2, "varies": "steps", "tier": "family"}
            yield _variant(usual, "half", "half the steps", **changes)


def _variant(usual: Config, label: str, title: str, **changes: Any) -> Config:
    return replace(usual, name=f"{usual.name}-{label}", title=f"{usual.title} · {title}", **changes)


def _is_replicated(config: Config) -> bool:
    """Return whether a model is trained again: the main line up to M, narrow supervision up to S,
    and those that vary in data, transfer, weight decay or width.
    """
    if config.varies:
        return config.varies not in ("tasks", "steps")
    if "one label" in config.objective:
        return config.size != "m"
    usual = config.architecture in _REPLICATED and config.objective not in _PUBLISHED
    return usual and bool(config.steps) and config.size in _SMALL


def _table() -> dict[str, Config]:
    """Name every config, replicates last: another initialization or a replicate of the start, and
    the data in another order. Starters are marked, and the models that publish copies on the way,
    at about equal steps of the logarithm.
    """
    line, varied = list(_main_line()), list(_varied())
    configs = [*line, *varied]
    for seed in _SEEDS:
        for config in filter(_is_replicated, (*line, *varied)):
            if seed == 1 or config.varies not in ("weight decay", "width"):
                start = f"{config.start}-seed{seed}" if config.start else None
                changes: dict[str, Any] = {"seed": seed, "start": start, "tier": "family"}
                configs.append(_variant(config, f"seed{seed}", f"seed {seed}", **changes))
    table = {}
    for config in configs:
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
