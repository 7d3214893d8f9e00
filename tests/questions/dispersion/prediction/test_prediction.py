"""Planted predictors are found and ranked; nothing is found where there is nothing."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import KFold

from core.errors import InputError
from core.questions.dispersion import prediction
from core.questions.dispersion.prediction import (
    FOLDS,
    REPEATS,
    STRENGTHS,
    TOGETHER,
    predict,
)
from core.questions.dispersion.question import predictor_findings


@pytest.fixture(autouse=True)
def few_halves(monkeypatch):
    monkeypatch.setattr(prediction, "HALVES", 12)


def draw(n: int = 200, *, seed: int = 0) -> tuple[np.ndarray, dict[str, pd.DataFrame]]:
    """Return a target of 3 a + 0.7 b + 2 [scene = sea] + noise, and its predictors beside useless
    ones.
    """
    rng = np.random.default_rng(seed)
    image = pd.DataFrame(rng.normal(size=(n, 4)), columns=["a", "b", "useless", "copied"])
    scenes = rng.choice(["sea", "hill", "city"], n)
    factor = pd.DataFrame(
        {
            "scene": scenes,
            "id": [f"s{i}" for i in range(n)],
            "weather": rng.choice(["rain", "sun"], n),
        }
    )
    target = 3 * image["a"] + 0.7 * image["b"] + 2 * (scenes == "sea") + rng.normal(size=n)
    return target.to_numpy(), {"image": image, "factor": factor}


def test_planted_predictors_come_first_in_order_and_nothing_else_counts():
    table = predict(*draw())
    assert table["predictor"].head(3).tolist() == ["a", "scene", "b"]
    assert (table["low"].head(3) > 0).all()
    assert table["importance"].iloc[0] == pytest.approx(
        2 * 9 / (9 + 0.49 + 8 / 9 + 1), abs=0.15
    )  # 2 β² var(x) / var(y)
    alone = table[(table["covers"] == 1) & (table["reason"] == "")]
    assert alone["importance"].iloc[3:].abs().max() < 0.01
    assert (table["r2_low"].iloc[0], table["r2_high"].iloc[0]) == pytest.approx(
        (0.91, 0.91), abs=0.06
    )
    assert table["r2"].nunique() == 1


def test_tests_of_each_predictor_alone_are_adjusted_over_all_of_them():
    target, predictors = draw()
    table = predict(target, predictors).set_index(["kind", "predictor"])
    assert table.loc[("image", "b"), "spearman"] == pytest.approx(
        stats.spearmanr(predictors["image"]["b"], target).statistic
    )
    p = table["p"].dropna()
    assert p.index.size == 6  # four numbers and two texts
    assert table.loc[p.index, "p_adjusted"].to_numpy() == pytest.approx(
        stats.false_discovery_control(p)
    )


def test_a_predictor_that_cannot_be_used_stays_in_the_table_with_its_reason():
    table = predict(*draw()).set_index("predictor")
    assert "no two values" in table.loc["id", "reason"]
    assert table.loc["id", ["importance", "low", "p", "p_adjusted"]].isna().all()
    assert (table.drop(index="id")["reason"] == "").all()


def test_importance_is_the_mean_over_permutations_of_a_slow_count():
    """The oracle fits with the same regression, permutes columns at random and predicts again."""
    target, predictors = draw(60)
    x = predictors["image"].to_numpy()
    x = (x - x.mean(axis=0)) / x.std(axis=0)
    spread, r2, lost, rng = (
        ((target - target.mean()) ** 2).sum(),
        [],
        np.zeros((REPEATS, 150)),
        np.random.default_rng(3),
    )
    for repeat in range(REPEATS):
        errors = 0.0
        for train, test in KFold(FOLDS, shuffle=True, random_state=5 + repeat).split(x):
            model = RidgeCV(STRENGTHS * len(train)).fit(x[train], target[train])
            error = ((target[test] - model.predict(x[test])) ** 2).sum()
            errors += error
            for draw_ in range(150):
                moved = x[test].copy()
                moved[:, 0] = rng.permutation(moved[:, 0])
                lost[repeat, draw_] += ((target[test] - model.predict(moved)) ** 2).sum() - error
        r2.append(1 - errors / spread)
    table = predict(target, {"image": predictors["image"]}, seed=5)
    found = table.set_index("predictor").loc["a", "importance"]
    assert table["r2"].iloc[0] == pytest.approx(np.mean(r2))
    assert found == pytest.approx(
        lost.mean() / spread, abs=4 * (lost / spread).std() / np.sqrt(lost.size)
    )


def test_a_copy_takes_a_predictors_importance_and_the_row_of_the_kind_shows_it():
    target, predictors = draw()
    alone = predict(target, predictors).set_index("predictor")
    predictors["image"]["copied"] = predictors["image"]["a"]
    copied = predict(target, predictors).set_index(["kind", "predictor"])
    assert copied.loc[("image", "a"), "importance"] < 0.5 * alone.loc["a", "importance"]
    assert copied.loc[("image", TOGETHER), "importance"] > 0.9 * alone.loc["a", "importance"]
    assert copied.loc[("image", TOGETHER), "covers"] == 4
    assert copied.loc[("factor", TOGETHER), "covers"] == 2  # the ids are left out
    assert copied.loc[("image", "a"), "spearman"] == copied.loc[("image", "copied"), "spearman"]


def test_of_a_shuffled_target_nothing_is_predicted(monkeypatch):
    monkeypatch.setattr(prediction, "REPEATS", 1)
    monkeypatch.setattr(prediction, "HALVES", 6)
    target, predictors = draw(100)
    found, p = [], []
    for seed in range(12):
        shuffled = np.random.default_rng(seed).permutation(target)
        table = predict(shuffled, predictors, seed=seed)
        found.append(table.iloc[0])
        p.append(table["p"].dropna())
    heads = pd.DataFrame(found)
    assert (heads["r2_low"] <= 0).mean() > 0.9
    assert heads["r2"].mean() < 0
    assert stats.kstest(np.concatenate(p), "uniform").pvalue > 0.01


def test_the_order_of_stimuli_and_the_units_change_no_test_and_little_else():
    target, predictors = draw()
    order = np.random.default_rng(1).permutation(len(target))
    first = predict(target, predictors)
    moved = predict(
        7 * target[order] - 2, {kind: table.iloc[order] for kind, table in predictors.items()}
    )
    keys = ["kind", "predictor"]
    both = first.merge(moved, on=keys)
    assert len(both) == len(first)
    assert both["spearman_x"].to_numpy() == pytest.approx(
        both["spearman_y"].to_numpy(), nan_ok=True
    )
    assert both["p_x"].to_numpy() == pytest.approx(both["p_y"].to_numpy(), nan_ok=True)
    assert both["importance_x"].to_numpy() == pytest.approx(
        both["importance_y"].to_numpy(), abs=0.05, nan_ok=True
    )


def test_the_same_seed_gives_the_same_table_and_progress_is_reported():
    heard = []
    first = predict(*draw(60), seed=2, report=lambda *said: heard.append(said))
    pd.testing.assert_frame_equal(first, predict(*draw(60), seed=2))
    assert heard[-1] == (12, 12, "regressions on halves of the stimuli")


def test_an_interval_holds_what_other_stimuli_give():
    r2 = [predict(*draw(80, seed=seed)).iloc[0][["r2", "r2_low", "r2_high"]] for seed in range(6)]
    middle = np.mean([each["r2"] for each in r2])
    assert sum(each["r2_low"] <= middle <= each["r2_high"] for each in r2) >= 5


def test_where_every_predictor_is_left_out_there_are_reasons_and_no_numbers():
    target, _ = draw(60)
    table = predict(target, {"image": pd.DataFrame({"size": [9.0] * 60})})
    assert table[["importance", "r2", "r2_low", "r2_high"]].isna().all(axis=None)
    (finding,) = predictor_findings(table)
    assert finding.verdict == "unknown"
    assert "same value" in finding.reason


def test_the_finding_says_how_much_or_that_nothing_is_predicted():
    target, predictors = draw()
    table = predict(target, predictors)
    whole, *needed = predictor_findings(table)
    assert whole.verdict == "supported"
    assert whole.value == table["r2"][0] > 0.9
    assert [one.value for one in needed] == table["importance"][: len(needed)].tolist()
    shuffled = np.random.default_rng(0).permutation(target)
    (nothing,) = predictor_findings(predict(shuffled, predictors))
    assert nothing.verdict == "open"


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda target, table: (target[:49], table[:49]), "at least 50 of them; got 49"),
        (lambda target, table: (np.where(target > 1, np.nan, target), table), "nothing to predict"),
        (lambda target, table: (target * 0, table), "nothing to predict"),
    ],
)
def test_what_cannot_be_predicted_is_refused(change, why):
    target, predictors = draw()
    target, table = change(target, predictors["image"])
    with pytest.raises(InputError, match=why):
        predict(target, {"image": table})
