"""Controls of a small world equal what its spaces, images and captions give taken literally."""

from __future__ import annotations

import io
import shutil
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from core.errors import MetricError, NotApplicableError, UnknownNameError
from core.figures.numbers import paper_p
from core.metrics import METRICS
from core.questions import controls
from core.questions.alignment.calibration import factor_groups
from core.questions.alignment.question import Alignment
from core.questions.asking import answer, ask
from core.questions.controls import (
    ALL_CONTROLS,
    ALL_FACTORS,
    CLUSTER,
    FACTOR,
    FREE,
    JOINT,
    REGRESSED,
    SHARED,
    SINGLE,
    ControlCategories,
    ControlGallery,
    ControlLadder,
    ControlMarks,
    ControlRanks,
    ControlTrend,
)
from core.questions.headline import setups_of
from core.questions.question import StudyQuestion
from core.questions.simple import (
    BAG,
    COLORS,
    LENGTH,
    PIXELS,
    ControlFeatures,
    best_features,
    simple_features,
    text_features,
)
from core.spaces.preprocess import normalize_rows
from core.statistics.controls import (
    draw_orders_within,
    group,
    partial_alignment,
    residual_alignment,
    shared_by_categories,
)
from core.statistics.nulls import draw_orders
from core.store import Store
from core.study.parts import Calibration, Comparison, LayerPair, Measure, Scope
from core.study.selections import encode
from core.study.study import Study
from tests.pages.levels import retell
from tests.pages.world import LEVELS, SMALL, PaintedDataset, build

PAIR = LayerPair("gpt2-m", 2, "vit-clip-m", 2)
SCOPE = Scope("cave")
KNN = METRICS["mutual_knn"]


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    root = tmp_path_factory.mktemp("store")
    build(
        root,
        PaintedDataset(120),
        vision=(*SMALL["vision"], ("untrained", "s", 0.0)),
        language=(("GPT2", "s", 0.5), ("GPT2", "m", 0.8), ("LLaMA", "m", 0.9)),
    )
    return Study(Store(root), "cave")


def spaces(study: Study) -> list[np.ndarray]:
    return [normalize_rows(study.spaces(name)[layer]) for name, layer in PAIR.places]


@pytest.mark.parametrize(
    ("question", "message"),
    [
        (ControlCategories(SCOPE, LayerPair("gpt2-m", y="gpt2-m")), "gpt2-m twice"),
        (ControlLadder(SCOPE, PAIR, k=500), "at most 118 neighbors of 120 stimuli; got 500"),
        (ControlRanks(SCOPE, k=119), "at most 118 neighbors"),
    ],
)
def test_one_model_twice_and_more_neighbors_than_stimuli_are_refused(
    study: Study, question: StudyQuestion, message: str
) -> None:
    with pytest.raises(MetricError, match=message):
        ask(question, study)


def test_a_null_within_a_factor_is_that_of_spaces_permuted_within_it(study: Study) -> None:
    comparison = Comparison(layers="2:2", k=5)
    calibration = Calibration(null=19, within="scene", seed=2)
    question = Alignment(
        SCOPE, (PAIR.x,), (PAIR.y,), axis="", comparison=comparison, calibration=calibration
    )
    (row,) = ask(question, study).to_dict("records")
    x, y = spaces(study)
    groups = np.arange(120) % 3  # scenes take turns
    null = [KNN(x, y[order], k=5) for order in draw_orders_within(groups, count=19, seed=2)]
    assert row["score"] == KNN(x, y, k=5)
    assert row["null_mean"] == pytest.approx(np.mean(null))
    assert row["p"] == (1 + sum(value >= row["score"] for value in null)) / 20


