"""Levels, ceilings, copies and verdicts over hand-made trainings whose answers are known."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
import pytest

from core.questions.convergence.levels import (
    KINDS,
    SKILL_THIRDS,
    Material,
    _sweep,
    arrange,
    kinds_to_show,
    measure_levels,
    put_on_levels,
    run_tests,
)
from core.questions.convergence.question import (
    ALL,
    FineTuned,
    Levels,
    compare_copies,
    judge,
    tally,
)
from core.study.noise import (
    ceiling_between,
    ceiling_of,
    replicated,
    summarize_replicates,
)
from core.study.parts import Comparison
from core.study.trainings import kinship

SIZES = {"XS": 1.0, "S": 2.0, "M": 3.0}


def row(model: str, line: str, modality: str = "vision", **more: object) -> dict[str, object]:
    """Return a training; a name that ends in #N is seed N of a recipe."""
    recipe, _, _ = model.partition("#")
    size = recipe.partition("-")[2].partition("-")[0].upper()
    return {
        "model": model,
        "title": model,
        "modality": modality,
        "recipe": recipe,
        "line": line,
        "start": "",
        "varies": "",
        "size": size,
        "parameters": SIZES.get(size, np.nan),
        "tasks": np.nan,
        "data": 1.0,
        "taught": (),
        **more,
    }


def family() -> pd.DataFrame:
    """Return three vision lines and two of language in three sizes and two seeds."""
    rows = [
        row(f"{line}-{size.lower()}#{seed}", f"ViT {line}")
        for line in ("mae", "clip", "sup")
        for size in SIZES
        for seed in range(2)
    ]
    rows += [
        row(f"{line}-{size.lower()}#{seed}", line, "language")
        for line in ("gpt", "llama")
        for size in SIZES
        for seed in range(2)
    ]
    return pd.DataFrame(rows)


def aligned(trainings: pd.DataFrame, *, rise: float, seed: int = 0) -> pd.DataFrame:
    """Return all pairs: 0.3, `rise` more per size, 0.4 more for seeds of one recipe, and luck."""
    rng = np.random.default_rng(seed)
    about = trainings.set_index("model")
    luck = dict(zip(about.index, rng.normal(0, 0.002, len(about)), strict=True))
    rows = []
    for x, y in combinations(about.index, 2):
        sizes = about.loc[[x, y], "parameters"].fillna(1.0).mean() - 1
        same = about.loc[x, "recipe"] == about.loc[y, "recipe"]
        rows.append((x, y, 0.3 + rise * sizes + 0.4 * same + luck[x] + luck[y]))
    return pd.DataFrame(rows, columns=["model_x", "model_y", "score"])


def test_sizes_are_ordered_by_their_parameters_and_variants_left_out():
    varied = pd.DataFrame([row("mae-s-width9", "ViT mae, width", varies="width", size="S")])
    trainings = pd.concat([family(), varied], ignore_index=True)
    leveled = put_on_levels(trainings, "size", pd.Series(dtype=float))
    assert list(leveled.names) == ["XS", "S", "M"]
    assert len(leveled.rows) == len(family())
    assert leveled.levels.tolist() == [SIZES[size] - 1 for size in leveled.rows["size"]]


def test_without_named_sizes_parameters_are_cut_into_thirds_of_each_modality():
    trainings = family().assign(size="")
    leveled = put_on_levels(trainings, "size", pd.Series(dtype=float))
    assert leveled.names[0] == "smallest"
    assert leveled.levels.tolist() == (trainings["parameters"] - 1).tolist()


def test_seeds_of_a_recipe_lie_on_one_third_of_competence():
    trainings = family()
    skill = pd.Series(np.arange(len(trainings), dtype=float), index=trainings["model"])
    skill["mae-xs#0"] = skill["sup-m#0"] = skill["sup-m#1"] = np.nan
    leveled = put_on_levels(trainings, "competence", skill)
    placed = leveled.rows.assign(level=leveled.levels)
    assert set(trainings["model"]) - set(placed["model"]) == {"sup-m#0", "sup-m#1"}
    assert (placed.groupby("recipe")["level"].nunique() == 1).all()
    assert (placed.drop_duplicates("recipe").groupby(["modality", "level"]).size() >= 2).all()


def test_data_and_tasks_put_what_varies_on_levels_with_the_usual_recipe_it_varies_from():
    some = [
        row(f"sup-xs-data1of{part}#{seed}", "ViT sup, data", varies="data", data=1 / part)
        for part in (4, 16)
        for seed in range(2)
    ]
    tasks = [row(f"sets-s-{n}", "ViT sets", varies="tasks", tasks=float(n)) for n in (1, 2, 21)]
    trainings = pd.concat([family(), pd.DataFrame([*some, *tasks])], ignore_index=True)
    data = put_on_levels(trainings, "data", pd.Series(dtype=float))
    assert list(data.names) == ["0.0625 of the data", "0.25 of the data", "all of the data"]
    assert set(data.rows["line"]) == {"ViT sup, data"}
    assert set(data.rows.loc[data.levels == 2, "model"]) == {"sup-xs#0", "sup-xs#1"}
    assert list(put_on_levels(trainings, "tasks", pd.Series(dtype=float)).names) == [
        "1 task",
        "2 tasks",
        "21 tasks",
    ]


