"""Which hue stands for which group of models.

Objectives of vision models and families of language models have ten hues each, in a light and a
dark form; any two of them stay apart for people who see no red or no green. Within a dataset
groups take them in the order in which they came, so that a further model changes no color; from
the eleventh on the marks change, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from zlib import crc32

from core.modalities import Grouping

Pair = tuple[str, str]  # light, dark

OBJECTIVES: Mapping[str, Pair] = {
    "supervised": ("#3355CF", "#5A75F2"),
    "masked": ("#2FA084", "#74EBA0"),
    "self-distilled": ("#B072F3", "#DDB5FC"),
    "clip": ("#B23C0A", "#D2652A"),
    "clip-tuned": ("#A28A12", "#D6B13A"),
    "multitask": ("#7A1165", "#C475A4"),
    "masked-published": ("#A8398A", "#BB3658"),
    "an eighth": ("#1C15A5", "#A495F0"),
    "a ninth": ("#393313", "#D7FB2F"),
    "a tenth": ("#2A0B3B", "#AD2CA7"),
}
FAMILIES: Mapping[str, Pair] = {
    "gpt": ("#2A5CDA", "#6A8BFA"),
    "llama": ("#96690A", "#E9A02F"),
    "bloom": ("#8A1060", "#C65F8B"),
    "bert": ("#2DA096", "#5FE8D8"),
    "a fifth": ("#1C15A5", "#77B6E1"),
    "a sixth": ("#96556A", "#AD4C3F"),
    "a seventh": ("#72480B", "#D07843"),
    "an eighth": ("#4D8CF5", "#5E46F9"),
    "a ninth": ("#240E40", "#AD2CA7"),
    "a tenth": ("#432E14", "#EFD62F"),
}
UNTRAINED: Pair = ("#7C828A", "#9AA0A8")
_GRAY = "untrained"
_KINDS = (  # the first word found in a lowercase objective or family decides; the order matters
    ("untrained", _GRAY),
    ("random", _GRAY),
    ("fine-tun", "clip-tuned"),
    ("finetun", "clip-tuned"),
    ("clip-", "clip-tuned"),
    ("clip+", "clip-tuned"),
    ("clip", "clip"),
    ("mae (published", "masked-published"),
    ("mae", "masked"),
    ("masked auto", "masked"),
    ("masked image", "masked"),
    ("dino", "self-distilled"),
    ("distill", "self-distilled"),
    ("simclr", "self-distilled"),
    ("contrast", "self-distilled"),
    ("multi", "multitask"),
    ("attribute", "multitask"),
    ("task", "multitask"),
    ("supervis", "supervised"),
    ("classif", "supervised"),
    ("augreg", "supervised"),
    ("gpt", "gpt"),
    ("llama", "llama"),
    ("bloom", "bloom"),
    ("bert", "bert"),
)
_MARKS = ("", "-dot", "-open-dot")  # what a symbol becomes with every ten groups, 30 in all
REALITY = ("reality", "world")  # has the color of ink


@dataclass(frozen=True)
class Look:
    """How a group is drawn: its hue, and what its mark has besides the modality's symbol."""

    hue: Pair
    mark: str = ""


_SHOWN: ContextVar[Mapping[str, Look]] = ContextVar("looks", default={})  # noqa: B039 - never changed


def show(looks: Mapping[str, Look]) -> None:
    """Draw the groups of a dataset so, in this thread, until another dataset is shown."""
    _SHOWN.set(looks)


def look_of(name: str) -> Look:
    """Return how an objective or family is drawn: as its dataset has it; outside of any dataset as
    its kind, or if that is unknown in a fixed hue.
    """
    kind, key = _kind(name), _key(name)
    if kind == _GRAY:
        return Look(UNTRAINED)
    hues = {**OBJECTIVES, **FAMILIES}
    if kind != _kind(key):  # supervised, fewer tasks: a kind of its own
        return Look(hues[kind])
    return _SHOWN.get().get(key) or Look(hues.get(kind) or _stranger(key))


def assign(groups: Iterable[tuple[str, Grouping]]) -> dict[str, Look]:
    """Give each group of a dataset a look of its own.

    groups: what the models are grouped by, in the order in which they came. A group takes the hue
    of its kind, or if there is none or another group has it the first that is free.
    """
    looks: dict[str, Look] = {}
    used: dict[Grouping, set[Look]] = {}
    for name, grouping in groups:
        hues, key = OBJECTIVES if grouping == "objective" else FAMILIES, _key(name)
        if key not in looks and _kind(name) != _GRAY and key not in REALITY:
            others = used.setdefault(grouping, set())
            looks[key] = _free(_kind(name), hues, others)
            others.add(looks[key])
    return looks


def _free(kind: str, hues: Mapping[str, Pair], used: set[Look]) -> Look:
    named = {kind for _, kind in _KINDS}
    order = [kind] if kind in hues else []  # then hues of no kind, whose own group may yet come
    order += sorted((name for name in hues if name != kind), key=lambda name: name in named)
    looks = (Look(hues[name], mark) for mark in _MARKS for name in order)
    return next((look for look in looks if look not in used), Look(hues[order[0]]))


def _kind(name: str) -> str:
    return next((kind for word, kind in _KINDS if word in name.lower()), "")


def _key(name: str) -> str:
    """Return the name without what follows a comma: a part of a group has the group's look."""
    return name.partition(",")[0].lower()


def _stranger(key: str) -> Pair:
    hues = [*OBJECTIVES.values(), *FAMILIES.values()]
    return hues[crc32(key.encode()) % len(hues)]


MODALITY: Mapping[str, Pair] = {
    "vision": ("#B8480F", "#F08A4B"),
    "language": ("#2457C5", "#7BA3FF"),
    "music": ("#7C4D94", "#C79BE0"),
}
FURTHER_MODALITY: Pair = ("#1F7A68", "#5FD0B8")


def modality_hue(name: str, mode: str) -> str:
    """Return the color of a modality; all without one of their own share the fourth."""
    return MODALITY.get(name, FURTHER_MODALITY)[mode == "dark"]
