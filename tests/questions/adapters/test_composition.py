"""Two adapters one after the other, on training and validation stimuli that they do not share."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
import torch

from core.errors import InputError
from core.options.declaring import build as build_question
from core.questions import asking
from core.questions.adapters.answer import lesson_of
from core.questions.adapters.composition.answer import _views, complete_composition, compose
from core.questions.adapters.composition.figures import composition
from core.questions.adapters.composition.findings import COMPOSED, composition_findings
from core.questions.adapters.composition.question import Composition
from core.questions.adapters.maps.model import Parts, Settings, settings_of, split
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
    for measure in ("recall_10", "alignment"):
        change = value["composed", measure] - value["direct", measure]
        assert value["difference", measure] == pytest.approx(change)
    assert len(lessons) == 6
    parts = split(160)
    for left, right, direct in (lessons[:3], lessons[3:]):
        assert left[0] == ("vit-clip-m:2", "reality:0")
        assert right[0] == ("reality:0", "gpt-2-m:2")
        assert direct[0] == ("vit-clip-m:2", "gpt-2-m:2")
        shown = [{*own.train, *own.validation} for _, own in (left, right)]
        assert not shown[0] & shown[1]
        assert min(len(own.validation) for _, own in (left, right)) == 10
        for _, own in (left, right, direct):
            assert not {*own.train, *own.validation} & {*parts.test}
    said = composition_findings(asked, table)
    assert said[0].startswith(
        f"Through y, recall at 10 between x and z is {value['composed', 'recall_10']:.3f}, directly"
    )
    figure = composition(table, label="alignment", mode="light")
    assert [list(trace.y) for trace in figure.data] == [["direct", "through y"]] * 2


def test_the_bridge_is_the_least_squares_map_written_out(study: Study) -> None:
    """Literally: W = (AᵀA)⁻¹AᵀB, with A and B the training stimuli's y in either common space."""
    asked = complete_composition(build_question(Composition, {**ASKED, "seeds": 1}), study)
    lesson, _ = lesson_of(asked, study)
    x, y, z = lesson.spaces.values()
    taught, checked, test = lesson.parts.train, lesson.parts.validation, lesson.parts.test
    t, c = len(taught) // 2, len(checked) // 2
    halves = [Parts(taught[:t], checked[:c], test), Parts(taught[t:], checked[c:], test)]
    maps = []
    for half, pair in zip(halves, [(x, y), (y, z)], strict=True):
        spaces = dict(zip("ab", pair, strict=True))
        *_, last = train(spaces, half, replace(settings_of(asked.fitting), epochs=2))
        maps.append([(each.weight.astype(float), each.offset) for each in last.best.maps.values()])
    ((to_first, here), (from_y, there)), ((to_second, onward), (of_z, beyond)) = maps
    a, b = y[taught] @ from_y + there, y[taught] @ to_second + onward
    gram, cross = sum(map(np.outer, a, a)), sum(map(np.outer, a, b))
    expected = (x[test] @ to_first + here) @ np.linalg.pinv(gram, rcond=1e-12) @ cross
    found, other = _views(lesson, asked, 0, "cpu")[COMPOSED]
    np.testing.assert_allclose(found, expected, atol=1e-4 * np.abs(expected).max())
    np.testing.assert_allclose(other, z[test] @ of_z + beyond, atol=1e-5)


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


def test_composing_takes_one_of_each_and_two_halves_of_the_pairs(study: Study) -> None:
    with pytest.raises(InputError, match="half of the pairs, so composing takes 6 or more; got 5"):
        asking.ask(build_question(Composition, {**ASKED, "pairs": 5}), study)
    assert len(asking.ask(build_question(Composition, {**ASKED, "pairs": 6}), study)) == 6
    with pytest.raises(InputError, match="one --x, one --y and one --z; got 1, 1 and 0"):
        asking.ask(build_question(Composition, {**ASKED, "z": ()}), study)