def test_sweeps_of_two_objectives_stay_two_lines():
    trainings = family()
    more = [
        row(f"{line}-xs-decay{n}", f"ViT {line}, weight decay", varies="weight decay")
        for line in ("mae", "clip")
        for n in (1, 2)
    ]
    swept = _sweep(pd.concat([trainings, pd.DataFrame(more)], ignore_index=True), "weight decay")
    assert swept.groupby("line")["recipe"].nunique().to_dict() == {
        "ViT clip, weight decay": 3,
        "ViT mae, weight decay": 3,
    }


def test_kinds_choose_pairs_by_what_the_models_read():
    trainings = family()
    leveled = put_on_levels(trainings, "size", pd.Series(dtype=float))
    pairs = aligned(trainings, rise=0.1)
    finite = {
        kind: np.isfinite(arrange(leveled, pairs, kind).scores)
        for kind in ("all", "vision", "language", "across")
    }
    assert (finite["vision"].sum(), finite["language"].sum()) == (18 * 17, 12 * 11)
    assert finite["across"].sum() == 2 * 18 * 12
    together = finite["vision"] | finite["language"] | finite["across"]
    assert (finite["all"] == together).all()


def test_copies_and_what_they_were_made_from_are_kin():
    trainings = pd.DataFrame(
        [
            row("clip-s", "ViT clip"),
            row("tuned-s", "ViT tuned", start="clip-s"),
            row("narrow-s", "ViT narrow", start="clip-s"),
            row("mae-s", "ViT mae"),
            row("orphan-s", "ViT tuned", start="gone"),
        ]
    )
    assert kinship(trainings).astype(int).tolist() == [
        [0, 1, 1, 0, 0],
        [1, 0, 1, 0, 0],
        [1, 1, 0, 0, 0],
        [0, 0, 0, 0, 0],
        [0, 0, 0, 0, 0],
    ]


def test_models_that_learned_a_task_in_common_are_kin_where_tasks_vary():
    taught = [("scene", "count"), ("time",), ("count", "time"), (), ()]
    trainings = pd.DataFrame(
        [row(f"set{i}", "ViT multitask, tasks") | {"taught": own} for i, own in enumerate(taught)]
    )
    assert kinship(trainings).astype(int).tolist() == [
        [0, 0, 1, 0, 0],
        [0, 0, 1, 0, 0],
        [1, 1, 0, 0, 0],
        [0, 0, 0, 0, 0],
        [0, 0, 0, 0, 0],
    ]


def test_the_ceiling_is_the_mean_of_pairs_of_seeds():
    trainings = family()
    pairs = aligned(trainings, rise=0.0)
    table = summarize_replicates(trainings, pairs).set_index("recipe")
    scores = pairs.set_index(["model_x", "model_y"])["score"]
    assert table.loc["mae-s", "mean"] == pytest.approx(scores["mae-s#0", "mae-s#1"])
    assert (table["seeds"] == 2).all()
    vision = table.loc[table["modality"] == "vision", "mean"].mean()
    assert ceiling_of(table.reset_index(), "vision") == pytest.approx(vision)
    language = ceiling_between(table, "language", "language")
    assert ceiling_between(table, "vision", "language") == pytest.approx((vision * language) ** 0.5)
    assert replicated(trainings.assign(varies="width")).empty
    assert len(replicated(trainings)) == len(trainings)
    alone = summarize_replicates(trainings[trainings["model"].str.endswith("#0")], pairs)
    assert np.isnan(ceiling_of(alone, "vision"))
    assert np.isnan(ceiling_between(table, "vision", "world"))


