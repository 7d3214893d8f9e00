"""The page Jobs and the sidebar's line: the queue as everyone over a store sees it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from core.jobs import queue
from core.jobs.queue import Outcome, log_file, note_file
from tests.pages.seen import said

MODELS = ("timm:one", "timm:two", "timm:three", "timm:four")


@pytest.fixture
def store(small, tmp_path, monkeypatch) -> Path:
    """Return a small store without a queue, in which no worker starts."""
    monkeypatch.setattr(queue, "ensure_worker", lambda _: None)
    return Path(shutil.copytree(small(40), tmp_path / "store"))


def submit(store: Path, *words: str) -> int:
    return queue.submit(store, words or ("embed", "--model", "timm:one"), owner="ada").id


def begin(store: Path) -> int:
    """Let the next job run."""
    job = queue.claim(store)
    assert job
    return job.id


@pytest.fixture
def busy(store) -> Path:
    """Return a store with a done, a failed, a running and a waiting job."""
    for model in MODELS:
        submit(store, "embed", "--model", model)
    queue.end(store, begin(store), Outcome("done", 0))
    queue.end(store, begin(store), Outcome("failed", 2, "no *model*; name another"))
    number = begin(store)
    log_file(store, number).write_text("one line\n")
    note_file(store, number).write_text(
        '{"done": 8, "total": 20, "what": "three over cave", "seconds_left": 12.0, "rows": []}'
    )
    return store


def cards(app) -> list[str]:
    """Return the commands of the jobs that are drawn, in their order."""
    return [code.value for code in app.main.get("code") if code.value.startswith("platoscope")]


def labels(app) -> list[str]:
    return [button.label for button in app.main.button]


def line(app) -> str:
    """Return what the sidebar's link to the jobs says."""
    links = [link.proto for link in app.sidebar.get("page_link")]
    (label,) = [link.label for link in links if link.page == "data"]
    return label


def test_every_job_is_drawn_with_what_it_does_and_how_far_it_is(opened, busy):
    app = opened(busy, "data/jobs")
    assert not app.exception
    assert [words.split()[3] for words in cards(app)] == [MODELS[i] for i in (2, 3, 1, 0)]
    assert all(words.endswith(f"--store {busy}") for words in cards(app))
    bar = app.main.get("progress")[0].proto
    assert (bar.value, bar.text.replace("\\", "")) == (40, "three over cave: 8 of 20, 12 s left")
    assert "no *model*; name another" in said(app)
    assert "began" in app.main.caption[0].value.replace("\\", "")
    assert app.main.caption[1].value.replace("\\", "").endswith(" · waits for #3")
    assert labels(app) == ["Log", "Cancel", "Log", "Cancel", "Log", "Retry", "Log"]
    assert line(app) == "Data: 1 running, 1 waiting"


@pytest.mark.parametrize(
    ("state", "shown"),
    [("unfinished", [2, 3]), ("failed", [1]), ("done", [0]), ("canceled", [])],
)
def test_a_link_shows_the_jobs_of_a_state(opened, busy, state, shown):
    app = opened(busy, "data/jobs", state=state)
    assert [words.split()[3] for words in cards(app)] == [MODELS[i] for i in shown]
    assert ("No such job" in said(app)) == (not shown)


def test_jobs_are_canceled_and_retried(opened, busy):
    app = opened(busy, "data/jobs")
    app.button(key="cancel-3").click().run()
    assert queue.job(busy, 3).is_stopping
    assert app.button(key="cancel-3").disabled
    app.button(key="cancel-4").click().run()
    assert queue.job(busy, 4).state == "canceled"
    app.button(key="retry-2").click().run()
    assert queue.job(busy, 2).state == "queued"
    assert not app.exception
    assert not said(app)


def test_a_log_opens_by_a_click_and_by_its_link(opened, busy):
    app = opened(busy, "data/jobs")
    app.button(key="log-3").click().run()
    assert app.query_params["log"] == "3"
    assert "one line" in [code.value for code in app.main.get("code")]
    log_file(busy, 3).write_text("one line\nanother\n")
    app = opened(busy, "data/jobs", log="3")
    assert "one line\nanother" in [code.value for code in app.main.get("code")]
    app.button(key="log-3").click().run()
    assert "log" not in app.query_params
    assert len(app.main.get("code")) == 4
