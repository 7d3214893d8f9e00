"""What an image tells a language model: theorems over images that say the caption, and sentences
whichever way it goes.
"""

from __future__ import annotations

import json
import random
import shutil
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch
from tiny_models import make_language

from core.cave.events import events
from core.cave.world import CaveDataset
from core.embedding.runner import embed
from core.encoders.catalog import open_encoder
from core.errors import InputError, OfflineError, UnknownNameError
from core.networks.prefixed import ImagePrefix, nothing, tokenize, word_vectors
from core.questions.asking import answer, ask, recall
from core.questions.prefix import training
from core.questions.prefix.lessons import Lessons, choose_level, measured, taught
from core.questions.prefix.question import PrefixBits
from core.questions.prefix.training import code_all, train
from core.settings import CAVE_WEIGHTS
from core.stimuli.folder import open_folder
from core.store import Store
from core.study.study import Study
from tests.pages.world import SMALL, PaintedDataset, build

CPU = torch.device("cpu")
TINY = Lessons(events=16, passes=1, seeds=2)


@pytest.fixture(autouse=True)
def _one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """Return what four kinds of captions cost behind prefixes that learned from images which say
    the kind, from shuffled ones, and from none: bits per caption of new images, by prefix.
    """
    encoder = open_encoder(
        f"hf:{make_language(tmp_path_factory.mktemp('said') / 'gpt2', 'gpt2')}", device=CPU
    )
    dice = torch.Generator().manual_seed(0)
    kinds = torch.randint(4, (320,), generator=dice)
    looks = torch.randn(4, 3, 10, generator=dice)
    seen = looks[kinds] + 0.3 * torch.randn(320, 3, 10, generator=dice)
    captions = [f"{'abcd'[kind]}{'wxyz'[kind]}" for kind in kinds]
    words, taught_ = word_vectors(encoder), seen[:256]
    shuffled = taught_[torch.randperm(256, generator=dice)]
    blank = nothing(3).expand(320, -1, -1)
    made = {
        "image": (ImagePrefix(taught_, words, dice), taught_),
        "shuffled": (ImagePrefix(shuffled, words, dice), shuffled),
        "none": (ImagePrefix(blank[:1], words, dice), blank[:256]),
    }
    tokens, front = tokenize(encoder, captions[256:], length=3)
    bits = {}
    for name, (prefix, shown) in made.items():
        train(
            encoder,
            prefix,
            shown,
            lambda _: captions[:256],
            passes=12,
            dice=torch.Generator().manual_seed(1),
            told="steps",
        )
        measured_ = blank[256:] if name == "none" else seen[256:]
        bits[name] = code_all(encoder, prefix, measured_, tokens, front).numpy()
    bits["other"] = code_all(
        encoder, made["image"][0], seen[256:].roll(1, 0), tokens, front
    ).numpy()
    return bits


def test_an_image_that_says_the_caption_saves_its_bits(told):
    saved = told["none"] - told["image"]
    assert saved.mean() > 1  # of the two bits that one kind of four takes
    assert told["other"].mean() > told["none"].mean()


def test_a_map_trained_on_shuffled_images_tells_no_more_than_no_image(told):
    saved = told["none"] - told["shuffled"]
    error = saved.std(ddof=1) / len(saved) ** 0.5
    assert saved.mean() < 2 * error


@pytest.fixture(scope="module")
def cave(tmp_path_factory):
    """Return a study of 24 stimuli with two shipped models of each modality, the smallest."""
    root, dataset = tmp_path_factory.mktemp("cave"), CaveDataset(24)
    for name in ("gpt2-xs", "bloom-xs"):
        embed(root, dataset, open_encoder(f"hf:{CAVE_WEIGHTS / name}", device=CPU))
    for name in ("vit-clip-xs", "vit-mae-xs"):
        embed(root, dataset, open_encoder(spec_of(name), device=CPU))
    return Study(Store(root), "cave")


def spec_of(name: str) -> str:
    folder = CAVE_WEIGHTS / name
    return f"timm:{json.loads((folder / 'config.json').read_text())['architecture']}@{folder}"