def copies(change: float) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return models, copies whose alignment with language differs by `change` on average, and two
    language models.
    """
    rows = [row(f"clip-s#{n}", "ViT clip") for n in range(4)]
    rows += [row(f"tuned-s#{n}", "ViT tuned", start=f"clip-s#{n}") for n in range(4)]
    rows += [row("gpt-s", "gpt", "language"), row("llama-s", "llama", "language")]
    trainings = pd.DataFrame(rows)
    pairs = aligned(trainings, rise=0.0)
    step = pairs["model_x"].str.startswith("tuned") * (
        change + 0.001 * (pairs["model_x"].str[-1] > "1")
    )
    return trainings, pairs.assign(score=0.3 + 0.1 * pairs["model_y"].eq("gpt-s") + step)


def test_a_copy_is_compared_with_the_very_model_that_it_was_made_from():
    table = compare_copies(*copies(-0.05)).set_index("with")
    assert table.loc[ALL, "pairs"] == 4
    assert table.loc[ALL, "before"] == pytest.approx(0.35)
    assert table.loc["gpt-s", "before"] == pytest.approx(0.4)
    changes = np.array([-0.05, -0.05, -0.049, -0.049])
    from scipy.stats import ttest_1samp

    test = ttest_1samp(changes, 0)
    low, high = test.confidence_interval()
    got = table.loc[ALL, ["change", "low", "high", "p"]].astype(float)
    assert got.tolist() == pytest.approx([changes.mean(), low, high, test.pvalue])
    trainings, pairs = copies(-0.05)
    varied = trainings["varies"].mask(trainings["model"] == "gpt-s", "data")
    assert set(compare_copies(trainings.assign(varies=varied), pairs)["with"]) == {ALL, "llama-s"}
    (found,) = FineTuned()._findings(table.reset_index())
    assert (found.verdict, found.value) == ("supported", table.loc[ALL, "change"])


def test_copies_that_all_change_alike_are_not_tested_and_the_reason_is_said():
    trainings, pairs = copies(0.0)
    table = compare_copies(trainings, pairs.assign(score=0.3))
    assert table["p"].isna().all()
    (found,) = FineTuned()._findings(table)
    assert (found.verdict, found.reason) == (
        "open",
        "all pairs of model and copy change alike, so their spread is unknown",
    )


def test_where_low_scores_mean_aligned_sentences_and_verdicts_turn():
    both = Comparison(), Comparison(metric="shape_angle")
    trainings, pairs = swept(-0.02)
    leveled = put_on_levels(trainings, "size", pd.Series(dtype=float))
    thirds = measure_levels(leveled, pairs, "all", between=True, draws=9, seed=0)
    thirds = thirds.assign(contrast=-0.1, p=0.01)
    high, low = (Levels(comparison=one)._contrasts(thirds)[0].verdict for one in both)
    assert (high, low) == ("supported", "contradicted")
    copied = compare_copies(*copies(-0.05))
    high, low = (FineTuned(comparison=one)._findings(copied)[0].verdict for one in both)
    assert (high, low) == ("supported", "contradicted")
    high, low = (run_all((trainings, pairs), toward=one.toward) for one in both)
    known = high["value"].notna()
    assert (high["value"] == -low["value"])[known].all()


def rank_of(model: str) -> int:
    """Return the number that a name has after `rank`, else 3."""
    return int(model.partition("#")[0].partition("rank")[2] or 3)


def last_layer(model: str) -> np.ndarray:
    """Return a space of as many equal directions as the name says."""
    values = np.random.default_rng(len(model)).standard_normal((64, rank_of(model)))
    return np.linalg.qr(values - values.mean(0))[0].astype(np.float32)


def swept(change: float) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the family and sweeps whose alignment with the others changes with their rank."""
    names = [("weight decay", "decay", rank) for rank in (2, 4, 5, 6)]
    names += [("width", "width", rank) for rank in (2, 4, 5, 6)]
    more = [
        row(
            f"sup-xs-{short}rank{rank}#{seed}",
            f"ViT sup, {varies}",
            varies=varies,
        )
        for varies, short, rank in names
        for seed in range(2)
    ]
    sets = [
        row(f"sets-s-{n}tasks{one}", "ViT sets, tasks", varies="tasks", tasks=float(n))
        for n in (1, 2, 4, 8)
        for one in range(3)
    ]
    trainings = pd.concat([family(), pd.DataFrame([*more, *sets])], ignore_index=True)
    pairs = aligned(trainings, rise=0.05)
    ranks = {name: rank_of(name) - 3 for name in trainings["model"]}  # 0 of what is not swept
    tasks = trainings.set_index("model")["tasks"].fillna(0)
    moved = pairs["model_x"].map(ranks) + pairs["model_y"].map(ranks)
    moved = change * moved + 0.02 * np.log2(
        1 + np.minimum(pairs["model_x"].map(tasks), pairs["model_y"].map(tasks))
    )
    return trainings, pairs.assign(score=pairs["score"] + moved)


def run_all(of: tuple[pd.DataFrame, pd.DataFrame], toward: int = 1) -> pd.DataFrame:
    """Return all tests; the larger models are the more competent ones."""
    skill = of[0].set_index("model")["parameters"]
    return run_tests(Material(last_layer, *of, skill, draws=199, seed=0, toward=toward))


