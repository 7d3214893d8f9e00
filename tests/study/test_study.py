"""A study over a real store: its answers equal the pure functions on the same spaces, and what it
keeps is never stale.
"""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import pytest

import core.study.study
from core.encoders.encoder import ModelCard
from core.errors import (
    MetricError,
    StimuliError,
    StoreBusyError,
    StoreError,
    StoreWriteError,
    UnknownNameError,
)
from core.metrics import METRICS
from core.metrics.cka import cka_chance, roundness
from core.recipe import Recipe
from core.spaces.neighbors import RULE
from core.spaces.preprocess import clamp_outliers, normalize_rows
from core.store import Store, add_dataset, write_embedding
from core.store.versions import VERSIONS
from core.study.layers import LayerChoice
from core.study.roster import known_worlds
from core.study.selections import encode
from core.study.study import Study
from tests.store_fakes import CountedDataset

SIZE = 130  # above the neighbors that are kept
MODALITIES = {"ape": "language", "bee": "vision", "cat": "vision", "reality": "world"}


def layers_of(seed: int, widths: tuple[int, ...] = (5, 9), n: int = SIZE) -> list[np.ndarray]:
    shared = np.random.default_rng(99).standard_normal((n, 4))
    rng = np.random.default_rng(seed)
    return [
        (shared @ rng.standard_normal((4, d)) + rng.standard_normal((n, d)) ** 3).astype(np.float32)
        for d in widths
    ]


def put(
    root: Path,
    name: str,
    layers: list[np.ndarray],
    *,
    version: int = 1,
    costs: tuple | None = None,
    n: int = SIZE,
) -> None:
    bits, bytes_ = (np.array(values, dtype=float) for values in costs) if costs else (None, None)
    names = tuple(f"layer {i}" for i in range(len(layers)))
    card = ModelCard(
        name, name.title(), MODALITIES[name], f"import:{name}", "F", "o", None, f"w{version}", names
    )
    recipe = Recipe.of(
        "embedding", version=VERSIONS["embedding"], model=name, weights=f"w{version}"
    )
    write_embedding(
        root,
        dataset=CountedDataset(n).card,
        card=card,
        level=None,
        layers=layers,
        bits=bits,
        bytes=bytes_,
        recipe=recipe,
        device="cpu",
        seconds=0.0,
    )


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("store")
    add_dataset(root, CountedDataset(SIZE))
    for seed, name in enumerate(MODALITIES):
        put(root, name, layers_of(seed))
    return root


@pytest.fixture
def study(filled: Path) -> Study:
    return Study(Store(filled), "counted")


def expected_score(x: int, y: int, *, k: int, q: float | None = 0.95) -> tuple[int, int, float]:
    spaces = [
        [normalize_rows(layer) for layer in clamp_outliers(layers_of(seed), q=q)] for seed in (x, y)
    ]
    scores = {
        (i, j): METRICS["mutual_knn"](a, b, k=k)
        for i, a in enumerate(spaces[0])
        for j, b in enumerate(spaces[1])
    }
    best = max(scores, key=scores.__getitem__)
    return *best, scores[best]


@pytest.mark.parametrize("k", [1, 10, 100, 101, 129])
def test_align_equals_the_metric_on_clamped_and_normalized_spaces(study, k):
    table = study.align(["ape", "reality"], ["bee", "cat"], k=k)
    assert table[["model_x", "model_y"]].to_numpy().tolist() == [
        [x, y] for x in ("ape", "reality") for y in ("bee", "cat")
    ]
    for row, (x, y) in zip(table.itertuples(), [(0, 1), (0, 2), (3, 1), (3, 2)], strict=True):
        assert (row.layer_x, row.layer_y, row.score) == expected_score(x, y, k=k)
        assert (row.chance, row.n, row.k) == (k / (SIZE - 1), SIZE, k)


