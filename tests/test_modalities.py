"""A modality is a record: what follows from it, and that a further one needs nothing else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from core.cli import main
from core.encoders.encoder import ModelCard, modality_of
from core.errors import UnknownNameError
from core.figures.theme import hue
from core.modalities import LANGUAGE, MODALITIES, MUSIC, VISION, WORLD, find_modality, reader_of
from core.questions.models.figures import model_map
from core.store import Store
from core.study.models import codes_text, describe, is_reality, reads
from tests.audio import AUDIO, NAMES, build_with_audio, register


@pytest.fixture
def store(monkeypatch, tmp_path) -> Path:
    register(monkeypatch)
    return build_with_audio(tmp_path)


def rows_of(capsys, *words: object) -> list[dict[str, object]]:
    capsys.readouterr()
    assert main([*map(str, words), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def card(name: str, modality: str) -> ModelCard:
    return ModelCard(name, name, modality, f"x:{name}", "ViT", "MAE", None, "w", ("0",))


def test_each_modality_has_a_name_and_a_symbol_of_its_own():
    assert [one.name for one in MODALITIES.values()] == list(MODALITIES)
    assert len({one.symbol for one in MODALITIES.values()}) == len(MODALITIES)


def test_what_encoders_read_leads_to_the_modality_that_reads_it():
    assert list(map(reader_of, ("image", "caption", "melody"))) == [VISION, LANGUAGE, MUSIC]
    assert all(one.example for one in MODALITIES.values() if one.reads)


def test_an_unregistered_modality_is_refused_by_name():
    with pytest.raises(UnknownNameError, match="no modality named 'audio'"):
        find_modality(AUDIO.name)
    with pytest.raises(UnknownNameError, match="did you mean vision"):
        modality_of(card("x", "visions"))


def test_models_group_as_their_modality_says(monkeypatch):
    register(monkeypatch)
    models = describe([card(name, name) for name in MODALITIES])
    assert models["group"].tolist() == ["MAE", "ViT", "MAE", "world", "audio"]


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
    points = models.assign(x=range(len(models)), y=0.0, skill="", nearest="", followed=False)
    marks = {
        str(trace.customdata[0][0]): trace.marker
        for trace in model_map(points, color="group", mode="light").data
        if trace.customdata is not None
    }
    for name in NAMES:
        assert set(marks[name].symbol) == {AUDIO.symbol}
        assert marks[name].color == hue(name, "light")


def test_a_model_of_an_unregistered_modality_is_left_out_with_its_reason(store, monkeypatch):
    monkeypatch.delitem(MODALITIES, AUDIO.name)
    held = Store(store)
    assert not {*NAMES} & {entry.card.name for entry in held.models("cave")}
    assert all("modality 'audio'" in problem for problem in held.problems())
    assert len(held.problems()) == len(NAMES)


def test_reality_cannot_be_imported(tmp_path, capsys):
    words = ["--dataset", "cave", "--name", "x", "--modality", WORLD.name]
    assert main(["import", str(tmp_path / "x.npy"), *words]) == 2
    assert (
        "no modality named 'world'; there are: language, music, vision" in capsys.readouterr().err
    )
