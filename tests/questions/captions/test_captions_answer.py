"""Caption levels over a study: which embeddings are compared, and that no statistic counts them
twice.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from store_fakes import CountedDataset, CountingEncoder

from core.embedding.runner import embed
from core.errors import MetricError, UnknownNameError
from core.questions.asking import ask, left_out_of
from core.questions.captions import (
    CaptionAlignment,
    CaptionLevels,
    CaptionScores,
    by_level,
    embedded_levels,
    level_trends,
    texts_at,
)
from core.recipe import Recipe
from core.store import Embedding, Store, add_dataset, write_embedding, write_result
from core.store.schema import VERSIONS
from core.study.parts import Comparison, Scope
from core.study.study import Study
from tests.comparisons import align_models
from tests.pages.world import LANGUAGE, VISION, PaintedDataset, build

DATASET = PaintedDataset(60)
MODELS = ("gpt-2-m", "llama-m")


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Language models of which two read three levels, and keep the more of reality the more they
    read.
    """
    root = build(
        tmp_path_factory.mktemp("store"),
        DATASET,
        vision=VISION[2:4],
        language=[LANGUAGE[0], LANGUAGE[2], LANGUAGE[4]],
    )
    store = Store(root)
    for name in MODELS:
        card = store.model("cave", name).card
        for level, kept in (("5", 0.2), ("40", 4.0)):
            rng = np.random.default_rng(len(name))
            layers = [
                DATASET.reality * kept + rng.normal(size=(60, 9)).astype(np.float32) / 3
                for _ in card.layers
            ]
            write_embedding(
                root,
                Embedding(
                    dataset=DATASET.card,
                    card=replace(card, name=f"{name}~{level}"),
                    level=level,
                    layers=layers,
                    bits=None,
                    bytes=None,
                    recipe=Recipe.of(
                        "embedding", version=VERSIONS["embedding"], model=f"{name}~{level}"
                    ),
                    device="cpu",
                    seconds=0.1,
                ),
            )
    return root


@pytest.fixture
def study(root: Path) -> Study:
    return Study(Store(root), "cave")


def caption_levels(study: Study) -> pd.DataFrame:
    return ask(CaptionLevels(study_scope(study)), study)


def study_scope(study: Study) -> Scope:
    return Scope(study.dataset.name)


def scores(study: Study, x=(), y=(), k=None, metric="mutual_knn", layers="best") -> CaptionScores:
    return CaptionScores(study_scope(study), x, y, Comparison(metric, k, layers=layers))


def compare_levels(study: Study, **choices) -> pd.DataFrame:
    return ask(scores(study, **choices), study)


def compare_told(study: Study, *, k: int, **choices) -> pd.DataFrame:
    question = CaptionAlignment(comparison=Comparison(k=k), over="facts", **choices)
    return question.complete(study).bins(study)


def tell_outdated(study: Study) -> list[str]:
    return list(left_out_of(CaptionScores(), study))


def test_reembedded_levels_are_read_at_their_level_and_counted_nowhere(study: Study) -> None:
    table = embedded_levels(study).query("model == 'llama-m'").set_index("level")["name"]
    assert table.to_dict() == {"20": "llama-m", "5": "llama-m~5", "40": "llama-m~40"}
    assert study.readers("caption") == ["gpt-2-m", "gpt-2-xs", "llama-m"]
    assert not study.models()["model"].str.contains("~").any()
    assert study.competence()["model"].tolist() == ["gpt-2-m", "gpt-2-xs", "llama-m"]


def test_levels_are_described_from_the_fewest_words_to_the_most(study: Study) -> None:
    levels = caption_levels(study).set_index("level")
    assert levels.index.tolist() == ["5", "20", "40"]
    texts = [DATASET._caption(index, "5") for index in range(60)]
    assert levels.loc["5", "bytes"] == pytest.approx(
        np.mean([len(text.encode()) for text in texts])
    )
    assert levels["words"].is_monotonic_increasing
    assert levels["models"].tolist() == [2, 3, 2]


