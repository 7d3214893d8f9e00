"""What is answered while the demo is built is what its pages ask first: none makes a table then."""

from __future__ import annotations

import shutil

import pytest

from core.demo.first_questions import answer_first
from core.questions.dispersion.question import Trial
from core.store import Store
from core.study.study import Study
from pages._parts.dispersion import pick
from tests.navigation import PAGES

pytestmark = pytest.mark.slow
NEVER = {"library", "jobs"}  # ask nothing
ON_A_CLICK = {"adapters", "stitching", "reading", "neurons", "translation"}  # take long
FIRST = [one for one in PAGES if one.over_store and one.path not in {*NEVER, *ON_A_CLICK}]


@pytest.fixture(scope="module")
def answered(demo, tmp_path_factory):
    store = tmp_path_factory.mktemp("answered") / "store"
    shutil.copytree(demo, store)
    done: list[int] = []
    answer_first(Study(Store(store), "cave"), lambda at, total, _: done.append(total - at))
    assert done == sorted(done, reverse=True)
    assert min(done) >= 0
    return store


@pytest.mark.parametrize("page", FIRST, ids=lambda page: page.name)
def test_no_page_makes_a_table_of_its_own_at_first(opened, answered, page, monkeypatch):
    monkeypatch.setattr(pick, "Trial", Trial)
    made = []
    monkeypatch.setattr("core.study.keeping.write_result", lambda *_, **one: made.append(one))
    app = opened(answered, page.script)
    assert not app.exception
    fewer = {"dispersion parts"} if page.path == "dispersion" else set()  # sixty make no ten parts
    assert {one["recipe"].kind for one in made} <= fewer
