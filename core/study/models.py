"""The models of a study as a table: titles, training, competence."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from core.competence.records import SKILL
from core.encoders.encoder import IMPORTED, ModelCard, modality_of
from core.encoders.requests import PATCHES
from core.modalities import LANGUAGE, Item, Modality, find_modality

MODEL_COLUMNS = (
    *("model", "title", "modality", "family", "objective", "group", "parameters", "layers"),
    *("run", "step", "copy", "tasks", "size", "recipe", "varies"),
)
_TYPES = {  # of an empty table too
    **dict.fromkeys(("parameters", "step", "tasks"), "float64"),
    **dict.fromkeys(("copy", "of_patches"), "bool"),
}
FEWER = "fewer tasks"
UNKNOWN = (IMPORTED, "unknown", "")  # as a family or an objective: no kind, so no two are alike
UNTRAINED = "untrained"
READOUT = "readout"  # another one of a training that the table has
ALONE = "dissimilarities"  # of a model without known vectors
OPEN = "of unknown family"
REFUSED = "refused"  # of a model that no metric can compare


def describe(cards: Sequence[ModelCard], refused: Collection[str] = ()) -> pd.DataFrame:
    """Return a row per model: MODEL_COLUMNS; what is unknown is NaN or empty.

    group: for its hue: the objective (vision), the family (language), its own name, or its
    modality's name if these are unknown; untrained models and multitask ones of fewer tasks are
    groups of their own. run, step: of its training. copy: taken before the training's end. tasks:
    how many it was supervised on. recipe: the same for all seeds. varies: in what it differs from
    the usual training of its objective, or `seed` (an earlier seed is in the table), `readout` (its
    class token is, too), `dissimilarities` (no vectors), `refused` (no metric compares it).
    """
    rows = [_row(card) for card in cards]
    models = pd.DataFrame(rows, columns=[*MODEL_COLUMNS, "seed", "of_patches"]).astype(_TYPES)
    fewer = (models["group"] == "multitask") & (models["tasks"] < models["tasks"].max())
    titles = tell_apart(models["title"].tolist(), models["model"].tolist())
    trained, varies = ~is_measured(models), models["varies"]
    bad = models["model"].isin(refused) & trained
    first_seeds = models["seed"].where(~bad).groupby(models["recipe"]).transform("min")
    varies = varies.mask((models["seed"] > first_seeds) & (varies == ""), "seed")
    runs = models["run"] + models["step"].astype(str)
    reread = models["of_patches"] & runs.isin(runs[~models["of_patches"]])
    varies = varies.mask(reread & (varies == ""), READOUT)
    alone = pd.Series([card.geometry == ALONE for card in cards], models.index, dtype=bool)
    varies = varies.mask(alone & (varies == "") & trained, ALONE).mask(bad, REFUSED)
    models["group"] = named_kinds(models, "group").to_numpy()
    return models.assign(
        title=titles, group=models["group"].mask(fewer, FEWER), varies=varies
    ).drop(columns=["seed", "of_patches"])


def groups_by_age(models: pd.DataFrame, made_at: Mapping[str, str]) -> list[tuple[str, str, str]]:
    """Return group, modality and grouping of the models of `describe` in the order of their
    embedding (made_at, by model), then their families, then sizes by parameters.
    """
    ordered = models.assign(made=models["model"].map(made_at)).sort_values(["made", "model"])
    groups: list[tuple[str, str, str]] = []
    for row in ordered.to_dict("records"):
        modality = find_modality(row["modality"])
        groups.append((row["group"], modality.name, modality.grouping))
        if modality.grouping != "family":
            groups.append((row["family"], modality.name, "family"))
    sizes = dict.fromkeys(models.sort_values("parameters")["size"])
    return [*groups, *((size, "", "size") for size in sizes if size)]


def known_kinds(models: pd.DataFrame, by: str) -> pd.Series:
    """Return a column (family, objective, group) by model, "" if unknown."""
    kinds = models[by].fillna("").astype(str)
    plurals = models["modality"].map(lambda name: find_modality(name).plural)
    unknown = kinds.isin(UNKNOWN) | ((by == "group") & (kinds == plurals))
    return kinds.mask(unknown, "").set_axis(models["model"])


def named_kinds(models: pd.DataFrame, by: str) -> pd.Series:
    """Return `known_kinds`, with the name of the modality if unknown."""
    kinds = known_kinds(models, by)
    plurals = [find_modality(name).plural for name in models["modality"]]
    return kinds.mask(kinds == "", pd.Series(plurals, kinds.index, dtype=object))


def clusters(models: pd.DataFrame, by: str = "family") -> dict[str, str]:
    """Return a column such as family by model; the model's own name if it is unknown."""
    return {name: kind or name for name, kind in known_kinds(models, by).items()}


def lines(models: pd.DataFrame) -> dict[str, str]:
    """Return the relatives of a test by model: one family and, if known, one group."""
    family, group = known_kinds(models, "family"), known_kinds(models, "group")
    grouped = (group != "").groupby(family).transform("all")
    return {
        name: f"{family[name]} {group[name]}".strip() if grouped[name] else family[name]
        for name in family.index
    } | {name: name for name in family.index[family == ""]}


