"""What is answered while the demo is built is what its pages ask first: none makes a table then."""

from __future__ import annotations

import shutil

import pytest

from core.first_questions import answer_first
from core.store import Store
from core.study.study import Study

PAGES = ("overview", "alignment", "competence", "models", "metrics", "stimuli", "dispersion")


@pytest.fixture(scope="module")
def answered(small, tmp_path_factory):
    store = tmp_path_factory.mktemp("answered") / "store"
    shutil.copytree(small(60), store)
    done: list[int] = []
    answer_first(Study(Store(store), "cave"), lambda at, total, _: done.append(total - at))
    assert done == sorted(done, reverse=True)
    assert min(done) >= 0
    return store


@pytest.mark.parametrize("page", [*PAGES, "captions", "color"])
def test_no_page_makes_a_table_of_its_own_at_first(opened, answered, page, monkeypatch):
    made = []
    monkeypatch.setattr("core.study.keeping.write_result", lambda *_, **one: made.append(one))
    app = opened(answered, page)
    assert not app.exception
    fewer = {"dispersion parts"} if page == "dispersion" else set()  # sixty make no ten parts
    assert {one["recipe"].kind for one in made} <= fewer
