"""What stitches lose: by hand, by brute force, and over a store of the smallest shipped models."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import combinations_with_replacement

import numpy as np
import pandas as pd
import pytest
import torch
from scipy.stats import ttest_ind

from core.cave.world import CaveDataset
from core.embedding.runner import embed
from core.encoders.catalog import open_encoder
from core.errors import InputError, MetricError
from core.networks import heads
from core.progress import heard_by
from core.questions.asking import ask, question_recipe
from core.questions.kept import FRESH, list_results
from core.questions.stitching import bench
from core.questions.stitching.bench import Fitting, least_path, summarize
from core.questions.stitching.question import (
    LOST,
    TOLD,
    Stitch,
    StitchMany,
    compare_kinds,
    kind_findings,
    stitch_findings,
    trend_findings,
    trend_over_competence,
)
from core.settings import CAVE_WEIGHTS
from core.store import Store
from core.study.parts import Measure
from core.study.study import Study

NAMES = ("vit-multitask-xs", "vit-clip-xs")
QUICK = Fitting(events=64, steps=2)


def test_losses_by_hand() -> None:
    own, guess = np.array([1.0, 0.8, 0.6, 0.6]), np.full(4, 0.5)
    nothing = summarize(own, own, guess)
    assert [nothing[name] for name in ("penalty", "lost", "lost_low", "lost_high")] == [0, 0, 0, 0]
    everything = summarize(guess, own, guess)
    assert everything["lost"] == everything["lost_low"] == everything["lost_high"] == 1
    half = summarize((own + guess) / 2, own, guess)
    assert half["penalty"] == pytest.approx(0.125)
    assert half["lost"] == pytest.approx(0.5)
    assert half["penalty_low"] < 0.125 < half["penalty_high"]
    assert np.isnan(summarize(own, guess, guess)["lost"])


def test_the_way_of_least_penalty_is_the_best_of_all_ways() -> None:
    dice = np.random.default_rng(0)
    for shape in ((1, 3), (3, 1), (3, 4), (5, 5)):
        penalties = dice.random(shape)
        ways = list(combinations_with_replacement(range(shape[0]), shape[1]))
        costs = [sum(penalties[x, y] for y, x in enumerate(way)) for way in ways]
        assert tuple(least_path(penalties)) == ways[int(np.argmin(costs))]
    assert least_path(np.zeros((3, 3))).tolist() == [0, 0, 0]
    with pytest.raises(InputError, match="stitch the others first"):
        least_path(np.array([[0.0, np.nan]]))


def family(rise: float, seed: int = 0) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return models of three objectives, sizes and seeds, and what pairs of them lose: `rise` more
    for every tenth of the tasks.
    """
    dice = np.random.default_rng(seed)
    models = pd.DataFrame(
        [
            {
                "model": f"{objective}-{size}#{seed}",
                "objective": objective,
                "group": objective,
                "modality": "vision",
                "recipe": f"{objective}-{size}",
                "copy": False,
                "size": size,
                "seed": seed,
                "parameters": 10.0 ** (4 + place),
            }
            for objective in ("multitask", "SimCLR", "CLIP")
            for place, size in enumerate(("XS", "S", "M"))
            for seed in range(3)
        ]
    )
    place = {"XS": 0.0, "S": 1.0, "M": 2.0}  # tenths of the tasks
    duos = bench.across_objectives(models, ("multitask", "SimCLR", "CLIP"))
    about = models.set_index("model")
    rows = [
        {
            "kind": duo.kind,
            "x": duo.x,
            "y": duo.y,
            "pairs": 2,
            "lost": 0.5 + rise * place[about.loc[duo.x, "size"]] + dice.normal(0, 0.01),
            "penalty": 0.1,
            "least_squares": 0.6,
            "own": 0.7,
            "score": 0.6,
            "chance": 0.5,
            "objective_x": about.loc[duo.x, "objective"],
            "objective_y": about.loc[duo.y, "objective"],
            "size": about.loc[duo.y, "size"],
            "competence": 0.3 + 0.1 * place[about.loc[duo.y, "size"]],
        }
        for duo in duos
    ]
    return models, pd.DataFrame(rows)


def test_a_trend_over_size_is_found_and_none_is_made_up() -> None:
    _, rows = family(-0.1)
    assert len(rows) == 3 * 3 * 6  # sizes, seeds, ordered pairs of objectives
    table = trend_over_competence(rows, draws=199, seed=0)
    row = table[table["measure"] == "lost"].iloc[0]
    assert row["rise"] == pytest.approx(-0.1, abs=0.01)
    assert row["rise_low"] < row["rise"] < row["rise_high"] < 0
    assert row["p"] <= row["q"] <= 0.05
    assert trend_findings(table)[0].verdict == "supported"
    assert trend_findings(table)[0].value == row["rise"]
    told = table[table["measure"] == TOLD].iloc[0]
    assert told["rise"] == pytest.approx(-0.1, abs=0.01)
    assert told["p"] == pytest.approx(2 / 36, abs=0.03)  # of all ways to deal two lines
    counts = table["measure"].value_counts()
    assert counts[TOLD] == counts[LOST] / 3
    idle = [trend_over_competence(family(0.0, seed)[1], draws=99, seed=0) for seed in range(10)]
    assert np.mean([trend_findings(one)[0].verdict == "open" for one in idle]) >= 0.8