def unknown_families(models: pd.DataFrame, names: Iterable[str]) -> list[str]:
    unknown = models["family"].isin(UNKNOWN) & models["model"].isin(list(names))
    return list(models.loc[unknown & ~is_measured(models), "model"])


def open_because(models: pd.DataFrame, names: Iterable[str]) -> str:
    """Return why a test stays open, "" if all families are known."""
    unknown = unknown_families(models, names)
    if not unknown:
        return ""
    some = ", ".join(unknown[:3]) + (" …" if len(unknown) > 3 else "")
    of = "1 model is" if len(unknown) == 1 else f"{len(unknown)} models are"
    return f"{of} {OPEN} ({some}), and relatives may count several times: say it with --family"


def _row(card: ModelCard) -> tuple[Any, ...]:
    config = card.training.get("config") or {}
    step, steps = card.training.get("steps", np.nan), config.get("steps", np.nan)
    run = config.get("name", card.name)
    size = config.get("size", run.rpartition("-")[2] if config else "").upper()
    tasks = config.get("options", {}).get("tasks")  # cards of release 0.1 say how many
    tasks = np.nan if tasks is None else tasks if isinstance(tasks, int) else len(tasks)
    seed, varies = config.get("seed", card.training.get("seed", 0)), config.get("varies", "")
    own = {"objective": card.objective, "family": card.family, "own": card.name}
    group = UNTRAINED if card.objective == UNTRAINED else own[modality_of(card).grouping]
    named = card.name, card.title, card.modality, card.family, card.objective
    recipe = run.removesuffix(f"-seed{seed}")
    if not config and "seed" in card.training:
        recipe = _recipe(card, card.training["seed"])
    copy, of_patches = bool(step < steps), card.spec.endswith(PATCHES)
    about = *named, group, card.parameters, card.layers
    return *about, run, step, copy, tasks, size, recipe, varies, seed, of_patches


def _recipe(card: ModelCard, seed: int) -> str:
    named = re.sub(rf"([-_. ]+(seed|s)?|seed)[-_. ]*0*{seed}$", "", card.name)
    line = "" if card.family in UNKNOWN else card.family
    name = "" if line and card.parameters else named
    return " ".join(filter(None, (line, name, card.objective, f"{card.parameters or ''}")))


def reads(models: pd.DataFrame, item: Item) -> pd.Series:
    return _fits(models, lambda modality: modality.reads == item)


def codes_text(models: pd.DataFrame) -> pd.Series:
    return _fits(models, lambda modality: modality.codes_text)


def is_reality(models: pd.DataFrame) -> pd.Series:
    return _fits(models, lambda modality: modality.is_reality)


def is_measured(models: pd.DataFrame) -> pd.Series:
    """Return which models of `describe` are brains or people."""
    return _fits(models, lambda modality: modality.is_measured)


def _fits(models: pd.DataFrame, fits: Callable[[Modality], bool]) -> pd.Series:
    return models["modality"].map(lambda name: fits(find_modality(name))).astype(bool)


def tell_apart(titles: Sequence[str], names: Sequence[str]) -> list[str]:
    times = Counter(titles)
    return [
        title if times[title] == 1 else f"{title} ({name})"
        for title, name in zip(titles, names, strict=True)
    ]


def trained(models: pd.DataFrame) -> pd.DataFrame:
    return models[~models["copy"] & (models["group"] != UNTRAINED) & ~is_measured(models)]


def has_unfinished(models: pd.DataFrame) -> bool:
    return len(trained(models)) + int(is_measured(models).sum()) < len(models)


def usual(models: pd.DataFrame) -> pd.DataFrame:
    """Return the models of a study if none are named: one finished training per usual recipe."""
    return without_variants(trained(models))


def without_variants(models: pd.DataFrame) -> pd.DataFrame:
    return models[models["varies"] == ""]


SOLVED = "share of tasks solved"


def basis_of(solved: pd.DataFrame) -> str:
    """Return in words what the competence of vision models is. solved: of `TasksSolved`."""
    return str(solved["basis"].iloc[0]) if len(solved) else SOLVED


def language_basis(models: pd.DataFrame, competence: pd.DataFrame) -> str:
    names = models.loc[models["modality"] == LANGUAGE.name, "model"]
    return next(iter(competence.loc[competence["model"].isin(names), "unit"]), SKILL)


def skill_ranks(models: pd.DataFrame, competence: pd.DataFrame, solved: pd.DataFrame) -> pd.Series:
    """Return each model's rank by competence within its modality, 0 the lowest, 1 the highest; NaN
    if unknown or alone. competence: model, value; solved: of vision models, of `TasksSolved`.
    """
    values = skill_values(competence, solved).reindex(models["model"])
    return rank_within(values, models.set_index("model")["modality"])


def skill_values(competence: pd.DataFrame, solved: pd.DataFrame) -> pd.Series:
    language, vision = competence.set_index("model")["value"], solved.set_index("model")["solved"]
    return pd.concat([language, vision]).astype("float64")


def rank_within(values: pd.Series, group: pd.Series) -> pd.Series:
    ranks, count = values.groupby(group).rank(), values.groupby(group).transform("count")
    return ((ranks - 1) / (count - 1)).where(count > 1)