def test_pairs_of_the_cave_are_measured_and_kept(cave, monkeypatch):
    question = PrefixBits(x=("gpt2-xs",), y=("vit-clip-xs",), lessons=TINY)
    table = ask(question, cave)
    row = table.iloc[0]
    assert row["reason"] == ""
    assert (row["tokens"], row["trainings"], row["captions"]) == (37, 2, 24)
    assert row["saved"] == pytest.approx(row["without"] - row["own"])
    assert row["misled"] == pytest.approx(row["other"] - row["without"])
    assert row["low"] < row["saved"] < row["high"]
    monkeypatch.setattr("core.questions.prefix.training.train", None)  # nothing is trained again
    again = ask(PrefixBits(x=("gpt2-xs",), y=("vit-clip-xs",), lessons=TINY), cave)
    pd.testing.assert_frame_equal(again, table)


def test_models_and_level_are_named_where_none_are(cave):
    whole = PrefixBits().complete(cave)
    assert whole.x == ("bloom-xs", "gpt2-xs")
    assert whole.y == ("vit-mae-xs", "vit-clip-xs")
    assert whole.lessons.level == "20"
    with pytest.raises(UnknownNameError, match="no caption level named '30'"):
        choose_level(cave, "30")
    with pytest.raises(InputError, match="not a language model; name"):
        PrefixBits(x=("vit-mae-xs",)).complete(cave)


def test_what_teaches_is_never_what_measures(cave, tmp_path):
    lessons = Lessons(events=64, level="20")
    one, other = (taught(cave, lessons, training=training) for training in (0, 1))
    assert one.captions(0) != other.captions(0)
    assert one.captions(0) != one.captions(1)  # other words for the same events
    scored = {event.signature for event in events("test", 24)}
    assert scored.isdisjoint(event.signature for event in events("prefix 0 0", 64))
    indices, exam = measured(cave, lessons)
    assert (len(indices), exam.rows) == (24, 24)
    folder = Study(Store(build(tmp_path, PaintedDataset(40, name="own"), **SMALL)), "own")
    folder.dataset = replace(folder.dataset, source={"kind": "folder"})  # no world makes more
    indices, exam = measured(folder, lessons)
    learned = taught(folder, lessons, training=0)
    assert (exam.rows, learned.rows) == (10, 30)
    assert set(learned.captions(0)).isdisjoint(exam.captions(0))


def test_what_cannot_be_opened_is_refused_before_anything_is_trained(tmp_path, monkeypatch):
    monkeypatch.setattr("core.questions.prefix.training.train", None)
    study = Study(Store(build(tmp_path, PaintedDataset(30), **SMALL)), "cave")
    question = PrefixBits(x=("gpt-2-m",), y=("vit-mae-m",), lessons=TINY)
    with pytest.raises(OfflineError, match="is not in the cache folder"):
        ask(question, study)
    assert recall(question, study) is None


def test_a_pair_that_cannot_be_measured_says_why(cave, monkeypatch):
    opened = training._language
    monkeypatch.setattr(training, "_language", lambda *args: replace(opened(*args), limit=40))
    question = PrefixBits(x=("gpt2-xs",), y=("vit-mae-xs",), lessons=TINY)
    answered = answer(question, cave)
    table = answered.table
    assert np.isnan(table["saved"].iloc[0])
    assert "reads 40 tokens at most, and an image of 37" in table["reason"].iloc[0]
    assert "No pair could be measured" in answered.findings[0].sentence
    assert "No pair could be measured" in question.plot(table).draw("light").layout.meta["title"]


def test_a_real_language_model_reads_images_through_the_same_code(tmp_path, stories, flickr):
    captions = pd.read_csv(flickr / "captions.csv").query("caption_index == 0")
    chosen = captions.iloc[random.Random(0).sample(range(len(captions)), 24)]
    folder = tmp_path / "photos"
    (folder / "images").mkdir(parents=True)
    for name in chosen["image"]:
        shutil.copy(flickr / "images" / name, folder / "images")
    rows = chosen[["image", "caption"]].assign(image="images/" + chosen["image"])
    rows.to_csv(folder / "table.csv", index=False)
    dataset = open_folder(folder, name="photos", table=folder / "table.csv")
    store = tmp_path / "store"
    for spec in (f"hf:{stories}", spec_of("vit-clip-xs")):
        embed(store, dataset, open_encoder(spec, device=CPU))
    study = Study(Store(store), "photos")
    x, y = (study.readers(item)[0] for item in ("caption", "image"))
    row = ask(PrefixBits(x=(x,), y=(y,), lessons=TINY), study).iloc[0]
    assert row["reason"] == ""
    assert row["captions"] == 6
    assert np.isfinite([row["own"], row["other"], row["without"]]).all()
