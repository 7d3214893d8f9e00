"""Every question's command over a store of imports alone, of which nothing is known and some of
which no metric can compare: each answers, or says why it cannot, and names the models left out.
"""

from __future__ import annotations

import re
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from core.cli import main
from core.encoders.encoder import IMPORTED, ModelCard
from core.options import options_of
from core.questions.asking import ask
from core.questions.dispersion.effect import SetEffect
from core.questions.modalities import Modalities
from core.questions.swapping.question import usual_spaces
from core.stimuli.dataset import DatasetCard
from core.store import Store, add_dataset
from core.study.models import OPEN
from core.study.parts import Scope
from core.study.spaces import default_spaces
from core.study.study import Study
from core.study.trainings import describe_trainings
from tests.freshness.test_fresh import EVERY, FEW
from tests.pages.world import LEVELS, PaintedDataset, _write

SIZE = 60
GOOD = {"vision": 11, "language": 6}
BAD = ("aa-sparse", "ab-constant", "ac-nan", "ad-zero-row", "ae-tied")


class Texts(PaintedDataset):
    """Stimuli of which there are captions alone, in no world."""

    @property
    def card(self) -> DatasetCard:
        source = {"kind": "folder", "path": "/none"}
        return DatasetCard("mine", "Mine", "mine-1", source, LEVELS[:1], SIZE, has_images=False)

    @cached_property
    def stimuli(self) -> pd.DataFrame:
        return pd.DataFrame({"stimulus": [f"p{place:03}" for place in range(SIZE)]})

    @property
    def captions(self) -> pd.DataFrame:
        texts = [self._caption(place) for place in range(SIZE)]
        return pd.DataFrame({"index": range(SIZE), "level": LEVELS[0], "text": texts})

    def _caption(self, place: int) -> str:
        color, scene = ("red", "blue", "green")[place % 3], ("city", "wood")[place % 2]
        return f"a {color} thing number {place} in the {scene}"


