"""What a study says of its consensus: which spaces are meant, and that every number is the
analyses' own on those spaces.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from core.errors import MetricError, UnknownNameError
from core.questions.asking import ask
from core.questions.dispersion import question as consensus
from core.questions.dispersion import residuals as dispersion
from core.questions.dispersion.question import (
    ConsensusSpace,
    HeldOutFits,
    Spaces,
    StimulusDispersion,
)
from core.statistics.procrustes import generalized_procrustes
from core.store import Store
from core.study.spaces import Layer, default_language, default_spaces, find_space, largest_models
from core.study.study import Study
from tests.pages.world import LANGUAGE, VISION, PaintedDataset, build

SPACES = ("vit-mae-m:2", "vit-clip-m:2", "vit-supervised-s:3")


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(
        tmp_path_factory.mktemp("store"),
        PaintedDataset(40),
        vision=VISION,
        language=LANGUAGE[1:3],
        reality=False,
    )


@pytest.fixture
def study(root: Path) -> Study:
    return Study(Store(root), "cave")


def disperse(study: Study, spaces, **choices) -> pd.DataFrame:
    return ask(StimulusDispersion(joint=Spaces(tuple(spaces)), **choices), study)


def read(study: Study) -> list[np.ndarray]:
    return [
        study.spaces("vit-mae-m")[2],
        study.spaces("vit-clip-m")[2],
        study.spaces("vit-supervised-s")[3],
    ]


@pytest.mark.parametrize(
    ("given", "layer"),
    [("vit-mae-m", 2), ("vit-mae-m:0", 0), ("vit-mae-m:block 1", 1), ("vit-mae-m:3", 3)],
)
def test_a_space_is_a_model_and_a_layer_by_number_or_name_and_penultimate_without(
    study, given, layer
):
    found = find_space(study, given)
    assert found == Layer("vit-mae-m", layer)
    assert str(found) == f"vit-mae-m:{layer}"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("vit-mae-x", "no model named 'vit-mae-x'; did you mean vit-mae-"),
        ("vit-mae:2", "no model named 'vit-mae'; did you mean vit-mae-"),
        ("vit-mae-m:9", "no layer of vit-mae-m named '9'"),
        ("vit-mae-m:", "no layer of vit-mae-m named ''"),
    ],
)
def test_a_space_that_is_not_there_is_refused_with_the_nearest(study, given, message):
    with pytest.raises(UnknownNameError, match=message):
        find_space(study, given)


def test_two_names_of_one_space_are_refused(study):
    with pytest.raises(
        MetricError, match=r"expected each space once; got vit-mae-m:2 more than once"
    ):
        disperse(study, ["vit-mae-m", "vit-mae-m:block 2"])


def test_defaults_are_the_largest_finished_models(study):
    assert default_spaces(study) == ["vit-mae-m:2", "vit-clip-m:2", "vit-supervised-s:2"]
    assert default_language(study) == ["gpt-2-m", "gpt-2-s"]


def test_four_objectives_are_taken_at_one_size_where_all_have_it(study, monkeypatch):
    rows = [  # the smallest first; which names stand for which objectives does not matter
        ("vit-mae-s", "MAE (class token)", "S"),
        ("vit-untrained-s", "MAE (published)", "S"),
        ("vit-clip-s", "CLIP", "S"),
        ("gpt-2-s", "DINO (with KoLeo)", "S"),
        ("vit-supervised-s", "CLIP fine-tuned (multitask)", "S"),
        ("vit-mae-m", "MAE (class token)", "M"),
        ("gpt-2-m", "SimCLR", "M"),
        ("vit-clip-m", "CLIP", "M"),
    ]
    seeing = pd.DataFrame(rows, columns=["model", "kind", "size"])
    seeing = seeing.assign(modality="vision", family=seeing["model"])
    monkeypatch.setattr("core.study.spaces.by_size", lambda _: seeing)
    four = ["vit-mae-s:2", "gpt-2-s:2", "vit-clip-s:2", "vit-supervised-s:2"]
    assert default_spaces(study) == four
    assert largest_models(study) == ["vit-mae-m", "gpt-2-s", "vit-clip-m", "vit-supervised-s"]
    seeing = seeing[seeing["model"] != "gpt-2-s"]  # then no size has all four
    assert default_spaces(study) == ["vit-mae-m:2", "gpt-2-m:2", "vit-clip-m:2", four[-1]]


def test_a_row_per_stimulus_holds_the_analyses_numbers(study):
    table = disperse(study, SPACES)
    fitted = generalized_procrustes(read(study))
    apart = dispersion.residuals(fitted)
    found = dispersion.summarize(apart)
    np.testing.assert_allclose(table[list(SPACES)], apart)
    pd.testing.assert_frame_equal(table[list(found)], found)
    assert table["stimulus"].tolist() == [f"event {i}" for i in range(40)]
    assert table["index"].tolist() == list(range(40))
    assert set(table["iterations"]) == {len(fitted.objective)}
    assert set(table["objective"]) == {fitted.objective[-1]}


def test_axes_and_centering_are_those_of_the_consensus(study):
    fitted = generalized_procrustes(read(study), centering="stimuli")
    joint = Spaces(SPACES, centering="stimuli")
    axes = ask(ConsensusSpace(joint=joint), study).filter(like="axis_")
    np.testing.assert_allclose(axes, fitted.joint)
    table = ask(StimulusDispersion(joint=joint), study)
    np.testing.assert_allclose(table[list(SPACES)], dispersion.residuals(fitted))


def test_each_space_is_compared_with_the_others_alone(study):
    found = dispersion.leave_one_out(read(study))
    dispersions, deviations = found.dispersion, found.deviation
    points = ask(HeldOutFits(joint=Spaces(SPACES), points=True), study)
    np.testing.assert_allclose(points["dispersion"].to_numpy().reshape(3, 40).T, dispersions)
    np.testing.assert_allclose(points["deviation"].to_numpy().reshape(3, 40).T, deviations)
    fits = ask(HeldOutFits(joint=Spaces(SPACES)), study)
    assert fits["space"].tolist() == list(SPACES)
    assert fits["pearson"].tolist() == pytest.approx(
        [np.corrcoef(*pair)[0, 1] for pair in zip(dispersions.T, deviations.T, strict=True)]
    )
    null = found.shuffled[:, 1]
    assert fits["shuffled"].tolist() == pytest.approx(found.shuffled.mean(axis=0).tolist())
    assert fits["shuffled_p"][1] == pytest.approx((1 + (null >= fits["pearson"][1]).sum()) / 200)


def test_only_the_stimuli_studied_have_a_part(root):
    table = disperse(Study(Store(root), "cave", where={"scene": "forest"}), SPACES)
    assert table["index"].tolist() == list(range(1, 40, 3))
    assert table["stimulus"].tolist() == [f"event {i}" for i in range(1, 40, 3)]


def test_what_was_fitted_is_read_again(study, monkeypatch):
    first = disperse(study, SPACES)
    monkeypatch.setattr(
        consensus, "generalized_procrustes", lambda *_, **__: pytest.fail("fitted twice")
    )
    pd.testing.assert_frame_equal(disperse(study, SPACES), first)


def test_what_has_no_consensus_is_refused(study):
    with pytest.raises(MetricError, match="at least two spaces of a positive weight; got 1"):
        disperse(study, SPACES[:1])
    with pytest.raises(MetricError, match="at least three spaces; got 2"):
        ask(HeldOutFits(joint=Spaces(SPACES[:2])), study)


def test_the_space_that_is_constant_is_named(study, monkeypatch):
    whole = Study.spaces
    monkeypatch.setattr(
        Study,
        "spaces",
        lambda self, model: [
            0 * one + 1 if model == "vit-clip-m" else one for one in whole(self, model)
        ],
    )
    with pytest.raises(MetricError, match="vit-clip-m:1: all 40 stimuli have the same vector"):
        disperse(study, ["vit-mae-m:1", "vit-clip-m:1"])