def test_conjunctions_add_the_hardest_factors_as_long_as_half_can_be_exchanged(
    study: Study, monkeypatch
) -> None:
    cells = {"a": np.arange(120) % 4, "b": np.arange(120), "c": np.arange(120) // 4 % 5}

    def joint(_: Study, names: str) -> np.ndarray:
        return group(pd.Series([*zip(*(cells[name] for name in names.split(",")), strict=True)]))

    monkeypatch.setattr(controls, "factor_groups", joint)
    assert controls._conjunction(study, ["a", "b", "c"]) == "a,c"
    assert controls._conjunction(study, ["b", "a"]) == ""


@pytest.mark.parametrize(
    ("within", "error", "message"),
    [
        ("scenes", UnknownNameError, "scene"),
        ("scene,hue", UnknownNameError, "hue"),
        ("900", MetricError, "expected 2 to 60 clusters; got 900"),
    ],
)
def test_what_is_no_category_is_refused(study: Study, within: str, error, message: str) -> None:
    question = Alignment(SCOPE, (PAIR.x,), (PAIR.y,), calibration=Calibration(19, within=within))
    with pytest.raises(error, match=message):
        ask(question, study)


def test_categories_of_two_factors_are_their_conjunctions(study: Study) -> None:
    question = Alignment(SCOPE, axis="", calibration=Calibration(19, within="scene,count"))
    groups = factor_groups(study, "scene,count")
    both = np.arange(120) % 3, np.arange(120) % 4
    assert len({*zip(groups.tolist(), *both, strict=True)}) == len({*zip(*both, strict=True)}) == 12
    fewer = study.under(study.clamping, stimuli=encode(np.arange(12), 120))
    with pytest.raises(MetricError, match="only 0 of 12 stimuli share their scene,count"):
        question.complete(fewer)  # before any score is computed


def test_within_without_a_null_is_refused(study: Study) -> None:
    question = Alignment(SCOPE, calibration=Calibration(within="scene"))
    with pytest.raises(MetricError, match="add --null or remove --within"):
        ask(question, study)


def test_categories_are_aligns_own_nulls(study: Study) -> None:
    table = answer(ControlCategories(SCOPE, PAIR, k=5, null=19), study).table
    assert table["null"].tolist() == [FREE, *[FACTOR] * 3, JOINT, *[CLUSTER] * 2, REGRESSED]
    names = table["name"].tolist()
    assert [*names[:4], *names[5:]] == ["", "scene", "thing_color", "count", "4", "8", ""]
    (joint,) = table[table["null"] == JOINT].to_dict("records")
    hardest = table.iloc[1:4].sort_values("null_mean", ascending=False)["name"]
    assert joint["name"] == ",".join(hardest)
    cells = study.store.stimuli("cave")[list(hardest)].drop_duplicates()
    assert (joint["categories"], joint["moved"]) == (len(cells), 120)
    row = table.iloc[1]
    calibration = Calibration(19, within="scene")
    aligned = Alignment(
        SCOPE, (PAIR.x,), (PAIR.y,), axis="", comparison=Comparison(k=5), calibration=calibration
    )
    (same,) = ask(aligned, study).to_dict("records")
    assert (row["score"], row["p"]) == (same["score"], same["p"])
    assert row["expected"] == shared_by_categories(np.arange(120) % 3, k=5)
    factors = [np.arange(120) % count for count in (3, 4, 4)]
    orders = draw_orders(120, count=19, seed=0)
    rest = residual_alignment(*spaces(study), factors, orders, k=5)
    assert table["score"].iloc[-1] == rest.score
    assert table["p"].iloc[-1] == rest.p


def test_of_many_stimuli_some_are_drawn_to_regress_factors_out(study: Study, monkeypatch) -> None:
    monkeypatch.setattr("core.questions.controls.LARGEST", 60)
    question = ControlCategories(SCOPE, PAIR, k=5, null=19, seed=4)
    row = question.answer(study).table.iloc[-1]
    drawn = np.sort(draw_orders(120, count=1, seed=4)[0, :60])
    factors = [drawn % count for count in (3, 4, 4)]
    x, y = spaces(study.under(study.clamping, stimuli=encode(drawn, 120)))
    found = residual_alignment(x, y, factors, draw_orders(60, count=19, seed=4), k=5)
    assert (row["score"], row["n"]) == (pytest.approx(found.score), found.n)


def test_rungs_are_scores_of_features_and_partial_alignment_that_of_kernels(study: Study) -> None:
    table = answer(ControlLadder(SCOPE, PAIR, k=5, null=19), study).table.set_index("control")
    x, y = spaces(study)
    webps = study.store.thumbnails("cave", range(120))
    images = [Image.open(io.BytesIO(webp)).convert("RGB").resize((16, 16)) for webp in webps]
    pixels = np.stack([np.asarray(image, float).ravel() for image in images])
    pixels = normalize_rows(pixels - pixels.mean(axis=0))
    read = [normalize_rows(layer) for layer in study.spaces(PAIR.x)]
    assert table.loc[PIXELS, "score"] == max(KNN(pixels, layer, k=5) for layer in read)
    found = partial_alignment(x, y, [pixels], draw_orders(120, count=19, seed=0))
    assert table.loc[PIXELS, "partial"] == pytest.approx(found.partial)
    assert table.loc[PIXELS, "p"] == found.p
    assert "are as similar as the next" in table.loc[BAG, "reason"]  # one word each of their own
    # colors are in the captions and in the pictures: together they explain more than either
    assert table.loc[ALL_CONTROLS, "explained"] > table["explained"].drop(ALL_CONTROLS).max()
    features = simple_features(study)
    (name,) = (one for one in study.models()["model"] if "untrained" in one)
    untrained = [normalize_rows(layer) for layer in study.spaces(name)]
    best = max(untrained, key=lambda one: max(KNN(one, layer, k=5) for layer in read))
    every = [*(normalize_rows(features[one][1]) for one in (PIXELS, COLORS)), best]
    whole = normalize_rows(np.hstack(every))
    scores = [KNN(whole, layer, k=5) for layer in read]
    assert table.loc["all of images", "score"] == max(scores)
    assert table.loc["ViT S · untrained", "of"] == "image"
    scored = table.dropna(subset="score")
    assert ((scored["low"] < scored["score"]) & (scored["score"] < scored["high"])).all()


def test_features_are_computed_once_and_what_they_read_is_noted_each_time(study: Study) -> None:
    first, again = study.noting(), study.noting()
    made = simple_features(first)
    assert simple_features(again) is made
    assert again.store.reads == first.store.reads != {}
    fewer = study.under(study.clamping, stimuli=encode(np.arange(60), 120))
    assert len(simple_features(fewer)[PIXELS][1]) == 60


def test_the_ladder_says_how_much_more_the_models_align_and_which_way(study: Study) -> None:
    found = answer(ControlLadder(SCOPE, PAIR, k=5, null=19), study)
    scores = found.table.set_index("control")["score"]
    ahead, direction = found.findings[1:]
    assert ahead.value == pytest.approx(scores.iloc[0] - scores.iloc[1:].max())
    assert ahead.low < ahead.value < ahead.high
    x, y = spaces(study)
    imbalance = METRICS["information_imbalance"]
    assert direction.value == pytest.approx(abs(imbalance(x, y) - imbalance(y, x)))
    least = PAIR.x if imbalance(x, y) < imbalance(y, x) else PAIR.y
    title = study.models().set_index("model").loc[least, "title"]
    assert direction.claim.startswith(f"{title} tells more")


def test_features_of_texts_by_hand() -> None:
    found = text_features([["red", "red", "ball"], ["red", "tree"], ["a", "tree"]])
    two = np.log(3 / 2)
    bag = found[BAG]  # in the order of how many texts have a word: red, tree, ball, a
    np.testing.assert_allclose(bag[0], [2 * two, 0, np.log(3), 0])
    np.testing.assert_allclose(bag[2], [0, two, 0, np.log(3)])
    np.testing.assert_allclose(np.linalg.norm(found[LENGTH], axis=1), 1)
    products = found[LENGTH] @ found[LENGTH].T
    assert products[1, 2] > products[0, 1] > products[0, 2]  # 7, 5 and 10 characters


@pytest.mark.parametrize("metric", ["mutual_knn", "unbiased_cka", "shape_angle"])
def test_features_are_held_against_what_the_other_model_reads(study: Study, metric: str) -> None:
    measure = Measure(metric)
    question = ControlFeatures(SCOPE, (PAIR.x, PAIR.y), measure)
    table = answer(question, study).table
    against = dict(zip(table["control"], table["against"], strict=True))
    assert (against[PIXELS], against[LENGTH]) == (PAIR.x, PAIR.y)
    every = [[normalize_rows(layer) for layer in study.spaces(name)] for name in (PAIR.x, PAIR.y)]
    score, best = METRICS[metric], max if measure.toward > 0 else min
    colors = normalize_rows(simple_features(study)[COLORS][1])
    row = table.set_index("control").loc[COLORS]
    assert row["score"] == pytest.approx(best(score(colors, layer) for layer in every[0]))
    assert row["own"] == pytest.approx(best(score(x, y) for x in every[0] for y in every[1]))
    first = best_features(table, measure).iloc[0]
    assert first["score"] == best(table["score"].dropna())
    both = answer(ControlFeatures(SCOPE, (PAIR.x, "gpt2-s"), measure), study).table
    assert both.loc[both["control"] == LENGTH, "against"].tolist() == [
        PAIR.x,
        "gpt2-s",
    ]  # both read


def test_a_gallery_of_everything_is_the_queries_share_of_the_whole_score(study: Study) -> None:
    table = answer(ControlGallery(SCOPE, PAIR, k=5), study).table
    single = table[table["setting"] == SINGLE]
    assert single["size"].tolist() == [30, 60, 120]
    x, y = spaces(study)
    order = draw_orders(120, count=1, seed=0)[0]
    small = order[:30]
    assert single["score"].iloc[0] == pytest.approx(KNN(x[small], y[small], k=5))
    lists = [np.argsort(-(one @ one.T - 9 * np.eye(120)), axis=1)[:, :5] for one in (x, y)]
    shares = [len({*a} & {*b}) / 5 for a, b in zip(*lists, strict=True)]
    assert single["score"].iloc[-1] == pytest.approx(np.mean(np.array(shares)[small]))
    assert single["chance"].tolist() == [5 / 29, 5 / 59, 5 / 119]
    assert table["reason"].iloc[-1] == "0 of 120 images share a caption"


class TwiceTold(PaintedDataset):
    """Every shorter caption is of two images, of different scenes and colors, but for its case."""

    def _caption(self, index: int, level: str) -> str:
        if level == LEVELS[0]:
            return super()._caption(index, level)
        text = super()._caption(index // 2, level)
        return f" {text.upper()}." if index % 2 else text


def test_several_captions_of_an_image_and_several_images_of_a_caption_are_averaged(
    tmp_path: Path,
) -> None:
    dataset = TwiceTold(240)
    build(tmp_path, dataset, vision=SMALL["vision"], language=SMALL["language"])
    retell(tmp_path, dataset, ["gpt-2-m"], kept={"5": 1.0, "10": 0.5})
    study = Study(Store(tmp_path), "cave")
    pair = LayerPair("gpt-2-m", 2, "vit-clip-m", 2)
    found = answer(ControlGallery(SCOPE, pair, k=5), study)
    table = found.table
    names, order = (pair.x, "gpt-2-m~5", "gpt-2-m~10"), draw_orders(240, count=1, seed=0)[0]
    told = [normalize_rows(study.spaces(name)[2]) for name in names]
    seen = normalize_rows(study.spaces(pair.y)[2])
    several, small = table[table["setting"] == "mean of 3 captions"], order[:60]
    mean = normalize_rows(sum(told) / 3)
    assert several["size"].tolist() == [60, 120, 240]
    assert several["score"].iloc[0] == pytest.approx(KNN(mean[small], seen[small], k=5))
    _, averaged, means = found.findings
    assert averaged.note.startswith(f"{several['score'].iloc[-1]:.3f} among 240")
    single = table[table["setting"] == SINGLE]["score"].iloc[-1]
    assert averaged.value == pytest.approx(several["score"].iloc[-1] - single)
    assert averaged.claim == "The mean of 3 captions per image aligns more than one"
    shared = table[table["setting"] == SHARED]
    assert shared["size"].tolist() == [30, 60, 120]
    assert means.value == pytest.approx((shared["score"] - shared["chance"]).iloc[-1])
    x, y = (one.reshape(120, 2, -1).mean(axis=1) for one in (told[1], seen))
    small = draw_orders(120, count=1, seed=0)[0][:30]
    assert shared["score"].iloc[0] == pytest.approx(KNN(x[small], y[small], k=5))
    colors = np.arange(0, 240, 2) % 4  # of the first image with each caption
    assert shared["categories"].iloc[0] == "thing_color"
    assert shared["expected"].iloc[0] == shared_by_categories(colors[small], k=5)


def test_the_trend_is_that_of_what_independent_regressions_leave(study: Study) -> None:
    found = ControlTrend(SCOPE, k=5, permutations=199).answer(study)
    table = found.table.set_index("without")
    design = np.column_stack([np.eye(count)[np.arange(120) % count] for count in (3, 4, 4)])

    def leave(space: np.ndarray) -> np.ndarray:
        space = normalize_rows(space).astype(float)
        return normalize_rows(space - design @ np.linalg.lstsq(design, space, rcond=None)[0])

    names = [sorted(side) for side in zip(*setup_pairs(study), strict=True)]
    aligned = ask(
        Alignment(
            SCOPE, *map(tuple, map(dict.fromkeys, names)), axis="", comparison=Comparison(k=5)
        ),
        study,
    )
    scores = []
    for pair in aligned.to_dict("records"):
        x, y = (leave(study.spaces(pair[f"model_{s}"])[pair[f"layer_{s}"]]) for s in "xy")
        near = [np.argsort(-(one @ one.T - 9 * np.eye(120)), axis=1)[:, :5] for one in (x, y)]
        scores.append(np.mean([len({*a} & {*b}) / 5 for a, b in zip(*near, strict=True)]))
    assert table.loc[ALL_FACTORS, "mean"] == pytest.approx(np.mean(scores))
    assert table.loc["nothing", "mean"] == pytest.approx(aligned["score"].mean())
    assert table["n"].tolist() == [120] * 3
    changes = table["change"]
    left = f"{changes[ALL_FACTORS] / changes['nothing']:.0%} of the rise"
    assert "once all categorical factors are regressed out" in found.findings[0].claim
    untested = not changes["nothing"] > 0  # too few models, here
    assert untested or found.findings[0].claim.endswith(left)


def setup_pairs(study: Study) -> list[tuple[str, str]]:
    setups = setups_of(study)
    first = [models[0] for models in setups["models"]]
    sides = (
        [name for name, item in zip(first, setups["reads"], strict=True) if item == of]
        for of in ("caption", "image")
    )
    return [*product(*sides)]


def test_ranks_are_those_of_mean_scores_and_the_leads_are_their_differences(study: Study) -> None:
    table = answer(ControlRanks(SCOPE, draws=199), study).table
    aligned = ask(Alignment(SCOPE, axis=""), study)
    trained = aligned[
        aligned["model_y"].str.startswith("vit") & ~aligned["model_y"].str.contains("untrained")
    ]
    means = trained.groupby("model_x")["score"].mean().sort_values(ascending=False)
    assert table["model"].tolist() == means.index.tolist()
    np.testing.assert_allclose(table["score"], means)
    np.testing.assert_allclose(table["lead"].iloc[:-1], -np.diff(means), atol=1e-12)
    assert (table["rank_low"] <= table["rank"]).all()
    assert (table["rank"] <= table["rank_high"]).all()


def test_ranks_need_models_of_both_modalities(tmp_path: Path) -> None:
    build(tmp_path, PaintedDataset(40), vision=SMALL["vision"], language=(), reality=False)
    with pytest.raises(NotApplicableError, match="there are 0 and 3"):
        ask(ControlRanks(SCOPE), Study(Store(tmp_path), "cave"))


def test_marks_are_the_questions_own_findings(study: Study) -> None:
    """Of two tests the one that fails: here the best control is as aligned as the models."""
    found = answer(ControlMarks(SCOPE), study)
    whole = [
        answer(question(SCOPE), study).findings[at]
        for question, at in (
            (ControlCategories, 1),
            (ControlCategories, 3),
            (ControlLadder, 1),
            (ControlGallery, 0),
            (ControlRanks, 0),
        )
    ]
    assert list(found.findings) == whole
    assert found.table["verdict"].tolist() == [one.verdict for one in whole]
    shown = found.table.set_index("mark")
    assert shown.loc["beyond chance", "short"] == paper_p(whole[0].p).replace("=", "≤")
    assert (shown["short"] != "").tolist() == (shown["verdict"] != "unknown").tolist()


def test_marks_of_a_dataset_without_factors_leave_categories_unknown(
    study: Study, tmp_path: Path, monkeypatch
) -> None:
    root = tmp_path / "store"  # without the answers that other tests left
    shutil.copytree(study.store.root, root, ignore=shutil.ignore_patterns("results"))
    monkeypatch.setattr(controls, "_factors", lambda _: {})
    marks = ControlMarks(SCOPE).answer(Study(Store(root), "cave")).table.set_index("mark")
    assert marks.loc["beyond categories", "verdict"] == "unknown"
    assert marks.loc["beyond chance", "short"].startswith("p ")
