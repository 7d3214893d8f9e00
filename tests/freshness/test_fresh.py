"""An answer that is served is never stale: asked again after each change of a store, every question
gives what it gives over the same store without any results.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterable
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import pandas as pd
import pytest
import torch

from core.competence.records import as_table, result_name, row, suite_recipe
from core.competence.scores import import_scores
from core.errors import InputError, PlatoscopeError
from core.questions import asking as asking_module
from core.questions.asking import ask
from core.questions.question import StudyQuestion
from core.questions.simple import simple_features
from core.questions.stimuli.question import StimulusList, StimulusNeighbors
from core.questions.topics import every_kind
from core.recipe import Recipe
from core.store import Store, carry_out, plan_model_deletion, rename_model, write_result
from core.store.schema import DERIVED, published_files
from core.study.study import Study
from tests.pages import world
from tests.pages.world import LANGUAGE, VISION, PaintedDataset, build
from tests.questions.answers import answer_by

Step = Callable[[Path], object]
T = TypeVar("T")
Answers = dict[str, pd.DataFrame | str]
EVERY = [kind for kind in every_kind() if issubclass(kind, StudyQuestion)]
SAMPLE = {  # one of each way of reading: models by name, all of a kind, scores, captions, others
    "captions levels",
    "captions alignment",
    "competence list",
    "convergence levels",
    "models table",
    "stimuli list",
}
FEW = {  # draws, and stimuli that are compared: enough to be answered
    "permutations": 19,
    "dealings": 9,
    "bootstrap": 40,
    "null": 19,
    "drawn": 50,
    "samples": 10,
    "seeds": 1,
    "starts": 1,
    "draws": 2,
    "repeats": 2,
    "rotations": 1,
    "pictures": 50,
    "k": 3,
}
DATASET = PaintedDataset(60)
REPLACED = "vit-mae-m"


def small(root: Path) -> Path:
    return build(root, DATASET, vision=VISION[1:4], language=LANGUAGE[:3])


def measure(*names: str) -> Step:
    """Return a step that gives models scores in the Cave's suite, the later ones higher."""

    def step(root: Path) -> None:
        for place, name in enumerate(names, start=1):
            entry = Store(root).model("cave", name)
            value = 0.3 + 0.1 * place
            rows = [
                row(
                    task,
                    "scenes",
                    unit="top-1",
                    split="test",
                    n=100,
                    value=value - 0.05 * at,
                    low=value - 0.1,
                    high=value + 0.1,
                    chance=0.1,
                )
                for at, task in enumerate(("scene", "count", "hue"))
            ]
            recipe = suite_recipe(entry)
            table = as_table(rows, model=name, recipe=recipe)
            card = Store(root).dataset("cave")
            write_result(root, dataset=card, name=result_name(name), table=table, recipe=recipe)

    return step


def add(kind: str, size: str, skill: float) -> Step:
    def step(root: Path) -> None:
        other = {"vision": [(kind, size, skill)], "language": []}
        if kind in {family for family, *_ in LANGUAGE}:
            other = {"vision": [], "language": [(kind, size, skill)]}
        build(root, DATASET, reality=False, **other)

    return step


def replace_model(root: Path) -> None:
    """Embed other weights under the name of a model."""
    card = replace(Store(root).model("cave", REPLACED).card, weights="others")
    world._write(root, DATASET, card, [DATASET.reality * 0.5] * 4, None)


def import_own(root: Path) -> None:
    names = [entry.card.name for entry in Store(root).models("cave")]
    lines = [f"{name},own,{0.1 + at / 20},score" for at, name in enumerate(names)]
    import_scores(root, "cave", "\n".join(["model,task,value,unit", *lines]).encode(), name="a.csv")


def import_others(root: Path) -> None:
    import_scores(root, "cave", b"model,task,value,unit\ngpt-2-xs,own,.99,score", name="b.csv")


def remove(name: str) -> Step:
    return lambda root: carry_out(root, plan_model_deletion(root, "cave", name))


def rename(name: str) -> Step:
    return lambda root: rename_model(root, "cave", name, "Another title")


def write_level(root: Path) -> None:
    """Add captions that were written after the dataset was added."""
    card = Store(root).dataset("cave")
    table = pd.DataFrame({"index": range(card.size), "level": "3", "text": "a red ball"})
    recipe = Recipe.of("captions", version=1, level="3")
    write_result(root, dataset=card, name="captions-3", table=table, recipe=recipe)


def names_of(root: Path) -> list[str]:
    return [entry.card.name for entry in Store(root).models("cave")]


def steps(root: Path) -> list[tuple[str, Step]]:
    names = names_of(root)
    language = [name for name in names if not name.startswith("vit") and name != "reality"]
    vision = [name for name in names if name.startswith("vit")]
    return [
        ("measured", measure(*language)),
        ("measured the others, too", measure(*vision)),
        ("added a vision model", add("SimCLR", "m", 0.9)),
        ("added a language model", add("BLOOM", "m", 0.9)),
        ("replaced a model", replace_model),
        ("imported scores", import_own),
        ("imported other scores", import_others),
        ("renamed a model", rename(vision[-1])),
        ("wrote a caption level", write_level),
        ("removed a model", remove(vision[0])),
    ]


