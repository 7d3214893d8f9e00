"""Published values next to one's own: listed, and compared and drawn where the store has both."""

from __future__ import annotations

import shlex
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from core.cli import main, make_parser
from core.questions.alignment.axes import FIRST_KNOWN
from core.questions.alignment.question import Alignment
from core.questions.asking import ask
from core.questions.dispersion.question import HeldOutFits, Spaces
from core.questions.published import (
    MANY,
    NO_METRIC,
    NO_MODELS,
    NO_NUMBER,
    OTHER_DATA,
    PART,
    SEVERAL,
    PublishedValues,
    list_published,
)
from core.questions.words import to_command
from core.spaces.choices import Clamping
from core.store import Store
from core.study import published
from core.study.parts import Comparison, Scope
from core.study.selections import encode
from core.study.study import Study
from tests.study.published_store import COCO, DISPERSED, WIT, build_published, embed, wit

SIZE = 24
DINO = "vit_small_patch14_dinov2.lvd142m"


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_published(tmp_path_factory.mktemp("published"), size=SIZE)


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    table = published.published_alignments()
    monkeypatch.setattr(published, "read_alignments", lambda *_: table.assign(stimuli=SIZE))


def test_published_correlations_stand_over_the_models_held_out(root: Path):
    study = Study(Store(root), WIT)
    fits_of = ask(HeldOutFits(Scope(WIT)), study)
    named = dict(zip(fits_of["space"].str.rpartition(":")[0], fits_of["published"], strict=True))
    models = [spec.partition(":")[2] for spec in DISPERSED]
    assert named == dict(zip(models, (0.33, 0.21, 0.43, 0.26), strict=True))
    question = HeldOutFits(Scope(WIT), points=True)
    figure = question.plot(ask(question, study)).draw("light")
    heads = [note.text for note in figure.layout.annotations]
    assert sum("published 0.33" in head for head in heads) == 1
    spaces = tuple(fits_of["space"])[:3]
    fewer = ask(HeldOutFits(Scope(WIT), Spaces(spaces)), study)
    assert "published" not in fewer


def test_every_published_value_is_listed_and_those_of_the_store_are_compared(root: Path):
    study = Study(Store(root), COCO)
    table = ask(PublishedValues(Scope(COCO)), study)
    assert len(table) == len(published.published_alignments())
    own = table[table["here"].notna()]
    assert len(own) == 22  # eleven pairs, by two metrics
    assert set(own["metric"]) == {"mutual_knn", "cka"}
    for x, layers in (("bloomz-560m", "best"), ("Qwen2-7B", "last")):
        pair = own[(own["metric"] == "cka") & own["x"].str.endswith(f"/{x}")].iloc[0]
        comparison = Comparison(metric="cka", layers=layers)
        question = Alignment(Scope(COCO), (x,), (DINO,), axis="", comparison=comparison)
        other = replace(question, comparison=Comparison(metric="cka", layers="1:0"))
        assert pair["here"] == ask(question, study)["score"].iloc[0]
        assert pair["here"] != ask(other, study)["score"].iloc[0]
        assert pair["command"] == to_command(replace(question, axis=FIRST_KNOWN))
        assert ("--layers last" in pair["command"]) == (layers == "last")
    reasons = {NO_NUMBER, NO_METRIC, MANY, OTHER_DATA, NO_MODELS}
    assert set(table.loc[table["here"].isna(), "reason"]) == reasons
    assert (table["published"].notna() | (table["reason"] == NO_NUMBER)).all()
    assert (table["command"].eq("") == table["reason"].eq(NO_METRIC)).all()
    assert (table["reason"] == NO_METRIC).sum() == 27


def test_what_is_not_the_same_is_not_compared_and_says_why(root: Path, tmp_path: Path):
    part = Scope(COCO, stimuli=encode(range(SIZE - 4), SIZE))
    table = ask(PublishedValues(part), part.open(Store(root)))
    assert table["here"].isna().all()
    assert (table["reason"] == PART).sum() == 98
    shutil.copytree(root, tmp_path / "store")
    spec = next(iter(DISPERSED))
    embed(tmp_path / "store", wit(SIZE), spec, "vision", "MAE", name="halved")
    held = PublishedValues(Scope(WIT), "dispersion")
    table = ask(held, Study(Store(tmp_path / "store"), WIT))
    assert table.loc[table["x"] != "", "reason"].tolist() == [SEVERAL] * 4


def test_every_command_is_one_and_studies_what_was_asked(root: Path):
    scope = Scope(COCO, Clamping(q=0.9), where=(("scene", "city"),))
    table = list_published(PublishedValues(scope), Study(Store(root), COCO))
    commands = set(table["command"]) - {""}
    parser = make_parser()
    for command in commands:
        _, *words = shlex.split(command)
        options = parser.parse_args(words)
        assert (options.dataset, options.q) == (COCO, 0.9)
        assert options.where == [("scene", "city")]
    assert not any("''" in command for command in commands)
    released = [command for command in commands if "variant=released" in command]
    assert len(released) == 9
    assert all("align --metric cknna --k" in command for command in released)


def test_each_page_has_its_own(root: Path, capsys: pytest.CaptureFixture[str]):
    for about in ("captions", "color", "dispersion"):
        table = ask(PublishedValues(Scope(WIT), about), Study(Store(root), WIT))
        assert set(table["page"]) == {about}
        assert len(table) == {"captions": 1, "color": 1, "dispersion": 5}[about]
    assert np.isfinite(table["here"]).sum() == 4
    words = ["published", "--dataset", WIT, "--about", "dispersion", "--store", str(root)]
    assert main(words) == 0
    assert "0.43" in capsys.readouterr().out
