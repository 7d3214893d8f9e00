"""How a model of the Cave is made: its config, and the recipes that configs are made by.

A config says what is built (`model`: arguments of timm.create_model or of the transformers config),
what it learns (`objective` and its `options`) and how long. `tier` says when it is trained:
`starter` and `core` are made for two CPU cores, `family` for a GPU.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from core.modalities import Item
from core.training.attributes import ATTRIBUTES

Tier = Literal["starter", "core", "family"]
Varies = Literal["", "tasks", "weight decay", "width", "data", "transfer"]
IMAGES = 40_960  # events that are drawn for training
EVENTS = 65_536  # told in passages, the drawn ones first
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
ALL_TASKS = tuple(attribute.name for attribute in ATTRIBUTES)
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