def test_kinds_are_judged_beside_another_seed() -> None:
    models, _ = family(0.0)
    blank = models.iloc[[0]].assign(model="blank", group="untrained", size="S", objective="none")
    duos = bench.across_kinds(pd.concat([models, blank]), "s")
    counts = pd.Series([duo.kind for duo in duos]).value_counts()
    assert counts.to_dict() == dict.fromkeys(
        [
            bench.OTHER_SEED,
            bench.EARLY,
            bench.LATE,
            bench.SMALL,
            bench.LARGE,
            bench.UNTRAINED,
            *(f"{a} → {b}" for a in ("self-supervised", "CLIP") for b in ("supervised",)),
            *(f"{a} → {b}" for a in ("supervised",) for b in ("self-supervised", "CLIP")),
        ],
        3,
    )
    lost = {bench.OTHER_SEED: (0.1, 0.11, 0.12), bench.UNTRAINED: (0.8, 0.81, 0.83)}
    rows = pd.DataFrame(
        [{"kind": kind, "lost": value} for kind, values in lost.items() for value in values]
    )
    table = compare_kinds(rows).set_index("kind")
    row = table.loc[bench.UNTRAINED].iloc[0]
    assert row["p"] == pytest.approx(ttest_ind(*lost.values(), equal_var=False).pvalue)
    assert row["mean"] == pytest.approx(np.mean(lost[bench.UNTRAINED]))
    assert row["low"] < row["mean"] < row["high"]
    assert np.isnan(table.loc[bench.OTHER_SEED, "p"]).all()
    seed, blank = kind_findings(table.reset_index())
    assert seed.value == pytest.approx(0.11)
    assert blank.value == pytest.approx(np.mean(lost[bench.UNTRAINED]))
    assert "more than another seed" in blank.note


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Study]:
    """Return a store of the smallest shipped models over 24 held-out events."""
    quick = partial(heads.fit_head, count=64)
    root, dataset = tmp_path_factory.mktemp("stitched"), CaveDataset(size=24)
    device = torch.device("cpu")
    for name in NAMES:
        spec = f"timm:vit_tiny_patch16_224@{CAVE_WEIGHTS / name}"
        embed(root, dataset, open_encoder(spec, device=device))
    embed(root, dataset, open_encoder(f"hf:{CAVE_WEIGHTS / 'gpt2-xs'}", device=device))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(heads, "fit_head", quick)
        yield Study(Store(root), "cave")


def test_all_layers_are_kept_pair_by_pair_and_gone_on_from(study: Study, monkeypatch) -> None:
    one = Stitch(fitting=QUICK)
    table = ask(one, study)
    assert table["h"].tolist() == [
        "trained",
        "least squares",
        "random",
        "identity",
        "itself, identity",
    ]
    assert table.set_index("h").loc["itself, identity", "penalty"] == 0
    found = stitch_findings(table, ["Upper", "Lower"])
    assert "block 1 of Upper → block 1 of Lower" in found[0].claim
    assert found[0].value == table.loc[0, "lost"]
    assert found[-1].value == 0  # with itself
    assert one.plot(table).draw("light").data
    told: list[tuple[int, str]] = []
    asked = Stitch(x=NAMES[1], y=NAMES[0], fitting=QUICK, all_layers=True)
    with heard_by(lambda done, _, what: told.append((done, what))):
        whole = ask(asked, study)
    made = [done for done, what in told if what == "pairs of layers stitched"]
    assert made == [2, 3, 4]  # the first was kept
    assert whole[["layer_x", "layer_y"]].to_numpy().tolist() == [[0, 0], [0, 1], [1, 0], [1, 1]]
    assert whole.loc[0, "lost"] == table.loc[0, "lost"]
    assert whole["on_path"].sum() == 2
    assert whole["alignment"].notna().all()
    assert asked.plot(whole).draw("light").data
    assert asked.prediction_plot(whole).draw("light").data
    monkeypatch.setattr(bench, "open_bench", None)  # nothing is made again
    pd.testing.assert_frame_equal(ask(asked, study), whole)
    states = list_results(study).set_index("holds")["state"]
    assert set(states) == {FRESH}
    assert f"Fitted heads: {NAMES[0]}" in states
    again = bench.stitches_recipe(study, *NAMES, QUICK)
    assert again != bench.stitches_recipe(study, *NAMES[::-1], QUICK)
    assert question_recipe(one, study) == question_recipe(one, study)


def test_what_cannot_be_asked_is_refused_in_a_sentence(study: Study) -> None:
    for question, sentence in (
        (Stitch(x=NAMES[0]), "name --x and --y together"),
        (Stitch(x=NAMES[0], y="nothing"), "no model named 'nothing'"),
        (Stitch(x=NAMES[0], y="gpt2-xs", fitting=QUICK), "gpt2-xs is no vision model"),
        (Stitch(all_layers=True, measure=Measure("nothing")), "no metric named 'nothing'"),
        (
            StitchMany(by="competence", objectives=("CLIP",)),
            "no two of these models can be stitched",
        ),
    ):
        with pytest.raises(InputError, match=sentence):
            ask(question, study)
    with pytest.raises(MetricError, match=r"has no layer 2, only 0 … 1"):
        ask(Stitch(layer_x=2), study)
    assert bench.stitchable(study) == [NAMES[1], NAMES[0]]
