"""The examples of docs/api.md run as printed, over a folder of pictures and tiny models."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import numpy as np
import pytest
from tiny_models import make_language, make_vision

import platoscope as ps
from core.settings import ROOT
from tests.cli.photos import paint_photos

TEXT = (ROOT / "docs" / "api.md").read_text()


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    paint_photos(tmp_path / "photos", 12)
    lines = [f"{i}.png,thing number {i} is here" for i in range(12)]
    (tmp_path / "photos" / "captions.csv").write_text("\n".join(["image,caption", *lines]))
    small = {"img_size": 32, "patch_size": 8, "embed_dim": 16, "depth": 2, "num_heads": 2}
    make_vision(tmp_path / "tiny-vit", "vit_tiny_patch16_224", **small)
    make_language(tmp_path / "tiny-gpt2", "gpt2")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.usefixtures("world")
def test_the_examples_run_as_printed() -> None:
    source = "\n".join(re.findall(r"```pycon\n(.*?)```", TEXT, flags=re.DOTALL))
    examples = doctest.DocTestParser().get_doctest(source, {}, "api.md", "docs/api.md", 0)
    outcome = doctest.DocTestRunner().run(examples)
    assert outcome.attempted > 12
    assert outcome.failed == 0


def test_the_page_lists_every_function() -> None:
    table = TEXT.split("## All functions")[1]
    offered = {name for name in ps.__all__ if name.islower()}
    assert offered == set(re.findall(r"`(\w+)\(", table))


def test_a_score_of_arrays_is_the_metric_s_on_prepared_spaces() -> None:
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(30, 5)), rng.normal(size=(30, 7))
    expected = ps.METRICS["cka"](*(a / np.linalg.norm(a, axis=1, keepdims=True) for a in (x, y)))
    assert ps.score(x, y, "cka", q=1) == pytest.approx(expected, abs=1e-6)
    layers = np.stack([rng.normal(size=(30, 5)), x], axis=1)
    assert ps.score(layers, y, "cka", q=1, layers="1:0") == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda store: ps.ask("aligm", store), "no question named 'aligm'; did you mean align"),
        (lambda store: ps.ask("align", store, kk=3), "no option named 'kk'; did you mean k"),
        (lambda store: ps.ask("align", store, k=0), "k: expected a whole number, 1 to"),
        (lambda store: ps.ask("align", store, clamp="all"), "clamp: expected one of exact"),
        (lambda _: ps.ask("align"), "give one: ask"),
        (lambda store: ps.add_dataset(store, "d", link="yes"), "link: expected True or False"),
        (lambda _: ps.score(np.zeros(3), np.zeros(3)), r"expected features \(n, d\)"),
        (lambda _: ps.score(np.eye(4), np.eye(5)), "same stimuli; got 4 and 5 rows"),
    ],
)
def test_mistakes_are_sentences(call, said: str, tmp_path: Path) -> None:
    with pytest.raises(ps.PlatoscopeError, match=said):
        call(ps.open_store(tmp_path))
