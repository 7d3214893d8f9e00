"""Pages over a store that is only shown: they show what is there, offer nothing that would write,
and leave the store as it was.
"""

from __future__ import annotations

import shutil

import pytest

from core.jobs import queue
from core.settings import READ_ONLY
from tests.footprint import footprint
from tests.navigation import PAGES

CHANGING = ("library", "jobs")  # pages that have most to leave out
WRITES = ("add", "queue", "job-", "delete", "rename", "build", "cancel", "retry", "log-", "remove")


@pytest.fixture
def shown(small, tmp_path, monkeypatch):
    """Return a store with two jobs, which is only shown from now on."""
    store = shutil.copytree(small(20), tmp_path / "store")
    monkeypatch.setattr(queue, "ensure_worker", lambda _: None)
    queue.submit(store, ["embed", "--model", "timm:one"], owner="ada")
    queue.cancel(store, 1)
    queue.submit(store, ["embed", "--model", "timm:two"], owner="ada")
    monkeypatch.setenv(READ_ONLY, "1")
    return store


def offers(app) -> list[str]:
    """Return the keys of what would change the store."""
    keys = [str(one.key) for one in app.button] + [str(one.label) for one in app.expander]
    forms = [one.proto.label for one in app.get("file_uploader")]
    return [key for key in keys if key.lower().startswith(WRITES)] + forms


def captions(app) -> str:
    return " ".join(one.value for one in app.caption)


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=[] if page.path in CHANGING else [pytest.mark.slow], id=page.name)
        for page in PAGES
    ],
)
def test_every_page_shows_the_store_offers_no_change_and_makes_none(opened, shown, page):
    before = footprint(shown)
    app = opened(shown, page.script)
    assert not app.exception
    assert offers(app) == []
    assert footprint(shown) == before


def test_the_test_before_sees_what_would_write(opened, shown, monkeypatch):
    monkeypatch.setenv(READ_ONLY, "0")
    assert {"cancel-2", "retry-1", "log-1", "Queue a command"} <= set(offers(opened(shown, "jobs")))
    assert {"add-models", "add-dataset"} <= set(offers(opened(shown, "library")))


@pytest.mark.parametrize("link", [{"add": "models"}, {"add": "dataset"}, {"model": "gpt-2-s"}])
def test_no_address_opens_a_form(opened, shown, link):
    app = opened(shown, "library", **link)
    assert not app.exception
    assert offers(app) == []
    assert "nothing is added, renamed or deleted here" in captions(app)


def test_jobs_are_seen_without_their_logs(opened, shown):
    app = opened(shown, "jobs", log="1")
    assert not app.exception
    assert "no job is queued, canceled or retried here" in captions(app)
    assert [code.value.split()[3] for code in app.code] == ["timm:two", "timm:one"]


def test_what_takes_long_names_its_command_alone(opened, shown):
    app = opened(shown, "experiments/neurons")
    assert "run the command where the store is kept to get the answer" in captions(app)
    assert any("platoscope neurons" in code.value for code in app.code)
