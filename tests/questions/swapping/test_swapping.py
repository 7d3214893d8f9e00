"""Swapped probes: what a rotation keeps, what unrelated spaces lose, and ways against literal
oracles.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.linalg import orthogonal_procrustes

from core.competence.probes import Split
from core.errors import InputError, UnknownNameError
from core.questions.asking import answer, ask
from core.questions.swapping.question import (
    WAYS,
    Swap,
    better_way,
    factor_classes,
    factor_plot,
    swap_plot,
)
from core.questions.swapping.trials import fit_probes, hold, run_trials, swapped
from core.store import Store
from core.study.study import Study
from tests.pages.world import SMALL, PaintedDataset, build

N, CLASSES = 240, 4


@pytest.fixture(scope="module")
def world():
    """Return labels of two factors, a space that tells them, a rotated copy, and an unrelated
    space.
    """
    dice = np.random.default_rng(0)
    labels = [dice.integers(0, CLASSES, N) for _ in range(2)]
    told = np.hstack([np.eye(CLASSES)[each] for each in labels])
    space = (told @ dice.normal(size=(8, 12)) + 0.3 * dice.normal(size=(N, 12))).astype(np.float32)
    rotation = np.linalg.qr(dice.normal(size=(12, 12)))[0]
    copy = (5 * space @ rotation + 3).astype(np.float32)  # turned, larger and moved
    other = dice.normal(size=(N, 9)).astype(np.float32)
    return labels, space, copy, other


@pytest.fixture(scope="module")
def trials(world):
    labels, *spaces = world
    return run_trials(spaces, labels, anchors=50, folds=2, permutations=19, seed=0)


@pytest.mark.parametrize("way", WAYS)
def test_a_probe_loses_nothing_in_a_rotated_copy(trials, way):
    home, abroad = trials.right[way, 0, 0], trials.right[way, 0, 1]
    assert home.mean() > 0.9
    assert (home == abroad).mean() > 0.995  # but for rounding at a border
    assert trials.null[way, 0, 1].mean() < 0.4


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("pair", [(0, 2), (2, 0)])
def test_a_probe_falls_to_chance_in_an_unrelated_space(trials, way, pair):
    score, null = trials.right[way, *pair].mean(), trials.null[way, *pair].mean(axis=1)
    assert null.min() - 0.03 < score < null.max() + 0.03
    assert score == pytest.approx(1 / CLASSES, abs=0.08)


def test_each_stimulus_is_tested_by_probes_that_never_saw_it(world):
    """Labels that a space does not hold are told by memory alone."""
    _, space, *_ = world
    noise = [np.random.default_rng(5).integers(0, 2, N)]
    wide = np.random.default_rng(6).normal(size=(N, 300)).astype(np.float32)
    right = run_trials([space, wide], noise, anchors=20, folds=2, permutations=1, seed=0).right
    for key in right:
        assert right[key].mean() == pytest.approx(0.5, abs=0.12)


def test_ways_are_what_their_sources_say(world):
    _, space, copy, _ = world
    fitted, anchors = np.arange(200), np.arange(30)
    host, guest = hold(space, fitted, anchors), hold(copy[:, :7], fitted, anchors)
    centered = space - space[fitted].mean(0)
    lengths = np.linalg.norm(centered, axis=1)
    fourth = [centered[i] @ centered[4] / (lengths[i] * lengths[4]) for i in range(50)]
    assert np.corrcoef(host.cosines[:50, 4], fourth)[0, 1] == pytest.approx(1)
    order = np.random.default_rng(0).permutation(30)
    padded = np.pad(guest.framed, ((0, 0), (0, 5)))  # the oracle wants one width
    best, _ = orthogonal_procrustes(padded[anchors[order]], host.framed[anchors])
    oracle = padded @ best / host.framed[fitted].std(0)
    own, others = guest.framed[anchors[order]], host.framed[anchors]
    assert np.trace((padded @ best)[anchors[order]].T @ others) == pytest.approx(
        np.linalg.svd(own.T @ others, compute_uv=False).sum()
    )
    read = swapped("orthogonal", guest, host, order, fitted)
    np.testing.assert_allclose(read, oracle[fitted], atol=1e-4)


def test_the_strength_is_chosen_by_validation(world):
    labels, space, *_ = world
    held = hold(space, np.arange(200), np.arange(30))
    probes = fit_probes(
        held.cosines, labels, Split(np.arange(150), np.arange(150, 200), np.arange(200, N))
    )
    answers = probes.answer(held.cosines[200:])
    assert (answers == np.stack(labels)[:, 200:]).mean() > 0.85


@pytest.fixture(scope="module")
def asked(tmp_path_factory):
    root = build(tmp_path_factory.mktemp("swapped"), PaintedDataset(60), **SMALL)
    study = Study(Store(root), "cave")
    question = Swap(spaces=("vit-mae-m", "vit-clip-m", "gpt-2-m:2"), permutations=19, folds=2)
    answered = answer(question, study)
    return study, question, answered.table, answered.findings


def test_every_pair_stands_next_to_chance_its_home_and_native_probes(asked):
    _, _, table, findings = asked
    names = ["all factors", "scene", "thing_color", "count"]
    assert list(dict.fromkeys(table["factor"])) == names
    assert len(table) == 2 * (6 + 2) * len(names)  # ways, pairs and means of kinds
    overall = table[table["factor"] == "all factors"]
    pairs = overall[overall["probe"] != "mean"]
    assert set(pairs["kind"]) == {"within vision", "across modalities"}
    assert not (pairs["low"] >= pairs["score"]).any()
    assert (pairs["p"] >= 1 / 20).all()
    assert (pairs["q"] >= pairs["p"]).all()
    for way in WAYS:
        rows = pairs[(pairs["way"] == way) & (pairs["kind"] == "across modalities")]
        mean = overall[(overall["probe"] == "mean") & (overall["way"] == way)]
        across = mean.set_index("kind").loc["across modalities"]
        assert across["score"] == pytest.approx(rows["score"].mean())
        assert across["chance"] == pytest.approx(rows["chance"].mean())
    kept = table[table["kept"].notna()]
    assert (kept["native"] > kept["chance"]).all()
    shares = (kept["score"] - kept["chance"]) / (kept["native"] - kept["chance"])
    np.testing.assert_allclose(kept["kept"], shares)
    assert kept["kept"].between(kept["kept_low"], kept["kept_high"]).all()
    within, across_kinds, orthogonal, _ = findings
    best = overall[(overall["probe"] == "mean") & (overall["way"] == better_way(table))]
    expected = best.set_index("kind")["kept"]
    found = (within.value, across_kinds.value)
    assert found == pytest.approx((expected["within vision"], expected["across modalities"]))
    assert orthogonal.n == 6


def test_matrix_and_factors_are_drawn(asked):
    _, question, table, _ = asked
    for narrow in (False, True):
        for plot in (question.plot(table), swap_plot(table, better=False)):
            (heat,) = plot.draw("light", narrow=narrow).data
            assert heat.z.shape == (3, 3)
            assert np.isnan(np.diag(heat.z.astype(float))).all()
        assert len(factor_plot(table).draw("dark", narrow=narrow).data) > 6


def test_what_cannot_be_swapped_is_refused(asked):
    study, question, *_ = asked
    with pytest.raises(UnknownNameError, match="factor that a probe can tell named 'colour'"):
        ask(Swap(spaces=question.spaces, factors=("colour",)), study)
    with pytest.raises(InputError, match="got 99 of 45"):
        ask(Swap(spaces=question.spaces, anchors=99), study)
    with pytest.raises(InputError, match="two models or more; got 1"):
        ask(Swap(spaces=("gpt-2-m",)), study)


def test_factors_are_those_that_every_stimulus_has(asked, monkeypatch):
    study, *_ = asked
    table = study.store.stimuli("cave")
    more = {
        "missing": [None, *"ab" * 29, "a"],
        "many": range(60),
        "one": ["same"] * 60,
        "real": np.linspace(0, 1, 60).round(1),
        "whole": [1.0, 2.0] * 30,
    }
    wide = table.assign(**{name: list(values) for name, values in more.items()})
    monkeypatch.setattr(Store, "stimuli", lambda *_: wide)
    classes = factor_classes(study, ())
    assert list(classes) == ["scene", "thing_color", "count", "whole"]
    assert classes["whole"].tolist() == [0, 1] * 30
    monkeypatch.setattr(Store, "stimuli", lambda *_: pd.DataFrame({"stimulus": range(60)}))
    with pytest.raises(InputError, match="has none with 2 to 20 values"):
        factor_classes(study, ())
