"""Colors of a study: each source gives dissimilarities, tables are turned onto perception and
kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from core.encoders.encoder import Encoding, ModelCard
from core.errors import FeatureError, InputError, MetricError, UnknownNameError
from core.options import build as build_question
from core.questions.asking import answer, ask
from core.questions.color.counts import count_colors
from core.questions.color.parts import (
    BEST,
    LARGEST,
    PERCEPTION,
    PIXELS,
    VECTORS,
    WORST,
    Counting,
    Reading,
)
from core.questions.color.perception import LAB, color_words, to_lab
from core.questions.color.question import ColorAgreement, ColorLayout, ColorModels
from core.questions.color.shipped import FILE, PAIRS, read_counts, write_counts
from core.questions.color.sources import (
    choose_model,
    of_captions,
    of_model,
    of_pixels,
    of_vectors,
    typed_source,
)
from core.store import Store
from core.study.study import Study
from tests.pages.world import LANGUAGE, VISION, PaintedDataset, build

QUICK = {"starts": 5, "permutations": 19}
CIFAR = f"{PIXELS}cifar10"


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(
        tmp_path_factory.mktemp("store"),
        PaintedDataset(24),
        vision=[VISION[0]],
        language=LANGUAGE[1:3],
        reality=False,
    )


@pytest.fixture
def study(root: Path) -> Study:
    return Study(Store(root), "cave")


def lay_out(study: Study, *sources: str, **choices: object) -> pd.DataFrame:
    return ask(build_question(ColorLayout, {"source": sources, **QUICK, **choices}), study)


def compare(study: Study, *sources: str, **choices: object) -> pd.DataFrame:
    return ask(build_question(ColorAgreement, {"source": sources, **QUICK, **choices}), study)


def compare_models(study: Study, **choices: object) -> pd.DataFrame:
    return ask(build_question(ColorModels, {**QUICK, **choices}), study)


@pytest.fixture
def vectors(tmp_path: Path) -> str:
    """Return the name of vectors that are CIELAB itself, mirrored and scaled."""
    words = color_words()
    np.save(tmp_path / "mine.npy", words[LAB].to_numpy(np.float32) * (-2, 2, 2))
    return f"{VECTORS}{tmp_path / 'mine.npy'}"


def test_perception_is_cielab_itself(study):
    table = lay_out(study, PERCEPTION)
    assert table[["x", "y", "z"]].to_numpy() == pytest.approx(table[LAB].to_numpy(), abs=1e-6)
    assert len(table) == 24
    first = table.iloc[0]
    assert (
        first["kendall"],
        first["spearman"],
        first["kendall_p"],
        first["disparity_p"],
    ) == pytest.approx((1, 1, 0.05, 0.05))
    assert table[["error", "stress", "disparity"]].to_numpy() == pytest.approx(
        np.zeros((24, 3)), abs=1e-6
    )


def test_vectors_that_are_mirrored_cielab_are_laid_onto_it(study, vectors):
    table = lay_out(study, vectors)
    assert table[["x", "y", "z"]].to_numpy() == pytest.approx(table[LAB].to_numpy(), abs=1e-2)
    assert table["neighbors"].mean() == 1
    assert table["source"].unique() == ["mine"]


def test_the_counts_that_come_along_are_of_all_their_pairs():
    table = read_counts()
    assert table.sum() == 2 * PAIRS
    assert (table == table.T).all()
    assert FILE.stat().st_size < 100_000


def test_written_counts_are_read_again(tmp_path, monkeypatch):
    images = np.random.default_rng(0).integers(0, 256, (4, 6, 6, 3)).astype(np.uint8)
    np.savez(tmp_path / "images.npz", images=images)
    monkeypatch.setattr("core.questions.color.shipped.PAIRS", 500)
    monkeypatch.setattr("core.questions.color.shipped.FILE", tmp_path / "counts.npz")
    write_counts(tmp_path / "images.npz", tmp_path / "counts.npz")
    assert (read_counts() == count_colors(list(images), pairs=500)).all()


def test_natural_images_know_something_of_color(study):
    table = lay_out(study, CIFAR)
    assert table["kendall"].iloc[0] > 0.3
    assert table["kendall_p"].iloc[0] == 0.05
    assert (table["seen"] >= 100).all()


def test_the_grids_own_colors_are_laid_out_by_their_hex(study):
    table = lay_out(study, CIFAR, by="cells", least=300_000)
    assert table["color"].tolist() == table["hex"].tolist()
    assert (table["seen"] >= 300_000).all()
    assert table["seen"].sum() < 2 * PAIRS


def test_pictures_of_a_dataset_a_folder_and_an_npz_file_are_counted(study, tmp_path):
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (6, 8, 8, 3)).astype(np.uint8)
    np.savez(tmp_path / "images.npz", images=images)
    (tmp_path / "folder").mkdir()
    for place, image in enumerate(images):
        Image.fromarray(image).save(tmp_path / "folder" / f"{place}.png")
    found = [
        of_pixels(study, str(tmp_path / name), Counting(pairs=4000, least=1), color_words())
        for name in ("images.npz", "folder")
    ]
    assert found[0].matrix.tolist() == found[1].matrix.tolist()
    of_store = of_pixels(study, "cave", Counting(pairs=4000, side=8, least=1), color_words())
    assert len(of_store.colors) >= 2
    assert np.isfinite(of_store.matrix).all()


def test_images_that_are_not_there_and_choices_that_the_counts_lack_are_told(study):
    with pytest.raises(
        UnknownNameError, match="no dataset, folder or file named 'cifar'; did you mean cifar10"
    ):
        lay_out(study, f"{PIXELS}cifar")
    with pytest.raises(InputError, match="to count otherwise, give the pictures as a folder"):
        lay_out(study, CIFAR, radius=2.0)
    with pytest.raises(
        MetricError,
        match="1 colors were seen 20000000 times or more; count more pairs, or ask for fewer",
    ):
        lay_out(study, CIFAR, least=20_000_000)


def test_captions_alone(study, monkeypatch):
    texts = [
        "a red and a maroon and an orange hat",
        "blue teal cyan",
        "red orange",
        "teal blue",
        "peach red orange blue",
    ] * 5
    table = pd.DataFrame({"index": range(25), "text": texts})
    monkeypatch.setattr(type(study.store), "captions", lambda *_: table)
    found = of_captions(study, Counting(least=10), color_words())
    assert set(found.colors) == {"red", "orange", "blue", "teal", "maroon", "cyan", "peach"}
    near = found.of(["red", "orange", "teal"]).matrix
    assert near[0, 1] < near[0, 2]


def test_the_best_and_the_worst_language_model_are_so_by_competence(study):
    values = study.competence().dropna(subset="value").set_index("model")["value"]
    assert choose_model(study, BEST) == values.idxmax()
    assert choose_model(study, WORST) == values.idxmin()
    assert choose_model(study, "hf:some/model") == "hf:some/model"
    with pytest.raises(
        UnknownNameError, match="no source of colors named 'simcze'; did you mean simcse"
    ):
        choose_model(study, "simcze")


class Rainbow:
    """A language model of CIELAB: its second layer is where a word's color lies, its first says
    nothing.
    """

    device = "cpu"
    recipe: Mapping[str, object] = {}

    def __init__(self, card: ModelCard) -> None:
        self.card = card

    def encode(self, items):
        lab = color_words().set_index("word")[LAB]
        found = [lab.loc[item.rstrip(".").split()[-1]].to_numpy(np.float32) for item in items]
        return Encoding((np.ones((len(items), 2), np.float32), np.stack(found)))


@pytest.fixture
def rainbow(monkeypatch: pytest.MonkeyPatch) -> None:
    def reopen(entry, _):
        return Rainbow(replace(entry.card, layers=("embedding", "block 1")))

    monkeypatch.setattr("core.competence.opened.reopen", reopen)


@pytest.mark.usefixtures("rainbow")
def test_language_models_are_asked_and_shown_beside_their_competence(study):
    table = compare_models(study, words=("red", "green", "blue", "yellow", "pink", "brown"))
    assert table["model"].tolist() == study.readers("caption")
    assert table["kendall"].tolist() == pytest.approx([1.0] * len(table))
    assert table["competence"].tolist() == pytest.approx(
        study.competence()["value"].tolist(), nan_ok=True
    )
    silent = compare_models(study, layer="embedding")
    assert silent["reason"].str.contains("all dissimilarities are 0").all()
    assert silent[["kendall", "disparity_p"]].isna().all(axis=None)


@pytest.mark.usefixtures("rainbow")
def test_a_model_of_the_cave_is_asked_for_its_colors_alone(study, monkeypatch):
    name = study.readers("caption")[0]
    assert len(of_model(study, name, Reading(), color_words()).colors) in (18, 24)
    monkeypatch.setattr("core.questions.color.sources._in_the_cave", lambda words: words.head(7))
    trained = bool(study.entry(name).card.training.get("config"))
    assert len(of_model(study, name, Reading(), color_words()).colors) == (7 if trained else 24)


def test_the_caves_colors_are_eighteen_of_the_words():
    from core.questions.color.sources import _in_the_cave

    left_out = set(color_words()["word"]) - set(_in_the_cave(color_words())["word"])
    assert left_out == {"brown", "black", "white", "gray", "tan", "beige"}


def test_sources_are_compared_over_the_colors_that_all_have(study, vectors):
    table = compare(study, PERCEPTION, CIFAR, vectors, bootstrap=20)
    assert len(table) == 3 * 7
    assert table["colors"].unique().tolist() == [
        len(of_pixels(study, "cifar10", Counting(), color_words()).colors)
    ]
    row = table.set_index(["x", "y", "of", "measure"]).loc[
        ("perception", "mine", "dissimilarities", "kendall")
    ]
    assert row["value"] == pytest.approx(1, abs=1e-3)
    assert (table["p_adjusted"] >= table["p"]).all()
    few = compare(
        study, PERCEPTION, CIFAR, words=("red", "green", "blue", "pink", "teal"), bootstrap=0
    )
    assert few["colors"].unique().tolist() == [5]


def test_what_cannot_be_compared_is_refused(study, vectors, tmp_path):
    with pytest.raises(InputError, match="expected at least two sources to compare"):
        compare(study, PERCEPTION)
    with pytest.raises(InputError, match="perception is named twice; leave one out"):
        compare(study, PERCEPTION, CIFAR, PERCEPTION)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "mine.npy").write_bytes((tmp_path / "mine.npy").read_bytes())
    other = f"{VECTORS}{tmp_path / 'other' / 'mine.npy'}"
    both = compare(study, vectors, other, bootstrap=0)
    assert (both["x"].iloc[0], both["y"].iloc[0]) == (vectors, other)  # two titles are the same
    with pytest.raises(MetricError, match="no color in common"):
        compare(study, PERCEPTION, CIFAR, by="cells")
    with pytest.raises(FeatureError, match="has 24 rows for 2 words; expected a row for each"):
        lay_out(study, vectors, words=("red", "blue"))
    np.save(tmp_path / "nan.npy", np.full((5, 3), np.nan, np.float32))
    with pytest.raises(FeatureError, match="must be finite"):
        lay_out(
            study,
            f"{VECTORS}{tmp_path / 'nan.npy'}",
            words=("red", "blue", "teal", "pink", "gray"),
        )


def test_a_file_of_vectors_has_a_row_for_each_word_named_in_their_order(study, tmp_path):
    words = ("blue", "red", "teal", "pink", "gray")
    np.save(tmp_path / "five.npy", color_words("xkcd", words)[LAB].to_numpy(np.float32))
    colors = of_vectors(study, str(tmp_path / "five.npy"), color_words("xkcd", words))
    assert colors.colors == words
    table = lay_out(study, f"{VECTORS}{tmp_path / 'five.npy'}", words=words)
    assert table["error"].max() == pytest.approx(0, abs=1e-2)


def test_an_option_reaches_the_sources_that_have_it_alone(study, tmp_path):
    images = np.random.default_rng(0).integers(0, 256, (6, 8, 8, 3)).astype(np.uint8)
    np.savez(tmp_path / "mine.npz", images=images)
    mine, few = f"{PIXELS}{tmp_path / 'mine.npz'}", {"pairs": 4000, "radius": 2.0}
    table = lay_out(study, CIFAR, mine, PERCEPTION, least=1, **few)
    alone = [
        lay_out(study, CIFAR, least=1),
        lay_out(study, mine, least=1, **few),
        lay_out(study, PERCEPTION),
    ]
    pd.testing.assert_frame_equal(table, pd.concat(alone, ignore_index=True))


def test_without_any_source_one_of_each_kind_is_meant(study):
    complete = ColorLayout().complete(study)
    best, worst, vision = (choose_model(study, one) for one in (BEST, WORST, LARGEST))
    assert complete.source == (PERCEPTION, CIFAR, best, vision, "captions", worst)
    assert study.entry(vision).card.modality == "vision"


class Eye(Rainbow):
    """A vision model whose last layer is the mean CIELAB color of an image."""

    def encode(self, items):
        means = [np.asarray(item, np.float64).reshape(-1, 3).mean(axis=0) for item in items]
        lab = to_lab(np.stack(means)).astype(np.float32)
        return Encoding((np.ones((len(items), 2), np.float32), lab))


def test_a_vision_model_sees_plain_images_of_each_color(study, monkeypatch):
    def reopen(entry, _):
        return Eye(replace(entry.card, layers=("embedding", "block 1")))

    monkeypatch.setattr("core.competence.opened.reopen", reopen)
    table = lay_out(study, LARGEST)
    assert len(table) == 24
    assert table["kendall"].iloc[0] > 0.98  # colors that a screen shows are whole numbers


@pytest.mark.usefixtures("rainbow")
def test_a_source_that_fails_is_left_out_with_its_reason(study):
    found = answer(
        build_question(ColorLayout, {"source": (PERCEPTION, "captions"), **QUICK}), study
    )
    assert found.table["source"].unique().tolist() == [PERCEPTION]
    assert "0 colors were seen 20 times or more" in found.findings[-1].reason
    with pytest.raises(MetricError, match="0 colors were seen"):
        lay_out(study, "captions")


def test_a_folder_is_read_though_a_link_in_it_leads_nowhere(study, tmp_path):
    Image.fromarray(np.random.default_rng(0).integers(0, 256, (40, 40, 3), np.uint8)).save(
        tmp_path / "noise.png"
    )
    (tmp_path / "gone.png").symlink_to(tmp_path / "nowhere.png")
    assert len(lay_out(study, f"{PIXELS}{tmp_path}", pairs=5000)) >= 5
    with pytest.raises(InputError, match="expected at least one pair of pixels; got 0"):
        lay_out(study, f"{PIXELS}{tmp_path}", pairs=0)


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("/a/shots", "pixels:/a/shots"),
        ("/a/mine.npz", "pixels:/a/mine.npz"),
        ("/a/mine.NPY", "vectors:/a/mine.NPY"),
        ("hf:me/mine", "hf:me/mine"),
        ("perception", "perception"),
    ],
)
def test_pictures_vectors_and_models_of_the_user_are_sources_by_what_is_typed(text, source):
    assert typed_source(text) == source