def with_few(asked: T) -> T:
    """Return a question, or a part of one, with few draws."""
    changed: dict[str, Any] = {}
    for field in fields(asked):
        value = getattr(asked, field.name)
        if is_dataclass(value):
            changed[field.name] = with_few(value)
        elif field.name in FEW and (value is None or value > FEW[field.name]):
            changed[field.name] = FEW[field.name]
    return replace(asked, **changed)


def answers(root: Path, kinds: Iterable[type[StudyQuestion]]) -> Answers:
    """Return the table of each question, or why it has none."""
    found: Answers = {}
    for kind in kinds:
        torch.set_num_threads(1)  # adapters fit otherwise with two, from the fifth digit on
        try:
            found[kind.command] = ask(with_few(kind()), Study(Store(root), "cave"))
        except PlatoscopeError as error:
            found[kind.command] = str(error)
    return found


def without_results(root: Path, to: Path) -> Path:
    """Copy a store, but for what follows from the rest of it."""
    copy = Path(shutil.copytree(root, to))
    for path in published_files(copy / "results" / "cave"):
        if path.name.startswith(DERIVED):
            path.unlink()
    return copy


def noting_view() -> Store | None:
    """Return the view of the answer that is being computed in this thread, if one is, or of the
    simple features, whose reads the answer notes.
    """
    frame = sys._getframe()
    while frame is not None:
        if frame.f_code in (asking_module.answer.__code__, simple_features.__code__):
            noting = frame.f_locals.get("noting")
            return noting and noting.store
        frame = frame.f_back
    return None


@pytest.fixture(autouse=True)
def _no_read_goes_unnoted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail where a question reads a file of the store other than through its study's view."""
    for name in ("opened", "stimuli", "captions", "result", "embeddings", "results", "datasets"):
        read = getattr(Store, name)

        def noted(store: Store, *given: object, read: Callable = read) -> object:
            assert store is (noting_view() or store), f"{given} is read and not noted"
            return read(store, *given)

        monkeypatch.setattr(Store, name, noted)


def test_a_read_beside_the_view_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = small(tmp_path / "store")

    study = Study(Store(root), "cave")
    for store, read in ((Store(root), "stimuli"), (Store(root), "models"), (study.store, "models")):

        def beside(*_: object, store: Store = store, read: str = read) -> object:
            return getattr(store, read)("cave")

        answer_by(monkeypatch, StimulusList, beside)
        with pytest.raises(AssertionError, match="read and not noted"):
            ask(StimulusList(), study)


def test_an_answer_without_another_that_could_not_be_given_is_asked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = small(tmp_path / "store")

    def count_vision(_: object, study: Study) -> pd.DataFrame:
        vision = study.models()["modality"].eq("vision").sum()
        if vision < 4:
            raise InputError("expected four vision models")
        return pd.DataFrame({"vision": [vision]})

    def go_on(_: object, study: Study) -> pd.DataFrame:
        try:
            return ask(StimulusNeighbors(), study)
        except InputError:
            return pd.DataFrame({"vision": [0]})

    for kind, make in ((StimulusNeighbors, count_vision), (StimulusList, go_on)):
        answer_by(monkeypatch, kind, make)
        monkeypatch.setattr(kind, "complete", lambda self, _: self)
    counts = []
    for step in (None, add("SimCLR", "m", 0.9)):
        if step is not None:
            step(root)
        counts += [*ask(StimulusList(), Study(Store(root), "cave"))["vision"]]
    assert counts == [0, 4]


def differences(kept: Answers, fresh: Answers) -> list[str]:
    """Return the questions whose answers differ."""
    return [command for command, table in fresh.items() if not _same(kept[command], table)]


def _same(one: pd.DataFrame | str, other: pd.DataFrame | str) -> bool:
    if isinstance(one, str) or isinstance(other, str):
        return isinstance(one, str) and isinstance(other, str) and one == other
    try:
        pd.testing.assert_frame_equal(
            one.reset_index(drop=True), other.reset_index(drop=True), check_dtype=False, rtol=1e-9
        )
    except AssertionError:
        return False
    return True


def stale_after_each_step(
    root: Path, tmp_path: Path, kinds: list[type[StudyQuestion]]
) -> tuple[dict[str, list[str]], int]:
    """Return the questions whose answers differ from fresh ones after each step, and how many steps
    changed any answer.
    """
    before, moved, stale = answers(root, kinds), 0, dict[str, list[str]]()
    for place, (what, step) in enumerate(steps(root)):
        step(root)
        kept = answers(root, kinds)
        fresh = answers(without_results(root, tmp_path / f"fresh-{place}"), kinds)
        if wrong := differences(kept, fresh):
            stale[what] = wrong
        moved += bool(differences(before, fresh))
        before = fresh
    return stale, moved


def test_a_question_asked_after_each_change_is_answered_afresh(tmp_path: Path) -> None:
    kinds = [kind for kind in EVERY if kind.command in SAMPLE]
    assert {kind.command for kind in kinds} == SAMPLE
    stale, moved = stale_after_each_step(small(tmp_path / "store"), tmp_path, kinds)
    assert stale == {}
    assert moved >= 7  # else the steps change nothing that is asked


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
def test_every_question_asked_after_each_change_is_answered_afresh(
    tmp_path: Path, part: int
) -> None:
    stale, moved = stale_after_each_step(small(tmp_path / "store"), tmp_path, EVERY[part::4])
    assert stale == {}
    assert moved >= 5  # of the eleven steps, for a quarter of the questions