def test_the_clamp_is_the_study_s_choice(filled):
    scores = {
        q: Study(Store(filled), "counted", q=q).align(["ape"], ["bee"]).score.item()
        for q in (None, 1.0, 0.95, 0.5)
    }
    assert scores == {q: expected_score(0, 1, k=10, q=q)[2] for q in scores}
    assert scores[None] == scores[1.0] != scores[0.5]


def test_layer_map_holds_every_pair_of_layers(study):
    layer_x, layer_y, score = expected_score(0, 1, k=10)
    scores = study.layer_scores(["ape"], ["bee"])["ape", "bee"]
    assert scores.shape == (2, 2)
    assert scores[layer_x, layer_y] == scores.max() == score


def test_neighbors_are_kept_in_the_store_and_read_again(filled, study, monkeypatch):
    before = study.neighbors("ape")
    assert before.shape == (2, SIZE, 100)
    assert not before.flags.writeable
    monkeypatch.setattr(core.study.study, "nearest", None)  # none may be found anew
    after = Study(Store(filled), "counted").neighbors("ape")
    np.testing.assert_array_equal(after, before)
    kept, recipe = Store(filled).result("counted", "neighbors-ape")
    assert list(kept)[:3] == ["layer", "index", "rank_1"]
    assert recipe == study.recipe("neighbors", ["ape"], k=100)


def test_another_quantile_leaves_the_kept_neighbors_alone(filled, study):
    study.neighbors("bee")
    digest = Store(filled).digest("counted")
    Study(Store(filled), "counted", q=0.5).neighbors("bee")
    assert Store(filled).digest("counted") == digest


def test_a_model_that_is_embedded_again_while_it_is_read_gives_no_mixed_answer(
    tmp_path, monkeypatch
):
    add_dataset(tmp_path, CountedDataset(SIZE))
    put(tmp_path, "ape", layers_of(1))
    find = core.study.study.nearest

    def replacing(space, *, k):
        put(tmp_path, "ape", layers_of(2), version=2)
        return find(space, k=k)

    monkeypatch.setattr(core.study.study, "nearest", replacing)
    with pytest.raises(
        StoreError, match="model ape was embedded again while it was read; ask once more"
    ):
        Study(Store(tmp_path), "counted").neighbors("ape")
    assert Store(tmp_path).result("counted", "neighbors-ape") is None


def test_a_model_that_is_embedded_again_is_read_again(tmp_path):
    add_dataset(tmp_path, CountedDataset(SIZE))
    put(tmp_path, "ape", layers_of(1))
    running = Study(Store(tmp_path), "counted")
    old = running.neighbors("ape")
    put(tmp_path, "ape", layers_of(2), version=2)
    fresh = Study(Store(tmp_path), "counted").neighbors("ape")
    np.testing.assert_array_equal(running.neighbors("ape"), fresh)
    assert (fresh != old).any()


@pytest.mark.parametrize("error", [StoreWriteError, StoreBusyError])
def test_a_store_that_cannot_be_written_answers_all_the_same(tmp_path, monkeypatch, error):
    add_dataset(tmp_path, CountedDataset(SIZE))
    put(tmp_path, "ape", layers_of(0))

    def refuse(*_args, **_choices):
        raise error("no")

    monkeypatch.setattr(core.study.study, "write_result", refuse)
    assert Study(Store(tmp_path), "counted").neighbors("ape").shape == (2, SIZE, 100)
    assert Store(tmp_path).result("counted", "neighbors-ape") is None


def test_a_small_dataset_keeps_all_the_neighbors_there_are(tmp_path):
    add_dataset(tmp_path, CountedDataset(5))
    for seed, name in enumerate(("ape", "bee")):
        put(tmp_path, name, layers_of(seed, n=5), n=5)
    study = Study(Store(tmp_path), "counted")
    assert study.neighbors("ape").shape == (2, 5, 4)
    assert study.align(["ape"], ["bee"], k=4).score.item() == 1
    with pytest.raises(MetricError, match=r"k must lie in 1 … 4 for 5 stimuli; given 10"):
        study.align(["ape"], ["bee"])


