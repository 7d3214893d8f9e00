"""Adding a dataset from the Library: previewed, checked, shown as a command, and queued."""

from __future__ import annotations

import csv
import io
import shlex
import shutil
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image

from core.cli import main
from core.jobs import queue
from core.jobs.queue import Job
from core.store import Store
from core.store.uploads import uploads_folder
from tests.pages.seen import said, tiles

NASTY = "<b>*x*</b> $y$ [z](u)"


@pytest.fixture
def store(small, tmp_path) -> Path:
    return Path(shutil.copytree(small(20), tmp_path / "store"))


@pytest.fixture(autouse=True)
def no_worker(monkeypatch) -> None:
    """Jobs wait: the tests run their commands themselves."""
    monkeypatch.setattr(queue, "ensure_worker", lambda _: None)


def picture(shade: int) -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (30, 20), (shade, 0, 0)).save(file, "PNG")
    return file.getvalue()


def table(rows: list[tuple[str, str]]) -> bytes:
    text = io.StringIO()
    csv.writer(text).writerows([("image", "caption"), *rows])
    return text.getvalue().encode()


def files(broken: bool = False) -> dict[str, bytes]:
    """Return six pictures and their table, with a row that names no picture where it is broken."""
    rows = [(f"{n}.png", f"{NASTY} {n}") for n in range(6)]
    rows += [("lost.png", "nothing")] if broken else []
    return {"captions.csv": table(rows)} | {f"{n}.png": picture(40 * n) for n in range(6)}