@pytest.mark.parametrize(("change", "verdict"), [(-0.02, "supported"), (0.02, "contradicted")])
def test_each_claim_is_judged_by_its_test(change, verdict):
    table = run_all(swept(change))
    names = ("competence", "capacity", "multitask", "data", "simplicity", "anna karenina")
    assert tuple(table["hypothesis"]) == names
    found = dict(zip(names, [one.verdict for one in judge(table)], strict=True))
    assert found["capacity"] == found["multitask"] == "supported"
    assert found["simplicity"] == verdict
    assert found["data"] == "unknown"  # no model was trained on less
    table = table.set_index("hypothesis")
    assert table.loc["capacity", "value"] == pytest.approx(0.1, abs=0.01)
    assert table.loc["competence", "value"] == pytest.approx(0.1, abs=0.01)
    assert table.loc["anna karenina", "value"] == pytest.approx(0.05, abs=0.01)
    assert table.loc["simplicity", "value"] == pytest.approx(-10 * change, rel=0.2)
    assert (table["low"] <= table["value"]).dropna().sum() == 5
    assert (table["q"] >= table["p"]).sum() == 5


def levels(rise: float, p: float) -> pd.DataFrame:
    rows = [
        (
            kind,
            level,
            place,
            6,
            3,
            12 if kind == "all" else 9,
            *[0.2 + rise * place] * 2,
            0.1,
            0.3,
            rise,
            rise - 0.01,
            rise + 0.01,
        )
        for kind in ("all", "across")
        for place, level in enumerate(("XS", "M"))
    ]
    names = [name for name in Levels.columns if name not in ("one", "other", "contrast")]
    table = pd.DataFrame(rows, columns=names[:-4])
    return table.assign(p=p, reason="", ceiling=np.nan, chance=0.01)


@pytest.mark.parametrize(
    ("rise", "p", "verdict"),
    [(0.1, 0.01, "supported"), (-0.1, 0.01, "contradicted"), (0.1, 0.2, "open")],
)
def test_a_trend_is_judged_whichever_way_it_goes(rise, p, verdict):
    found = Levels(by="size")._rises(levels(rise, p))
    assert [one.verdict for one in found] == [verdict] * 2
    assert [one.value for one in found] == [rise] * 2
    assert len(Levels(by="tasks")._rises(levels(rise, p).iloc[:0])) == 1


def test_one_kind_of_pairs_is_said_and_drawn_once():
    rows = levels(0.1, 0.01).query("pairs_of == 'all'")
    twice = pd.concat([rows, rows.assign(pairs_of="vision")])
    assert kinds_to_show(twice) == ["vision"]
    (found,) = Levels(by="tasks")._rises(twice)
    assert found.value == 0.1
    dots = [one for one in Levels().plot(twice).draw("light").data if one.error_y.array is not None]
    assert [list(one.y) for one in dots] == [[0.2, pytest.approx(0.3)]]


def thirds_of(table: pd.DataFrame) -> pd.DataFrame:
    """Return the means of vision as a table of thirds by thirds."""
    vision = table[table["pairs_of"] == "vision"]
    return vision.pivot(index="one", columns="other", values="adjusted")


def test_thirds_are_compared_with_each_other_and_in_a_sentence():
    trainings = family()
    pairs = aligned(trainings, rise=0.1)
    by_size = trainings.set_index("model")["parameters"]
    leveled = put_on_levels(trainings, "competence", by_size)
    parts = [measure_levels(leveled, pairs, one, between=True, draws=99, seed=0) for one in KINDS]
    table = pd.concat(parts)
    means = thirds_of(table)
    weak, middle, strong = SKILL_THIRDS
    assert means.loc[strong, strong] - means.loc[weak, weak] == pytest.approx(0.2, abs=0.01)
    assert means.loc[weak, strong] == pytest.approx(means.loc[middle, middle], abs=0.01)
    lead = table[table["pairs_of"] == "all"].iloc[0]
    assert lead["contrast"] == pytest.approx(-0.1, abs=0.01)
    weakest = Levels()._contrasts(table)[0]
    assert (weakest.verdict, weakest.value) == ("supported", lead["contrast"])
    together = Levels()._contrasts(table.assign(contrast=0.1, low=0.05, high=0.2))[0]
    assert together.verdict == "contradicted"
    assert Levels()._contrasts(table.assign(p=0.2))[0].verdict == "open"
    none = table.assign(p=np.nan, contrast=np.nan, reason="too few")
    assert Levels()._contrasts(none)[0].verdict == "unknown"
    assert len(Levels()._contrasts(table.iloc[:0])) == 1
    assert len(Levels(between=True).plot(table).draw("dark").data) == table["pairs_of"].nunique()


def test_claims_are_counted_by_verdict():
    table = run_all(swept(-0.02))
    assert tally(judge(table)) == (
        "Of 6 predictions: 5 supported, 0 contradicted, 0 open, 1 not testable here (q < .05)"
    )