@pytest.mark.parametrize("n", [1, 2])
def test_too_few_stimuli_are_refused(tmp_path, n):
    add_dataset(tmp_path, CountedDataset(n))
    put(tmp_path, "ape", layers_of(0, n=n), n=n)
    with pytest.raises(MetricError, match=f"neighbors need at least 3 stimuli; given {n}"):
        Study(Store(tmp_path), "counted").align(["ape"], ["ape"], k=1)


def test_a_degenerate_layer_is_passed_over_and_has_no_neighbors(tmp_path):
    add_dataset(tmp_path, CountedDataset(SIZE))
    good = layers_of(0, widths=(5,))[0]
    put(tmp_path, "ape", [np.ones_like(good), good])
    put(tmp_path, "bee", layers_of(1))
    study = Study(Store(tmp_path), "counted")
    assert np.isnan(study.layer_scores(["ape"], ["bee"])["ape", "bee"]).tolist() == [
        [True, True],
        [False, False],
    ]
    assert study.align(["ape"], ["bee"]).layer_x.item() == 1


def test_a_model_of_degenerate_layers_alone_is_refused(tmp_path):
    add_dataset(tmp_path, CountedDataset(SIZE))
    put(tmp_path, "ape", [np.ones((SIZE, 3), np.float32)])
    with pytest.raises(
        MetricError,
        match=f"model ape has no layer with neighbors: all {SIZE} stimuli have the same vector",
    ):
        Study(Store(tmp_path), "counted").neighbors("ape")


