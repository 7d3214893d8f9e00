"""A modality is a record: what follows from it, and that a further one needs nothing else."""

from __future__ import annotations

import json
from pathlib import Path

import plotly.graph_objects as go
import pytest

from core.cli import main
from core.encoders.encoder import ModelCard, modality_of
from core.errors import InputError
from core.figures.theme import hue
from core.modalities import (
    FURTHER,
    LANGUAGE,
    MODALITIES,
    MUSIC,
    VISION,
    WORLD,
    check_modality,
    known_first,
    reader_of,
)
from core.questions.alignment.axes import axis_of
from core.questions.alignment.question import Alignment
from core.questions.models.question import ModelMap
from core.store import Store
from core.study.models import codes_text, describe, is_reality, reads
from core.study.study import Study
from tests.audio import AUDIO, NAMES, build_with_audio, register


@pytest.fixture
def store(monkeypatch, tmp_path) -> Path:
    register(monkeypatch)
    return build_with_audio(tmp_path)


def rows_of(capsys, *words: object) -> list[dict[str, object]]:
    capsys.readouterr()
    assert main([*map(str, words), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    return found["rows"] if isinstance(found, dict) else found


def card(name: str, modality: str) -> ModelCard:
    return ModelCard(name, name, modality, f"x:{name}", "ViT", "MAE", None, "w", ("0",))


def test_each_modality_has_a_name_and_a_symbol_of_its_own():
    assert [one.name for one in MODALITIES.values()] == list(MODALITIES)
    assert len({one.symbol for one in MODALITIES.values()}) == len(MODALITIES)


def test_plotly_draws_each_symbol_with_each_mark():
    for symbol in (*(one.symbol for one in MODALITIES.values()), *FURTHER):
        for mark in ("", "-dot", "-open-dot"):
            dot = go.Scatter(marker={"symbol": f"{symbol}{mark}"})  # raises for an unknown one
            assert dot.marker.symbol == f"{symbol}{mark}"


def test_a_trend_of_one_modality_or_several_names_them(store):
    study = Study(Store(store), "cave")
    language = study.models().query("modality == 'language'")["model"].tolist()
    for x, named in ((NAMES, AUDIO.plural), ((*NAMES, *language), "models")):
        question = Alignment(x=tuple(x), axis="parameters").complete(study)
        assert axis_of(question, study).models == named


def test_what_encoders_read_leads_to_the_modality_that_reads_it():
    assert list(map(reader_of, ("image", "caption", "melody"))) == [VISION, LANGUAGE, MUSIC]
    assert all(one.example for one in MODALITIES.values() if one.reads)


def test_any_further_name_is_a_modality_of_its_own():
    touch = modality_of(card("x", "touch"))
    assert (touch.title, touch.plural, touch.reads) == ("touch model", "touch models", None)
    assert touch.symbol in FURTHER
    assert touch.symbol not in {one.symbol for one in MODALITIES.values()}
    assert known_first(["touch", "brain", "language", "audio", "touch"]) == [
        "language",
        "brain",
        "audio",
        "touch",
    ]
    check_modality("point sets 2")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("visions", "no modality named 'visions'; did you mean vision"),
        ("world", "no modality named 'world'; there are: brain, language, music, people, vision"),
        ("Touch!", "expected a modality of 1 to 30 lower-case letters, .* got 'Touch!'"),
    ],
)
def test_what_cannot_be_a_modality_is_refused(name, message):
    with pytest.raises(InputError, match=message):
        check_modality(name)


def test_models_group_as_their_modality_says(monkeypatch):
    register(monkeypatch)
    models = describe([card(name, name) for name in MODALITIES])
    assert models["group"].tolist() == ["MAE", "ViT", "MAE", "world", "brain", "people", "audio"]


def test_a_table_of_models_is_asked_what_they_read():
    models = describe([card(name, name) for name in MODALITIES])
    assert models.loc[reads(models, "image"), "model"].tolist() == [VISION.name]
    assert models.loc[reads(models, "caption"), "model"].tolist() == [LANGUAGE.name]
    assert models.loc[reads(models, "melody"), "model"].tolist() == [MUSIC.name]
    assert models.loc[codes_text(models), "model"].tolist() == [LANGUAGE.name]
    assert models.loc[is_reality(models), "model"].tolist() == [WORLD.name]


def test_a_fourth_modality_is_listed_and_aligned_by_the_commands(store, capsys):
    listed = rows_of(capsys, "model", "list", "--store", store)
    assert {row["model"] for row in listed if row["modality"] == AUDIO.name} == set(NAMES)
    aligned = rows_of(capsys, "align", "--x", *NAMES, "--y", "reality", "--store", store)
    assert [row["model_x"] for row in aligned] == list(NAMES)
    assert all(row["score"] > row["chance"] for row in aligned)


def test_a_fourth_modality_is_a_side_of_no_question_that_does_not_name_it(store, capsys):
    aligned = rows_of(capsys, "align", "--store", store)
    assert not {*NAMES} & {row[side] for row in aligned for side in ("model_x", "model_y")}


def test_a_fourth_modality_is_placed_on_the_map_with_its_own_symbol_and_hue(store, capsys):
    placed = rows_of(capsys, "models", "map", "--layout", "mds", "--store", store)
    assert set(NAMES) < {row["model"] for row in placed}
    models = describe([entry.card for entry in Store(store).models("cave")])
    points = models.assign(x=range(len(models)), y=0.0, skill="", near="", reason="")
    marks = {
        str(trace.customdata[0][0]): trace.marker
        for trace in ModelMap().plot(points).draw("light").data
        if trace.customdata is not None
    }
    for name in NAMES:
        assert marks[name].symbol == AUDIO.symbol
        assert marks[name].color == hue(name, "light")


def test_a_store_keeps_models_of_a_modality_that_has_no_record(store, monkeypatch):
    monkeypatch.delitem(MODALITIES, AUDIO.name)
    held = Store(store)
    assert {*NAMES} < {entry.card.name for entry in held.models("cave")}
    assert not held.problems()