def test_alignment_is_compared_at_every_level(study: Study) -> None:
    table = compare_levels(study, k=5)
    assert set(table["model"]) == set(MODELS)
    assert len(table) == 2 * 3 * 3  # models, levels, two vision models and reality
    row = table.query("name == 'gpt-2-m~40' and model_y == 'reality'").iloc[0]
    assert row["score"] == align_models(study, ["gpt-2-m~40"], ["reality"], k=5)["score"].item()
    means = by_level(table).query("model_y == 'reality'")["mean"]
    assert means.iloc[0] < 0.3 < 0.7 < means.iloc[-1]
    assert level_trends(table, {})["slope"].gt(0).all()


def test_texts_follow_the_stimuli_studied(study: Study) -> None:
    part = Study(study.store, "cave", where={"scene": "forest"})
    assert texts_at(part, "5") == [texts_at(study, "5")[row] for row in part.rows]
    assert texts_at(part, "mean")[0] == tuple(
        DATASET._caption(int(part.rows[0]), level) for level in DATASET.card.levels
    )


def test_the_alignment_is_the_mean_of_the_scores_with_the_trend_of_each_target(
    study: Study,
) -> None:
    question = CaptionAlignment(comparison=Comparison(k=5), by="model")
    table = ask(question, study)
    raw = compare_levels(study, k=5)
    pd.testing.assert_frame_equal(
        table[["model_y", "level", "words", "mean", "deviation", "models", "chance"]].sort_values(
            ["model_y", "words"], ignore_index=True
        ),
        by_level(raw).sort_values(["model_y", "words"], ignore_index=True),
    )
    trends = level_trends(raw, {"gpt-2-m": "GPT-2", "llama-m": "LLaMA"}).set_index("model_y")
    for name, p, paired, title in zip(
        table["model_y"], table["p"], table["paired"], table["title"], strict=True
    ):
        assert p == pytest.approx(trends.loc[name, "p"])
        assert paired == trends.loc[name, "models"]
        assert title == study.models().set_index("model")["title"][name]
    grouped = ask(replace(question, by="objective"), study)
    assert set(grouped["model_y"]) == {"CLIP", "reality"}
    clip = raw[raw["model_y"].str.contains("clip")].groupby("level")["score"].mean()
    means = grouped[grouped["model_y"] == "CLIP"].set_index("level")["mean"]
    assert means.to_dict() == pytest.approx(clip.to_dict())


def test_a_level_that_was_written_again_is_left_out_until_it_is_read_again(tmp_path: Path) -> None:
    dataset = CountedDataset(20)

    def write(tail: str, *, words: int) -> None:
        table = pd.DataFrame(
            {"index": range(20), "level": "brief", "text": [f"event {i},{tail}" for i in range(20)]}
        )
        recipe = Recipe.of("captions", version=VERSIONS["captions"], words=words)
        write_result(
            tmp_path, dataset=dataset.card, name="captions-brief", table=table, recipe=recipe
        )

    add_dataset(tmp_path, dataset)
    write("", words=2)
    for level in ("20", "5", "brief"):
        embed(tmp_path, dataset, CountingEncoder(), level=level)
    study = Study(Store(tmp_path), "counted")
    assert caption_levels(study).set_index("level")["words"].to_dict() == {
        "brief": 2,
        "20": 4,
        "5": 4,
    }
    assert tell_outdated(study) == []
    write(" in many more words", words=6)
    study = Study(Store(tmp_path), "counted")
    assert caption_levels(study)["level"].tolist() == ["20", "5"]
    assert embedded_levels(study)["name"].tolist() == ["counting", "counting~5"]
    path = tmp_path / "embeddings" / "counted" / "counting~brief.duckdb"
    assert tell_outdated(study) == [
        "counting~brief is left out: the captions of level 'brief' changed since;"
        f" delete {path} and embed it again"
    ]
    path.unlink()
    embed(tmp_path, dataset, CountingEncoder(), level="brief")
    study = Study(Store(tmp_path), "counted")
    assert caption_levels(study).set_index("level")["words"].to_dict() == {
        "20": 4,
        "5": 4,
        "brief": 6,
    }
    assert tell_outdated(study) == []


