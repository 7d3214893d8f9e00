"""One choice at a time: each row is a training of its own, beside baselines of the same stimuli."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import permutations

import numpy as np
import pandas as pd
import pytest
import torch
from scipy import stats

from core.errors import InputError
from core.options.declaring import build as build_question
from core.questions import asking
from core.questions.adapters.ablation.answer import ablate, complete_ablation
from core.questions.adapters.ablation.figures import ablation
from core.questions.adapters.ablation.findings import ablation_findings
from core.questions.adapters.ablation.question import Ablation
from core.questions.adapters.baselines import METHODS
from core.questions.adapters.lesson import prepare
from core.questions.adapters.maps.model import Parts, Settings, split
from core.questions.adapters.maps.training import train
from core.questions.adapters.question import PUBLISHED, Fitting
from core.questions.adapters.retrieval import rank_own, recall
from core.store import Store
from core.study.study import Study
from tests.pages.world import LANGUAGE, VISION, PaintedDataset, build

SPACES = ("vit-clip-m:2", "gpt-2-m:2")
ASKED = {"x": SPACES[:1], "y": SPACES[1:], "ref": ("reality:0",), "width": 12, "k": 5}


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    root = tmp_path_factory.mktemp("store")
    build(root, PaintedDataset(120), vision=VISION[3:4], language=LANGUAGE[2:3])
    return Study(Store(root), "cave")


@pytest.fixture(autouse=True)
def trained(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Settings]]:
    """Train for a moment, and remember how."""
    seen = list[Settings]()

    def short(spaces: object, parts: Parts, settings: Settings, **how: object) -> Iterator[object]:
        seen.append(settings)
        return train(spaces, parts, replace(settings, epochs=2), **how)

    monkeypatch.setattr("core.questions.adapters.maps.training.train", short)
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield seen
    torch.set_num_threads(before)


def question(**choices: object) -> Ablation:
    return build_question(Ablation, {**ASKED, "seeds": 1, **choices})


def test_each_row_changes_one_choice_and_the_last_is_the_proposal() -> None:
    base, *single, published = question().variants()
    assert (base.choice, base.fitting) == ("as chosen", Fitting(width=12))
    assert [f"{one.choice} {one.setting}" for one in single] == [
        "start random",
        "direction forward",
        "products raw",
        "offset no",
        "learned yes",
        *("width 16", "width 64", "width 1024"),
        *("temperature 0.02", "temperature 0.2", "temperature 1.0"),
    ]
    for one in single:
        differ = [
            name
            for name in vars(base.fitting)
            if vars(one.fitting)[name] != vars(base.fitting)[name]
        ]
        assert differ == [one.choice]
    assert (published.choice, published.fitting) == ("as published", replace(PUBLISHED, width=12))
    from_there = question(start="random", direction="forward", products="raw", offset=False)
    rows = list(from_there.variants())
    assert rows[1].setting == "canonical"
    assert "as published" not in [row.choice for row in rows]


def test_a_row_is_the_mean_over_trainings_beside_the_baselines(
    study: Study, trained: list[Settings]
) -> None:
    asked = question(seeds=5, widths=(4,), temperatures=())
    table = ablate(complete_ablation(asked, study), study, None)
    assert len(trained) == 5 * 8
    row = table[table["measure"] == "recall_10"].iloc[6]
    assert (row["choice"], row["setting"], row["seeds"]) == ("width", "4", 5)
    found, by_cca = [], []
    for seed in range(5):
        lesson = prepare(study, SPACES)._replace(parts=split(study.size, draw=seed))
        *_, last = train(lesson.spaces, lesson.parts, Settings(width=4, epochs=2), seed=seed)
        test = {name: space[lesson.parts.test] for name, space in lesson.spaces.items()}
        views = last.best.apply(test)
        found.append(np.mean([recall(rank_own(*two), 10) for two in permutations(views.values())]))
        sides = list(permutations(lesson.spaces.values(), 2))
        ways = [METHODS["CCA"](x, y, lesson.parts) for x, y in sides]
        by_cca.append(np.mean([recall(rank_own(*way), 10) for way in ways]))
    assert row["value"] == pytest.approx(np.mean(found))
    assert row["CCA"] == pytest.approx(np.mean(by_cca))
    lead = np.array(found) - by_cca
    low, high = stats.t.interval(0.95, 4, lead.mean(), stats.sem(lead)) if lead.std() else (0, 0)
    assert (row["over_CCA_low"], row["over_CCA_high"]) == pytest.approx((low, high), abs=1e-9)
    changes = {tuple(each): rows for each, rows in table.groupby(["choice", "setting"])}
    start = changes["start", "random"].iloc[0]
    assert start["p"] == pytest.approx(p_of(start["change"], start["change_low"]), abs=1e-9)
    assert (table.groupby("measure")["CCA"].nunique() == 1).all()
    base = table[table["choice"] == "as chosen"]
    assert (base[["change", "p"]] == [0, 1]).all(axis=None)
    assert base["kept"].iloc[0] == 1
    same = table[(table["kept"] == 1) & table["choice"].isin(["direction", "products", "learned"])]
    assert len(same)
    assert (same["change"] == 0).all()


def p_of(mean: float, low: float) -> float:
    """Return the two-sided p of a mean of five from the lower end of its 95 % interval."""
    error = (mean - low) / stats.t.ppf(0.975, 4)
    return 2 * stats.t.sf(abs(mean) / error, 4) if error else float(mean == 0)


def test_three_encoders_have_baselines_of_two_at_a_time_and_none_of_their_mean(
    study: Study,
) -> None:
    asked = question(z=("vit-clip-m:1",), widths=(), temperatures=())
    table = ablate(complete_ablation(asked, study), study, None).set_index("measure")
    beside = table[["CCA", "over_CCA", "ridge", "over_ridge"]]
    assert beside.loc["alignment"].isna().all(axis=None)
    assert beside.loc["recall_10"].notna().all(axis=None)
    assert table["value"].notna().all()


def test_six_widths_and_temperatures_are_the_most_and_repeated_ones_are_one(study: Study) -> None:
    asked = question(widths=(8, 16, 8), temperatures=(0.2, 0.2))
    complete = complete_ablation(asked, study)
    assert (complete.widths, complete.temperatures) == ((8, 16), (0.2,))
    seven = tuple(range(1, 8))
    for name, many in (("widths", seven), ("temperatures", tuple(map(float, seven)))):
        with pytest.raises(InputError, match=f"at most 6 {name} to try; got 7, each with train"):
            complete_ablation(question(**{name: many}), study)


def test_choices_are_named_by_adjusted_p_and_not_at_all_without_one(study: Study) -> None:
    """Of ten tests Benjamini and Hochberg take p₍ᵢ₎ ≤ i · 0.05 / 10 alone: here two of three whose
    interval excludes 0.
    """
    asked = question(widths=(), temperatures=())
    table = asking.ask(asked, study)
    single = ~table["choice"].isin(["as chosen", "as published"])
    p = pd.Series(1.0, index=table.index)
    p[table.index[single][:3]] = [0.004, 0.03, 0.009]  # start: both measures; direction: recall
    ends = {"change_low": -0.3, "change_high": -0.1, "low": 0.1, "high": 0.2, "change": -0.2}
    said = " ".join(ablation_findings(asked, table.assign(**ends, p=p)))
    assert single.sum() == 10
    shift = "(−0.200, 95 % interval −0.300 to −0.100)"
    named = f"start random {shift}; direction forward {shift}."
    assert f"these choices change recall (adjusted p < 0.05): {named}" in said
    assert "No single choice changes alignment with the reference for sure (adjusted p <" in said
    untested = " ".join(ablation_findings(asked, table))
    assert table["p"].isna().all()
    assert "single choice" not in untested
    assert "one at a time" not in untested


def test_what_is_said_and_drawn_follows_the_table(study: Study) -> None:
    asked = question(widths=(), temperatures=())
    table = asking.ask(asked, study)
    said = ablation_findings(asked, table)
    assert said[0].startswith("As chosen, adapters reach a recall at 10 of ")
    assert said[1].startswith("As published, adapters reach a recall at 10 of ")
    assert said[2].startswith("As published, adapters are trained on raw inner products, but")
    kept = table["choice"].isin(["as chosen", "direction", "products", "learned"])
    always = ablation_findings(asked, table.assign(kept=kept.astype(float)))
    assert always[3] == (
        "In 3 of 3 trainings with another loss (direction, products, learned temperature) the start"
        " was kept. It is that of the first row; where that row kept it too (1 of 1), they equal it"
        " by construction."
    )
    assert said[-1] == "There are no intervals, since they take five trainings or more."
    assert len(ablation_findings(asked, table.assign(kept=0.0))) == 4
    figure = ablation(table, label="alignment", mode="light")
    dots = [trace for trace in figure.data if trace.hovertext]
    assert [list(trace.x) for trace in dots] == [
        list(table.loc[table["measure"] == measure, "value"])
        for measure in ("recall_10", "alignment")
    ]
    assert len(dots[0].y) == len(pd.unique(pd.Series(dots[0].y)))
