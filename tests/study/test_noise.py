"""What was measured several times has a noise ceiling, what is known by dissimilarities alone the
scores of its vectors, and neither enters a question unasked.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import pdist, squareform

from core.cli import main
from core.embedding.features import embed_cortex, import_features
from core.embedding.history import command_of
from core.encoders.measured import SUBJECTS, VOXELS, Content, from_repeats
from core.errors import InputError, MetricError
from core.metrics import METRICS
from core.questions.alignment.question import Alignment
from core.questions.asking import answer, ask
from core.questions.models.pairs import ModelPairs, Roster
from core.questions.reliability import Reliability
from core.spaces.preprocess import normalize_rows
from core.statistics.correlations import spearman_brown
from core.store import Store
from core.study.models import usual
from core.study.noise import held_noise
from core.study.parts import Comparison, Measure, Scope
from core.study.spaces import default_spaces
from core.study.study import Study
from core.study.trainings import describe_trainings
from tests.pages.world import LANGUAGE, VISION, PaintedDataset, build
from tests.repeats import simulate

SIZE = 60
SPACE = "vit-mae-m"
RSA, KNN = Comparison(metric="rsa"), Comparison(k=5)


@pytest.fixture(scope="module")
def root(tmp_path_factory) -> Path:
    """Return a store with two models, the simulated cortex, its first subject without noise, a
    group of subjects, and the dissimilarities of a model's layers.
    """
    root, dataset = tmp_path_factory.mktemp("noise"), PaintedDataset(SIZE)
    build(root, dataset, vision=VISION[1:2], language=LANGUAGE[1:2])
    embed_cortex(root, dataset)
    card, world = dataset.card, dataset.reality
    clean = simulate(world, reliability=0.99999, trials=1, units=VOXELS, seed=0)
    group = simulate(world, reliability=0.7, trials=6, units=20, seed=9)
    given = [np.asarray(layer) for layer in Study(Store(root), "cave").spaces(SPACE)]
    matrices = [squareform(pdist(normalize_rows(x.astype(float)))) for x in given]
    np.save(root / "rdm.npy", np.stack(matrices))
    import_features(root, card, Content([clean[0]]), name="clean", modality="vision")
    content = from_repeats([group], "subjects")
    import_features(root, card, content, name="group", modality="brain")
    areas = from_repeats([group[:4], 9 * group[2:]], "trials")
    import_features(root, card, areas, name="areas", modality="brain")
    for name, modality in (("rdm", "people"), ("seen", "vision")):
        words = ["--dataset", "cave", "--name", name, "--modality", modality, "--dissimilarities"]
        assert main(["import", str(root / "rdm.npy"), *words, "--store", str(root)]) == 0
    return root


@pytest.fixture
def study(root) -> Study:
    return Study(Store(root), "cave")


def aligned(study: Study, x: str, *y: str, by: Comparison = RSA) -> pd.DataFrame:
    return ask(Alignment(x=(x,), y=y, axis="", comparison=by), study)


@pytest.mark.parametrize(
    "by",
    [
        RSA,
        Comparison(metric="rsa", parameters=(("correlation", "pearson"),)),
        *(Comparison(metric=f"{name}_knn", k=5) for name in ("mutual", "lcs")),
    ],
)
def test_dissimilarities_alone_have_the_scores_of_their_vectors(study, by):
    every = Comparison(by.metric, by.k, by.parameters, layers="all")
    others = ("gpt-2-s", "reality", "clean")
    by_vectors, alone = (aligned(study, name, *others, by=every) for name in (SPACE, "rdm"))
    np.testing.assert_allclose(alone["score"], by_vectors["score"], atol=1e-6)
    assert by_vectors["score"].notna().all()


@pytest.mark.parametrize("metric", ["cka", "cknna", "svcca", "procrustes"])
def test_metrics_of_vectors_refuse_dissimilarities_in_a_sentence(study, metric):
    with pytest.raises(
        MetricError, match=r"rdm: dissimilarities alone are known of it, no vectors"
    ):
        aligned(study, "rdm", "reality", by=Comparison(metric=metric))
    table = ask(Alignment(x=("gpt-2-s",), y=("rdm", SPACE), comparison=Comparison(metric)), study)
    assert table["score"].isna().tolist() == [True, False]
    assert "compare it by rsa, or by neighbors" in table["reason"].iloc[0]


def test_the_noise_ceiling_of_rsa_is_what_the_subject_without_noise_reaches(study):
    table = aligned(study, "clean", "cortex-1")
    assert table["noise_ceiling"].item() == pytest.approx(table["score"].item(), abs=0.02)


def test_halves_that_no_formula_corrects_are_the_least_that_a_ceiling_can_be(study):
    table = aligned(study, "clean", "cortex-1", by=KNN)
    assert 0 < table["noise_ceiling"].item() < table["score"].item()
    for by, least in ((KNN, True), (RSA, False)):
        question = Alignment(x=("clean",), y=("cortex-1",), axis="", comparison=by)
        claim = answer(question, study).findings[-1].claim
        assert claim.startswith("The noise ceiling is")
        assert ("at least" in claim) == least


def test_halves_are_clamped_as_the_layers_of_a_model_are(study):
    """All layers of a half together, so that the louder area is clamped and the other is not."""
    areas, found = study.repeats("areas"), []
    for one, other in (([0, 1], [2, 3]), ([0, 2], [1, 3]), ([0, 3], [1, 2])):
        halves = []
        for half in (one, other):
            means = [area[half].mean(axis=0) for area in areas]
            sizes = np.sort(np.abs(np.concatenate([mean.ravel() for mean in means])))
            bound = sizes[int(0.95 * len(sizes))]
            halves.append([normalize_rows(np.clip(mean, -bound, bound)) for mean in means])
        found.append([METRICS["rsa"](x, y) for x, y in zip(*halves, strict=True)])
    noises = [noise.halves for noise in held_noise(study, "areas", RSA)]
    np.testing.assert_allclose(noises, np.mean(found, axis=0), atol=1e-6)


def test_ceilings_follow_from_two_halves_by_the_metric(study):
    (noise,) = held_noise(study, "cortex-2", RSA)
    root_of_all = np.sqrt(spearman_brown(noise.halves, 2.0))
    assert noise.ceiling == pytest.approx(root_of_all)
    (plain,) = held_noise(study, "cortex-2", KNN)
    assert plain.ceiling == plain.halves
    table = aligned(study, "cortex-1", "cortex-2", by=RSA)
    (first,) = held_noise(study, "cortex-1", RSA)
    assert table["noise_ceiling"].item() == pytest.approx(first.ceiling * noise.ceiling)
    lower = aligned(study, "cortex-1", "cortex-2", by=KNN)["noise_ceiling"].item()
    assert lower == min(
        held_noise(study, name, KNN)[0].ceiling for name in ("cortex-1", "cortex-2")
    )


def test_only_what_was_measured_several_times_has_a_noise_ceiling(study):
    table = aligned(study, "gpt-2-s", "cortex-3", "reality")
    assert table["noise_ceiling"].notna().tolist() == [True, False]
    assert table["reason"].tolist() == ["", "no noise ceiling: neither was measured several times"]
    assert "noise_ceiling" not in aligned(study, "gpt-2-s", "reality")


def test_reliability_is_the_planted_one_and_falls_from_subject_to_subject(study):
    table = ask(Reliability(measure=Measure(metric="rsa")), study).set_index("model")
    planted = pd.Series(SUBJECTS)
    assert (table.loc[planted.index, "reliability"] - planted).abs().max() < 0.04
    assert table.loc[planted.index, "ceiling"].is_monotonic_decreasing
    assert table.loc["group", ["over", "repeats", "units"]].tolist() == ["subjects", 6, 20]
    assert "units of two subjects do not correspond" in table.loc["group", "reason"]
    found = Reliability(measure=Measure(metric="rsa"))._findings(table.reset_index())
    values = {one.claim: one.value for one in found}
    of_units = values["cortex-1, voxels: median reliability of units"]
    assert of_units == table.loc["cortex-1", "reliability"]
    assert values["group, layer 0: noise ceiling of RSA"] == table.loc["group", "ceiling"]
    with pytest.raises(InputError, match="reality was measured once"):
        ask(Reliability(names=("reality",)), study)


def test_brains_and_people_enter_no_question_unasked(study):
    table = ask(Alignment(comparison=KNN, axis=""), study)
    measured = {*SUBJECTS, "group", "areas", "rdm"}
    assert not measured & {*table["model_x"], *table["model_y"]}
    for roster, there in ((Roster(), set()), (Roster(measured=True), measured)):
        pairs = ask(ModelPairs(Scope(), roster, KNN), study)
        assert {*pairs["model_x"], *pairs["model_y"]} & measured == there


def test_models_without_vectors_enter_no_question_unasked(study):
    """Else they would end every question that reads vectors, in one sentence about one model."""
    assert not any(space.startswith("seen") for space in default_spaces(study))
    assert not {"seen"} & {*usual(study.models())["model"], *describe_trainings(study)["model"]}
    assert aligned(study, "gpt-2-s", "seen")["score"].notna().all()


def test_a_store_gives_back_each_measurement_and_how_it_came(study):
    repeats = study.repeats("group")
    assert [each.shape for each in repeats] == [(6, SIZE, 20)]
    np.testing.assert_array_equal(
        np.hstack(list(repeats[0])), study.store.space("cave", "group", 0)
    )
    commands = [" ".join(command_of("cave", study.entry(name))) for name in ("group", "rdm")]
    assert commands[0].endswith("--modality brain --repeats subjects")
    assert (
        commands[1]
        == "import rdm.npy --dataset cave --name rdm --modality people --dissimilarities"
    )
    assert command_of("cave", study.entry("cortex-1")) == ["demo"]
    assert json.loads(json.dumps(study.entry("cortex-1").card.training))["simulated"]["trials"] == 4
