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

from core.options import build as build_question
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
    found, known = [], []
    for seed in range(5):
        lesson = prepare(study, SPACES)._replace(parts=split(study.size, draw=seed))
        *_, last = train(lesson.spaces, lesson.parts, Settings(width=4, epochs=2), seed=seed)
        test = {name: space[lesson.parts.test] for name, space in lesson.spaces.items()}
        views = last.best.apply(test)
        found.append(np.mean([recall(rank_own(*two), 10) for two in permutations(views.values())]))
        sides = list(permutations(lesson.spaces.values(), 2))
        ways = [METHODS["CCA"](x, y, lesson.parts) for x, y in sides]
        known.append(np.mean([recall(rank_own(*way), 10) for way in ways]))
    assert row["value"] == pytest.approx(np.mean(found))
    assert row["CCA"] == pytest.approx(np.mean(known))
    lead = np.array(found) - known
    low, high = stats.t.interval(0.95, 4, lead.mean(), stats.sem(lead)) if lead.std() else (0, 0)
    assert (row["over_CCA_low"], row["over_CCA_high"]) == pytest.approx((low, high), abs=1e-9)
    assert (table.groupby("measure")["CCA"].nunique() == 1).all()
    base = table[table["choice"] == "as chosen"]
    assert (base["change"] == 0).all()


def test_what_is_said_and_drawn_follows_the_table(study: Study) -> None:
    asked = question(widths=(), temperatures=())
    table = asking.ask(asked, study)
    said = ablation_findings(asked, table)
    assert said[0].startswith("As chosen, adapters reach a recall at 10 of ")
    assert said[1].startswith("As published, adapters reach a recall at 10 of ")
    assert said[-1] == "There are no intervals, since they take five trainings or more."
    sure = table.assign(change_low=-0.3, change_high=-0.1, low=0.1, high=0.2, change=-0.2)
    assert (
        "start random (−0.200, 95 % interval −0.300 to −0.100)" in ablation_findings(asked, sure)[2]
    )
    figure = ablation(table, label="alignment", mode="light")
    dots = [trace for trace in figure.data if trace.hovertext]
    assert [list(trace.x) for trace in dots] == [
        list(table.loc[table["measure"] == measure, "value"])
        for measure in ("recall_10", "alignment")
    ]
    assert len(dots[0].y) == len(pd.unique(pd.Series(dots[0].y)))