@pytest.fixture(scope="module")
def uneven(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """Return a store of a wide model, one with degenerate layers beside a sound one, and one of
    degenerate layers alone.
    """
    root = tmp_path_factory.mktemp("uneven")
    add_dataset(root, CountedDataset(SIZE))
    sound = layers_of(0, widths=(70, 5))
    put(root, "ape", sound[:1])
    put(root, "bee", [np.zeros_like(sound[1]), np.ones_like(sound[1]), sound[1]])
    put(root, "cat", [np.zeros_like(sound[1])])
    put(root, "reality", layers_of(1, widths=(70,)))
    return Store(root)


@pytest.mark.parametrize("metric", ["mutual_knn", "cka", "mean_cca", "linear_predictivity"])
def test_a_model_that_cannot_be_compared_leaves_the_others_their_rows(uneven, metric):
    table = Study(uneven, "counted").align(["ape"], ["bee", "cat"], metric=metric)
    assert table[["layer_x", "layer_y"]].to_numpy().tolist() == [[0, 2], [-1, -1]]
    assert table["score"].isna().tolist() == [False, True]
    assert table["reason"].str.contains("stimulus 0 has only zeros").tolist() == [False, True]
    assert table["reason"][0] == ""


def test_a_side_of_which_no_model_can_be_compared_is_refused_whatever_was_asked_before(uneven):
    study = Study(uneven, "counted")
    assert len(study.align(["ape"], ["bee", "cat"], metric="cka")) == 2
    with pytest.raises(
        MetricError, match="no layer can be compared: vectors with a direction expected; stimulus 0"
    ):
        study.align(["ape"], ["cat"], metric="cka")


def test_a_model_that_clamping_would_wipe_out_leaves_the_others_their_rows(tmp_path):
    add_dataset(tmp_path, CountedDataset(SIZE))
    sparse = np.zeros((SIZE, 40), np.float32)
    sparse[:, 0] = np.arange(1, SIZE + 1)
    for name, layers in {"ape": layers_of(0), "bee": layers_of(1), "cat": [sparse]}.items():
        put(tmp_path, name, layers)
    for metric in ("mutual_knn", "cka"):
        table = Study(Store(tmp_path), "counted").align(
            ["ape"], ["bee", "cat"], metric=metric, layers="last"
        )
        assert table["reason"].str.startswith(
            "clamping at q = 0.95 would set every value to 0"
        ).tolist() == [False, True]


def test_two_models_that_a_metric_refuses_together_tell_why(uneven):
    table = (
        Study(uneven, "counted")
        .align(["ape"], ["bee", "reality"], metric="mean_cca")
        .set_index("model_y")
    )
    assert table.loc["bee", "reason"] == ""
    assert table.loc["reality", "reason"].startswith(
        "layers 0 and 0: canonical correlations of ranks 70 and 70 need more than 140"
    )
    assert table.loc["reality", "reason"].endswith("take more stimuli, or svcca with a lower rank")


@pytest.mark.parametrize("metric", ["mutual_knn", "cka", "procrustes"])
def test_a_degenerate_layer_that_was_chosen_is_named(uneven, metric):
    study = Study(uneven, "counted")
    table = study.align(["ape"], ["bee"], metric=metric, layers="all")
    assert table["score"].isna().tolist() == [True, True, False]
    for reason, why in zip(
        table["reason"], ("only zeros", f"all {SIZE} stimuli have the same vector"), strict=False
    ):
        assert reason.startswith("layer ")
        assert "of bee: no layer can be compared: " in reason
        assert why in reason
    assert (
        study.align(["ape"], ["bee"], metric=metric, layers="0:1")["reason"].tolist()
        == table["reason"].tolist()[1:2]
    )


def test_chance_of_cka_is_missing_for_degenerate_layers_and_each_model_is_read_once_for_it(
    uneven, monkeypatch
):
    study, read = Study(uneven, "counted"), []
    table = study.align(["ape", "reality"], ["bee", "cat"], metric="cka", layers="all")
    assert (
        np.isnan(table["chance"]).tolist()
        == table["score"].isna().tolist()
        == [True, True, False, True] * 2
    )
    fresh, spaces = Study(uneven, "counted"), Study.spaces
    monkeypatch.setattr(
        Study, "spaces", lambda self, name, **how: read.append(name) or spaces(self, name, **how)
    )
    np.testing.assert_array_equal(
        fresh._pair_chances(table, METRICS["cka"].pair_chance, LayerChoice()), table["chance"]
    )
    assert sorted(read) == ["ape", "bee", "reality"]


def test_layers_side_by_side_are_one_more_candidate(study):
    spaces = {name: study.spaces(name, concatenated=True) for name in ("ape", "bee")}
    expected = [
        [METRICS["cka"](normalize_rows(a), normalize_rows(b)) for b in spaces["bee"]]
        for a in spaces["ape"]
    ]
    for metric, parameters in (("cka", {}), ("mutual_knn", {"k": 5}), ("mutual_knn", {"k": 110})):
        scores = study.layer_scores(
            ["ape"], ["bee"], metric=metric, concatenated=True, **parameters
        )["ape", "bee"]
        plain = study.layer_scores(["ape"], ["bee"], metric=metric, **parameters)["ape", "bee"]
        np.testing.assert_array_equal(scores[:2, :2], plain)
        last = (normalize_rows(spaces[name][2]) for name in ("ape", "bee"))
        assert scores[2, 2] == pytest.approx(METRICS[metric](*last, **parameters))
    row = study.align(["ape"], ["bee"], metric="cka", layers="best+concatenated").iloc[0]
    assert row["score"] == pytest.approx(np.max(expected))
    assert (row["layer_x"], row["layer_y"]) == np.unravel_index(np.argmax(expected), (3, 3))
    x, y = (
        roundness(normalize_rows(spaces[name][row[side]]))
        for name, side in (("ape", "layer_x"), ("bee", "layer_y"))
    )
    assert row["chance"] == pytest.approx(cka_chance(x, y, n=SIZE))


def test_only_as_many_neighbors_and_scores_as_agreed_are_held(filled, monkeypatch):
    study = Study(Store(filled), "counted")
    assert study.neighbors("ape", k=SIZE - 1).shape == (2, SIZE, SIZE - 1)
    assert study._held == {}
    monkeypatch.setattr(core.study.study, "MOST_HELD", 3)
    table = study.align(["ape", "reality"], ["bee", "cat"])
    assert len(study._compared) == 3
    assert study.align(["ape", "reality"], ["bee", "cat"]).equals(table)
    assert {lists.shape[2] for _, lists in study._held.values()} == {100}


def test_of_a_part_of_the_stimuli_a_study_is_as_if_there_were_no_others(filled):
    part, rows = Study(Store(filled), "counted", where={"scene": "hill"}), np.arange(2, SIZE, 3)
    ape, bee = (
        [
            normalize_rows(layer)
            for layer in clamp_outliers([layer[rows] for layer in layers_of(seed)], q=0.95)
        ]
        for seed in (0, 1)
    )
    row = part.align(["ape"], ["bee"], k=5, layers="last").iloc[0]
    assert row["score"] == METRICS["mutual_knn"](ape[-1], bee[-1], k=5)
    assert (row["n"], row["chance"]) == (len(rows), 5 / (len(rows) - 1))
    assert part.recipe("x", ["ape"]).choices["where"] == {"scene": "hill"}
    assert "where" not in Study(Store(filled), "counted").recipe("x", ["ape"]).choices


def test_a_set_of_stimuli_is_studied_as_the_factors_that_choose_the_same(filled):
    hills = encode(np.arange(2, SIZE, 3), SIZE)
    by_set, by_factor = (
        Study(Store(filled), "counted", stimuli=hills),
        Study(Store(filled), "counted", where={"scene": "hill"}),
    )
    assert by_set.align(["ape"], ["bee"], k=5).equals(by_factor.align(["ape"], ["bee"], k=5))
    assert by_set.recipe("x", ["ape"]) != by_factor.recipe("x", ["ape"])
    assert by_set.recipe("x", ["ape"]).choices["stimuli"] == hills
    assert "stimuli" not in by_factor.recipe("x", ["ape"]).choices
    both = Study(Store(filled), "counted", where={"scene": "hill"}, stimuli=encode([0, 2, 5], SIZE))
    assert both.rows.tolist() == [2, 5]


def test_a_set_of_other_stimuli_is_refused(filled):
    with pytest.raises(StimuliError, match=f"was chosen from {SIZE + 1} stimuli, here are {SIZE}"):
        Study(Store(filled), "counted", stimuli=encode([0], SIZE + 1))
    with pytest.raises(StimuliError, match="no stimulus of this set has scene = hill"):
        Study(Store(filled), "counted", where={"scene": "hill"}, stimuli=encode([0], SIZE))


def test_a_part_that_is_not_there_is_refused_by_name(filled):
    for where, message in (
        ({"scen": "sea"}, "no factor named 'scen'; did you mean scene"),
        ({"scene": "see"}, "no value of scene named 'see'; did you mean sea"),
    ):
        with pytest.raises(UnknownNameError, match=re.escape(message)):
            Study(Store(filled), "counted", where=where)
    with pytest.raises(
        StimuliError, match="no stimulus has scene = sea and count = 1; ask for less"
    ):
        Study(Store(filled), "counted", where={"scene": "sea", "count": "1"})


def test_layer_scores_of_any_metric_are_the_metric_of_each_pair(study):
    for metric, parameters in (
        ("cka", {}),
        ("procrustes", {}),
        ("lcs_knn", {"k": 4}),
        ("cknna", {"k": 4}),
    ):
        scores = study.layer_scores(["ape"], ["bee"], metric=metric, **parameters)["ape", "bee"]
        x, y = ([normalize_rows(layer) for layer in study.spaces(name)] for name in ("ape", "bee"))
        expected = [[METRICS[metric](a, b, **parameters) for b in y] for a in x]
        np.testing.assert_allclose(scores, expected, atol=1e-6)


def test_chance_of_cka_is_that_of_the_chosen_layers(study):
    row = study.align(["ape"], ["bee"], metric="cka", layers="0:1").iloc[0]
    x, y = normalize_rows(study.spaces("ape")[0]), normalize_rows(study.spaces("bee")[1])
    assert row["chance"] == pytest.approx(cka_chance(roundness(x), roundness(y), n=SIZE))


def test_models_are_compared_once(study, monkeypatch):
    study.layer_scores(["ape"], ["cat"], metric="cka")
    monkeypatch.setattr(Study, "spaces", lambda *_, **__: pytest.fail("compared again"))
    assert study.layer_scores(["ape"], ["cat"], metric="cka")["ape", "cat"].shape == (2, 2)


def test_what_does_not_exist_is_refused_by_name(study):
    with pytest.raises(UnknownNameError, match="no model named 'bea'; did you mean bee"):
        study.align(["ape"], ["bea"])
    with pytest.raises(
        UnknownNameError, match="no metric named 'mutual_nn'; did you mean mutual_knn"
    ):
        study.align(["ape"], ["bee"], metric="mutual_nn")
    with pytest.raises(UnknownNameError, match="no dataset named 'count'; did you mean counted"):
        Study(study.store, "count")


@pytest.mark.parametrize("k", [0, SIZE])
def test_k_outside_its_range_is_refused(study, k):
    for ask in (
        lambda: study.align(["ape"], ["bee"], k=k),
        lambda: study.layer_scores(["ape"], ["bee"], k=k),
    ):
        with pytest.raises(
            MetricError, match=rf"k must lie in 1 … {SIZE - 1} for {SIZE} stimuli; given {k}"
        ):
            ask()


def test_readers_read_images_and_worlds_are_known(study):
    assert study.readers("image") == ["bee", "cat"]
    assert known_worlds(study) == ["reality"]


def test_a_recipe_holds_all_that_an_answer_depends_on(filled, study):
    recipe = study.recipe("alignment", ["ape", "bee"], metric="mutual_knn", k=10)
    digests = {name: Store(filled).model("counted", name).digest for name in ("ape", "bee")}
    assert recipe.kind == "alignment"
    assert recipe.choices == {
        "dataset": "counted",
        "revision": "r1",
        "models": digests,
        "preprocessing": ["clamp", "normalize"],
        "q": 0.95,
        "neighbor_rule": RULE,
        "metric": "mutual_knn",
        "k": 10,
    }


@pytest.mark.parametrize(
    ("costs", "value", "reason"),
    [
        (None, math.nan, "this model does not predict text, so it has no bits per byte"),
        (([6.0, 8, 1], [12.0, 32, 2]), 1 - (1 / 2 + 1 / 4 + 1 / 2) / 3, ""),
        (
            ([6.0, math.nan, 1], [12.0, 32, 2]),
            0.5,
            "1 of 3 captions have one token and are left out",
        ),
        (
            ([math.nan] * 3, [1.0, 2, 3]),
            math.nan,
            "no caption is longer than one token, so none has bits per byte",
        ),
    ],
)
def test_competence_is_the_mean_of_each_caption_s_ratio(tmp_path, costs, value, reason):
    add_dataset(tmp_path, CountedDataset(3))
    put(tmp_path, "ape", layers_of(0, n=3), costs=costs, n=3)
    put(tmp_path, "bee", layers_of(1, n=3), n=3)
    table = Study(Store(tmp_path), "counted").competence()
    assert list(table) == ["model", "value", "unit", "reason"]
    assert table.loc[0, ["model", "unit", "reason"]].tolist() == [
        "ape",
        "1 - bits per byte",
        reason,
    ]
    assert table["value"].tolist() == pytest.approx([value], nan_ok=True)


def test_competence_of_a_part_of_the_stimuli_is_that_of_its_captions(tmp_path):
    add_dataset(tmp_path, CountedDataset(9))
    bits, bytes_ = np.arange(9.0), np.full(9, 16.0)
    bits[5] = math.nan
    put(tmp_path, "ape", layers_of(0, n=9), costs=(bits, bytes_), n=9)
    row = (
        Study(Store(tmp_path), "counted", where={"scene": "hill"}).competence().iloc[0]
    )  # of stimuli 2, 5 and 8
    assert row["value"] == 1 - (2 + 8) / 2 / 16
    assert row["reason"] == "1 of 3 captions have one token and are left out"