def import_only(root: Path) -> Path:
    dataset = Texts(SIZE)
    add_dataset(root, dataset)
    rng = np.random.default_rng(0)
    reality = rng.normal(size=(SIZE, 8))

    def add(name: str, modality: str, features: np.ndarray) -> None:
        about = (modality, f"import:{name}.npy", IMPORTED, "unknown", None, name, ("layer 0",))
        _write(root, dataset, ModelCard(name, name, *about), [features.astype(np.float32)], None)

    for modality, count in GOOD.items():
        for place in range(count):
            noise = rng.normal(size=reality.shape) * (1 + place / count)
            add(f"m-{modality}-{place}", modality, np.hstack([reality + noise, noise]))
    sparse = np.eye(SIZE, 200) + np.eye(SIZE, 200, 1)
    zero, tied = rng.normal(size=(2, SIZE, 8))
    zero[3] = 0
    nan = rng.normal(size=(SIZE, 8))
    nan[5, 2] = np.nan
    made = (sparse, np.ones((SIZE, 8)), nan, zero, np.repeat(tied[:3], SIZE // 3, axis=0))
    for name, features in zip(BAD, made, strict=True):
        for modality in GOOD:
            add(f"{name}-{modality}", modality, features)
    return root


NEEDS = {  # what these lack in such a store, as each says
    "captions alignment": "embedded at two or more caption levels",
    "competence downstream": "no score of these models is known",
}
OTHER = {  # of which such a dataset has nothing
    *("benefits", "swap"),
    *("models balance", "metrics trends", "prefix bits"),
    *("stitch", "stitching many"),
}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return import_only(tmp_path_factory.mktemp("imports") / "store")


def run(capsys, words: list[str], store: Path) -> tuple[int, str, str]:
    capsys.readouterr()
    code = main([*words, "--dataset", "mine", "--store", str(store)])
    return code, *capsys.readouterr()


@pytest.mark.parametrize("kind", EVERY, ids=lambda kind: kind.command)
def test_each_command_answers_or_says_why_not(kind: type, store: Path, capsys) -> None:
    few = {one.name: one for one in options_of(kind)}
    words = kind.command.split()
    for name, value in FEW.items():
        usual = few[name].default if name in few else 0
        if usual is None or (isinstance(usual, int) and usual > value):
            words += [few[name].flag, str(value)]
    code, out, said = run(capsys, words, store)
    assert code == (2 if kind.command in NEEDS else 0), said
    assert NEEDS.get(kind.command, "") in said
    assert ("not applicable: " in said) == (kind.command in OTHER)
    assert "Traceback" not in said
    assert not re.search(r"\bnan\b", re.sub("ac-nan|NaN or inf", "", out + said).lower())
    for name in BAD:  # with what to do
        assert re.search(rf"Left out: {name}-vision: .*(import|embed|choose|use)", said)
        assert f"{name}-vision" not in out


def test_one_bad_model_that_is_named_costs_the_others_nothing(store: Path, capsys) -> None:
    words = ["align", "--q", "1", "--x", "aa-sparse-language", "m-language-1", "--y", "m-vision-0"]
    code, out, _ = run(capsys, words, store)
    assert code == 0
    assert "aa-sparse-language has no layer with neighbors" in out
    assert re.search(r"m-language-1 +m-vision-0 +0 +0 +0\.\d", out)


def test_the_vectors_of_an_import_are_judged_once(store: Path, monkeypatch) -> None:
    refused = Study(Store(store), "mine").refused()
    assert set(refused) == {f"{name}-{modality}" for name in BAD for modality in GOOD}
    monkeypatch.setattr(Study, "spaces", None)
    assert Study(Store(store), "mine").refused() == refused
    assert len(list((store / "results" / "mine").glob("refused-*"))) >= 1


def test_what_is_unknown_is_no_kind(store: Path) -> None:
    study = Study(Store(store), "mine")
    lines = describe_trainings(study).set_index("model")["line"]
    assert list(lines) == list(lines.index)
    assert len(default_spaces(study)) == 4
    table = ask(Modalities(Scope("mine"), permutations=19), study)
    assert table["models_one"].tolist() == [11]
    assert OPEN in table["reason"][0]
    sure = table.assign(q=0.01, mean=0.5)
    (open_,) = Modalities().findings(sure)
    assert open_.verdict == "open"
    assert "17 models are of unknown family" in open_.reason
    undefined = table.assign(q=np.nan, mean=np.nan)
    assert Modalities().findings(undefined)[0].verdict == "unknown"


def test_two_spaces_are_no_consensus(store: Path, capsys) -> None:
    words = ["dispersion", "stimuli", "--rank", "--spaces", "m-vision-0", "m-vision-1"]
    code, _, said = run(capsys, words, store)
    assert code == 2
    assert "at least 3 spaces, since each of two is equally far from it" in said


def test_the_remedy_of_each_bad_model_works(store: Path, capsys) -> None:
    said = run(capsys, ["align"], store)[2]
    (code,) = set(re.findall(r"--stimuli (\S+)\.", said))
    table = run(capsys, ["align", "--x", "ad-zero-row-language", "--stimuli", code], store)
    assert table[0] == 0
    assert table[1].count("ad-zero-row-language") == 1 + GOOD["vision"]  # and zero-row-vision
    sparse = Study(Store(store), "mine").store.space("mine", "aa-sparse-vision", 0)
    axes = np.linalg.svd(sparse - sparse.mean(axis=0), full_matrices=False)
    np.save(store / "dense.npy", (axes[0] * axes[1])[:, :50])
    words = ["import", str(store / "dense.npy"), "--name", "dense", "--modality", "vision"]
    assert run(capsys, words, store)[0] == 0
    assert "dense" in run(capsys, ["align"], store)[1]


def test_two_models_that_see_are_aligned_with_language_and_no_model_is_named_twice(
    tmp_path: Path,
) -> None:
    store = import_only(tmp_path / "store")
    for place in range(2, GOOD["vision"]):
        (store / "embeddings" / "mine" / f"m-vision-{place}.duckdb").unlink()
    study = Study(Store(store), "mine")
    complete = SetEffect(Scope("mine")).complete(study)
    tested = {place.model for place in complete.tested(study)}
    assert tested == {"m-vision-0", "m-vision-1"}
    assert tested.isdisjoint(complete.trial.language)
    spaces = usual_spaces(study)
    assert len(spaces) == len(set(spaces)) > 1