def test_single_stimuli_are_scored_by_what_their_captions_tell(study: Study) -> None:
    table = compare_told(study, y=("reality",), k=5)
    assert table.columns.tolist() == ["model_y", "level", "facts", "score", "stimuli", "chance"]
    assert table["facts"].between(0, 1).all()
    whole = compare_levels(study, y=("reality",), k=5).groupby("level")["score"].mean()
    for level, part in table.groupby("level"):
        if part["stimuli"].sum() == study.size:  # no bin was too small
            assert np.average(part["score"], weights=part["stimuli"]) == pytest.approx(whole[level])


def test_what_is_not_there_is_said(tmp_path: Path) -> None:
    dataset = PaintedDataset(40, name="other")
    study = Study(
        Store(build(tmp_path, dataset, vision=VISION[2:3], language=LANGUAGE[:1], reality=False)),
        "other",
    )
    with pytest.raises(
        MetricError,
        match=r"two or more caption levels; there is none: embed one with --caption-level",
    ):
        compare_levels(study)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (
            ("gpt-2-n",),
            (
                r"no language model at two or more caption levels named 'gpt-2-n'; did you mean"
                r" gpt-2-m\?"
            ),
        ),
        (
            ("llama-m", "gpt-2-xs"),
            "caption levels named 'gpt-2-xs'; did you mean gpt-2-m",
        ),  # embedded at one level
        (("vit-mae-m",), "caption levels named 'vit-mae-m'; did you mean"),
        (("llama-m~40",), r"caption levels named 'llama-m~40'; did you mean llama-m\?"),
    ],
)
def test_a_model_that_cannot_be_compared_by_level_is_named(
    study: Study, names: tuple[str, ...], message: str
) -> None:
    with pytest.raises(UnknownNameError, match=message):
        compare_levels(study, x=names, k=5)


def test_what_else_is_wrong_is_said_before_anything_is_compared(study: Study) -> None:
    with pytest.raises(
        UnknownNameError, match="no vision model named 'gpt-2-m'"
    ):  # it would be compared with itself
        compare_levels(study, y=("gpt-2-m",), k=5)
    with pytest.raises(UnknownNameError, match="no metric named 'ckaa'; did you mean cka"):
        compare_levels(study, metric="ckaa")
    with pytest.raises(MetricError, match=r"layers are chosen by best, last, .*; got 'all'"):
        compare_levels(study, layers="all")


def test_the_published_figure_is_a_mean_over_vision_and_a_deviation_over_language(root: Path):
    """Figure 9 of Huh et al. 2024, written out: of each language model the mean over all vision
    models, then mean and standard deviation (n − 1) of these.
    """
    study = Study(Store(root), "cave")
    seeing = ("vit-clip-s", "vit-clip-m")
    question = CaptionAlignment(Scope("cave"), MODELS, (*seeing, "reality"), by="modality")
    table = ask(question, study).set_index(["title", "level"])
    scores = ask(CaptionScores(Scope("cave"), MODELS, seeing), study)
    for level in ("5", "20", "40"):
        own = []
        for model in MODELS:
            rows = scores[(scores["model"] == model) & (scores["level"] == level)]
            own.append(sum(rows["score"]) / len(seeing))
        mean = sum(own) / len(own)
        deviation = (sum((one - mean) ** 2 for one in own) / (len(own) - 1)) ** 0.5
        row = table.loc["all vision models", level]
        assert (row["mean"], row["deviation"]) == pytest.approx((mean, deviation))
    assert list(table.index.unique("title")) == ["all vision models", "Reality"]
