"""Garbage in every parameter of every page: a page says one sentence or passes over it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import pytest
from streamlit.testing.v1 import AppTest

from pages._parts.experiments import patience
from pages._shared import address
from tests.pages.garbage import GARBAGE
from tests.pages.test_hostile import obeyed

VIEWS = [  # pages, with what has them read all of their parameters
    ("stimuli", {"view": "gallery"}),
    ("stimuli", {"stimulus": "1"}),
    ("jobs", {"log": "1"}),
    ("stimuli", {}),
    ("overview", {}),
    ("alignment", {}),
    ("alignment", {"metric": "cknna", "axis": "size"}),
    ("competence", {}),
    ("convergence", {}),
    ("benefits", {}),
    ("models", {"view": "table"}),
    ("models", {}),
    ("metrics", {"every_parameter": "true"}),
    ("dispersion", {}),
    ("captions", {}),
    ("color", {}),
    ("adapters", {}),
    ("experiments/stitching", {}),
    ("experiments/reading", {}),
    ("experiments/neurons", {}),
    ("experiments/translation", {}),
    ("theory/contrastive", {}),
    ("theory/deep_linear", {}),
    ("theory/attention", {}),
    ("library", {}),
    ("library", {"view": "datasets"}),
    ("library", {"view": "results"}),
    ("library", {"model": "vit-mae-m"}),
    ("library", {"add": "dataset", "from": "folder"}),
    ("library", {"add": "dataset", "from": "hub"}),
    ("library", {"add": "dataset", "upload": "x"}),
    ("library", {"add": "models", "models_from": "hub"}),
    ("library", {"add": "models", "models_from": "cave"}),
    ("library", {"add": "models", "models_from": "folder"}),
    ("library", {"add": "models", "models_from": "features", "features": "x"}),
]
QUICK = 4  # of them, with these kinds of garbage, in every run
QUICK_KINDS = ("huge", "long", "zeros")
MOST = 20_000  # characters of each: Streamlit passes over an address of more than 500,000
LONGEST = 900  # characters of what a page says of one parameter


@pytest.fixture(autouse=True)
def _impatient(monkeypatch) -> None:
    monkeypatch.setattr(patience, "PATIENCE", 0.0)


class Asked(dict):
    """The texts of an address that notes which keys are asked for."""

    keys_asked: ClassVar[set[str]] = set()

    def __contains__(self, key: object) -> bool:
        self.keys_asked.add(str(key))
        return super().__contains__(key)

    def pop(self, key: Any, *default: Any) -> Any:
        self.keys_asked.add(str(key))
        return super().pop(key, *default)


def keys_of(opened, store, page: str, query: dict[str, str], monkeypatch) -> set[str]:
    """Return every key that a page asks its address for."""
    Asked.keys_asked = set()
    with monkeypatch.context() as noting:
        noting.setattr(address, "split", lambda texts, split=address.split: Asked(split(texts)))
        opened(store, page, **query)
    return {key.partition(":")[0] for key in Asked.keys_asked} | set(query)


def faults_of(app: AppTest) -> list[str]:
    """Return what a page shows that garbage must not bring about."""
    said = [one.value for kind in ("warning", "error", "info") for one in app.get(kind)]
    return [
        *(f"an exception: {one.message}" for one in app.exception),
        *([] if app.title else ["no title"]),
        *(f"obeyed: {one}" for one in obeyed(app)),
        *(f"too long: {sentence[:2000]}" for sentence in said if len(sentence) > LONGEST),
    ]


def cases() -> Iterator[Any]:
    for place, (page, query) in enumerate(VIEWS):
        for kind in GARBAGE:
            quick = place < QUICK and kind in QUICK_KINDS
            name = "-".join([page, *query.values(), kind])
            marks = () if quick else pytest.mark.slow
            yield pytest.param(page, query, kind, id=name, marks=marks)


@pytest.mark.parametrize(("page", "query", "kind"), list(cases()))
def test_garbage_in_all_parameters_at_once(opened, small, monkeypatch, page, query, kind):
    keys = keys_of(opened, small(40), page, query, monkeypatch)
    texts = [text[:MOST] for text in GARBAGE[kind]]
    garbage = dict.fromkeys(keys - set(query), texts)
    assert faults_of(opened(small(40), page, **{**garbage, **query})) == []


@pytest.mark.slow
@pytest.mark.parametrize(("page", "query"), VIEWS)
def test_garbage_in_each_parameter_alone(opened, small, monkeypatch, page, query):
    for key in sorted(keys_of(opened, small(40), page, query, monkeypatch)):
        for kind, texts in GARBAGE.items():
            faults = faults_of(opened(small(40), page, **{**query, key: texts}))
            assert faults == [], (key, kind)


@pytest.mark.parametrize(
    ("page", "query"),
    [
        ("stimuli", {"view": "gallery", "quantile": [""]}),
        ("alignment", {"axis": GARBAGE["markup"]}),
        ("models", {"layers": GARBAGE["markup"]}),
        ("color", {"images": GARBAGE["huge"]}),
        ("library", {"add": "dataset", "upload": GARBAGE["controls"]}),
        ("library", {"add": "models", "models_from": "hub", "embed_hub": GARBAGE["many"]}),
        (
            "library",
            {"add": "models", "models_from": "folder", "embed_folder": ["/" + "x" * 9_999]},
        ),
    ],
    ids=lambda one: one if isinstance(one, str) else list(one)[-1],
)
def test_garbage_that_once_got_through(opened, small, page, query):
    assert faults_of(opened(small(40), page, **query)) == []


def test_the_keys_of_a_page_are_those_that_it_reads(opened, small, monkeypatch):
    keys = keys_of(opened, small(40), "stimuli", {"stimulus": "1"}, monkeypatch)
    assert {"dataset", "chosen", "stimulus", "k", "a", "b", "layer_a"} <= keys