def zipped(entries: dict[str, bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, data in entries.items():
            archive.writestr(name, data)
    return file.getvalue()


def folder(path: Path, broken: bool = False) -> Path:
    path.mkdir()
    for name, data in files(broken).items():
        (path / name).write_bytes(data)
    return path


def opened_form(opened, store: Path, **query: str):
    app = opened(store, "data/models", add="dataset", **query)
    assert not app.exception
    return app


def upload(app, *entries: tuple[str, bytes]):
    chosen = [(name, data, "application/octet-stream") for name, data in entries]
    app.file_uploader(key="upload-files").set_value(chosen).run()
    assert not app.exception
    return app


def command(app) -> str:
    return next(code.value for code in app.code if "dataset add" in code.value)


def state(root: Path) -> dict[str, int]:
    return {str(path): path.stat().st_mtime_ns for path in root.rglob("*") if path.is_file()}


def test_an_uploaded_zip_is_previewed_mended_and_queued(opened, store):
    app = upload(opened_form(opened, store), ("My birds.zip", zipped(files(broken=True))))
    shown = tiles(app, "preview")
    assert [tile["caption"] for tile in shown] == [f"{NASTY} {n}" for n in range(6)]
    assert all(tile["image"].startswith("data:image/webp;base64,") for tile in shown)
    (problems,) = (one.value for one in app.dataframe if "problem" in one.value)
    (row,) = problems.to_numpy().tolist()
    assert row == [7, "image lost.png is not in the folder or its subfolders"]
    assert [one.label for one in app.get("download_button")] == ["Problems"]
    assert "A dataset with problems is refused" in said(app)
    assert app.button(key="queue").disabled
    assert Store(store).datasets()[0].name == "cave"
    assert len(Store(store).datasets()) == 1

    app.toggle(key="skip_broken").set_value(True).run()
    app.text_input(key="title").set_value(NASTY).run()
    kept = next(uploads_folder(store).glob("*/My-birds"))
    words = ["dataset", "add", "My-birds", "--folder", str(kept), "--skip-broken", "--title", NASTY]
    assert command(app) == shlex.join(["platoscope", *words, "--store", str(store)])
    app.button(key="queue").click().run()
    assert not app.exception
    (job,) = queue.jobs(store)
    assert list(job.words) == words
    assert "add" not in app.query_params
    assert "upload" not in app.query_params

    assert main([*job.words, "--store", str(store)]) == 0
    added = Store(store).dataset("My-birds")
    assert (added.size, added.title) == (6, NASTY)


def test_a_bad_zip_is_a_sentence_and_nothing_else_is_lost(opened, store):
    app = opened_form(opened, store, name="mine")
    app = upload(app, ("x.zip", zipped({"t.csv": b"words,caption\na,b\n"})))
    assert "has no column 'image'" in said(app)
    app = upload(app, ("y.zip", zipped(files())))
    assert "has no column 'image'" not in said(app)
    assert command(app).startswith("platoscope dataset add mine --folder")
    assert not app.button(key="queue").disabled


def test_a_folder_on_the_server_is_previewed_and_nothing_written(opened, store, tmp_path):
    photos = folder(tmp_path / "photos")
    before = state(store)
    app = opened_form(opened, store, **{"from": "folder", "folder": str(photos)})
    assert len(tiles(app, "preview")) == 6
    assert "Checked 6 rows and 6 images, the whole source" in app.caption[0].value.replace("\\", "")
    assert app.text_input(key="name").value == "photos"
    assert [one.key for one in app.toggle] == ["texts_only", "link"]  # nothing to skip
    assert command(app).startswith(f"platoscope dataset add photos --folder {photos}")
    (photos / "captions.csv").write_bytes(table([("0.png", "another")]))
    next(one for one in app.button if one.label == "Check again").click().run()
    assert [tile["caption"] for tile in tiles(app, "preview")] == ["another"]
    assert state(store) == before

    (photos / "short.csv").write_bytes(table([("1.png", "brief")]))
    app.text_input(key="folder").set_value(f"'{photos}'").run()  # as a terminal quotes it
    app.selectbox(key="table").set_value("short.csv").run()
    assert [tile["caption"] for tile in tiles(app, "preview")] == ["brief"]
    assert f"--folder {photos} --table short.csv" in command(app)
    app.toggle(key="texts_only").set_value(True).run()
    assert [(tile["image"], tile["caption"]) for tile in tiles(app, "preview")] == [("", "brief")]
    assert "Checked 1 row, the whole source" in app.caption[0].value.replace("\\", "")
    assert "--table short.csv --texts-only" in command(app)


def test_a_file_of_ids_is_previewed(opened, store, tmp_path):
    (tmp_path / "mine.txt").write_text("x1\nx2")
    app = opened_form(opened, store, **{"from": "ids", "ids": str(tmp_path / "mine.txt")})
    assert [tile["caption"] for tile in tiles(app, "preview")] == ["x1", "x2"]
    assert command(app).startswith(f"platoscope dataset add mine --ids {tmp_path}/mine.txt")
    assert not app.button(key="queue").disabled


@pytest.mark.parametrize(
    ("typed", "sentence"),
    [
        ({"folder": "/no/such"}, "/no/such is not a folder; expected one with image files"),
        ({"folder": "/" + "x" * 300}, "is not a folder; expected one with image files"),
        ({"folder": "~nobody-has-this-name"}, "is not a folder; expected one with image files"),
        ({"name": "a b"}, "'a b' cannot name a dataset; use up to 100 letters"),
        ({"name": ""}, "'' cannot name a dataset"),
        ({"name": "cave"}, "'cave' is the embedded dataset's name"),
        ({"title": "x" * 200}, "a title has 1 to"),
    ],
)
def test_what_is_wrong_is_said_and_stays_in_its_field(opened, store, tmp_path, typed, sentence):
    app = opened_form(opened, store, **{"from": "folder", "folder": str(folder(tmp_path / "p"))})
    for key, value in typed.items():
        app.text_input(key=key).set_value(value).run()
    assert not app.exception
    assert sentence in said(app)
    assert all(app.text_input(key=key).value == value for key, value in typed.items())
    assert not any(one.key == "queue" and not one.disabled for one in app.button)
    assert queue.jobs(store) == []


def test_a_data_set_of_the_hub_is_queued_without_a_look(opened, store):
    app = opened_form(opened, store, **{"from": "hub", "hub": "owner/birds"})
    assert tiles(app, "preview") == []
    assert command(app).startswith("platoscope dataset add birds --hub owner/birds")
    assert not app.button(key="queue").disabled


def test_an_empty_store_takes_its_first_dataset(opened, tmp_path):
    store = tmp_path / "store"
    store.mkdir()
    app = upload(opened_form(opened, store), ("birds.zip", zipped(files())))
    assert "is empty" in said(app)
    app.button(key="queue").click().run()
    assert not app.exception
    (job,) = queue.jobs(store)
    assert app.button(key=f"cancel-{job.id}")
    assert main([*job.words, "--store", str(store)]) == 0
    app.run()
    assert app.selectbox(key="dataset").options == ["birds"]


def test_an_empty_store_offers_the_demo_and_hides_its_job_when_it_has_ended(
    opened, tmp_path, monkeypatch
):
    app = opened(tmp_path, "data/models")
    for _ in range(2):  # one job, however often it is clicked
        app.button(key="build-demo").click().run()
    (job,) = queue.jobs(tmp_path)
    assert job.words == ("demo",)
    monkeypatch.setattr(queue, "job", lambda *_: finished(job))
    app.run()
    assert "Show it" not in [one.label for one in app.button]
    app.button(key="hide-job").click().run()
    assert not app.exception
    assert "hide-job" not in [one.key for one in app.button]


def finished(job: Job) -> Job:
    return replace(job, state="done", exit_code=0)
