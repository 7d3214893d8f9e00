"""Two adapters one after the other, on pairs that share no stimulus."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
import torch

from core.errors import InputError
from core.options import build as build_question
from core.questions import asking
from core.questions.adapters.composition.answer import compose
from core.questions.adapters.composition.figures import composition
from core.questions.adapters.composition.findings import composition_findings
from core.questions.adapters.composition.question import Composition
from core.questions.adapters.maps.model import Parts, Settings, split
from core.questions.adapters.maps.training import train
from core.store import Store
from core.study.clamping import Clamping
from core.study.study import Study
from tests.pages.world import LANGUAGE, VISION, PaintedDataset, build

ASKED = {
    "x": ("vit-clip-m:2",),
    "y": ("reality",),
    "z": ("gpt-2-m:2",),
    "ref": ("vit-mae-m",),
    "width": 12,
    "k": 5,
    "seeds": 2,
}


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    root = tmp_path_factory.mktemp("store")
    build(root, PaintedDataset(160), vision=[VISION[1], VISION[3]], language=LANGUAGE[2:3])
    return Study(Store(root), "cave", Clamping(1.0))


@pytest.fixture(autouse=True)
def lessons(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[tuple[tuple[str, ...], Parts]]]:
    """Train for a moment, and remember on what."""
    seen = list[tuple[tuple[str, ...], Parts]]()

    def short(spaces: dict, parts: Parts, settings: Settings, **how: object) -> Iterator[object]:
        seen.append((tuple(spaces), parts))
        return train(spaces, parts, replace(settings, epochs=2), **how)

    monkeypatch.setattr("core.questions.adapters.maps.training.train", short)
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield seen
    torch.set_num_threads(before)


def test_what_shares_reality_is_found_through_it_and_nobody_saw_both(study: Study, lessons) -> None:
    asked = build_question(Composition, ASKED)
    table = asking.ask(asked, study)
    value = table.set_index(["way", "measure"])["value"]
    assert value["composed", "recall_10"] > 0.6  # chance is 0.25
    assert value["composed", "recall_10"] > value["direct", "recall_10"] - 0.2
    for measure in ("recall_10", "alignment"):
        change = value["composed", measure] - value["direct", measure]
        assert value["difference", measure] == pytest.approx(change)
    assert len(lessons) == 6
    parts = split(160)
    for left, right, direct in (lessons[:3], lessons[3:]):
        assert left[0] == ("vit-clip-m:2", "reality:0")
        assert right[0] == ("reality:0", "gpt-2-m:2")
        assert direct[0] == ("vit-clip-m:2", "gpt-2-m:2")
        assert not {*left[1].train} & {*right[1].train}
        for _, own in (left, right, direct):
            assert not {*own.train, *own.validation} & {*parts.test}
    said = composition_findings(asked, table)
    assert said[0].startswith(
        f"Through y, recall at 10 between x and z is {value['composed', 'recall_10']:.3f}, directly"
    )
    figure = composition(table, label="alignment", mode="light")
    assert [list(trace.y) for trace in figure.data] == [["direct", "through y"]] * 2


def test_an_unrelated_bridge_gives_chance(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    from core.questions.adapters.composition import answer

    real = answer.lesson_of

    def shuffled(question: Composition, study: Study) -> object:
        lesson, reference = real(question, study)
        order = np.random.default_rng(0).permutation(160)
        spaces = {**lesson.spaces, "reality:0": lesson.spaces["reality:0"][order]}
        return lesson._replace(spaces=spaces), reference

    monkeypatch.setattr(answer, "lesson_of", shuffled)
    asked = answer.complete_composition(build_question(Composition, ASKED), study)
    value = compose(asked, study, None).set_index(["way", "measure"])["value"]
    assert value["composed", "recall_10"] < 0.45
    assert value["direct", "recall_10"] > 0.6


def test_composing_takes_one_of_each(study: Study) -> None:
    with pytest.raises(InputError, match="one --x, one --y and one --z; got 1, 1 and 0"):
        asking.ask(build_question(Composition, {**ASKED, "z": ()}), study)
