"""Adding models from the Library: what they take is said, the command shown, and queued."""

from __future__ import annotations

import io
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from core.cli import main
from core.encoders.outlines import Download
from core.errors import EncoderError
from core.jobs import queue
from core.settings import CAVE_WEIGHTS
from core.store import Store
from core.store.schema import now
from pages._parts.library import add_models
from tests.pages.seen import said

SILENT = "The hub does not answer: a model that is not on this machine needs it."
TIMM = ["resnet18.a1_in1k", "vit_tiny_patch16_224.augreg_in21k"]
SIZE = 20


@pytest.fixture
def store(small, tmp_path) -> Path:
    return Path(shutil.copytree(small(SIZE), tmp_path / "store"))


@pytest.fixture(autouse=True)
def alone(monkeypatch) -> None:
    """Let jobs wait, and nothing be looked up: timm has two models, and the hub answers."""

    def download(spec: str) -> Download:
        if "gated" in spec:
            raise EncoderError(f"{spec} is gated on the hub; accept its terms there")
        if spec.startswith("hf:bigscience"):
            return Download(None, SILENT)
        return Download(0 if "@" in spec else 4_400_000)

    monkeypatch.setattr(queue, "ensure_worker", lambda _: None)
    monkeypatch.setattr(add_models, "_timm_names", lambda: TIMM)
    monkeypatch.setattr(add_models, "weights_of", download)
    monkeypatch.setattr(add_models, "_model_shape", lambda _: (1_100_000, (64, 128)))


def form(opened, store: Path, **query: str):
    app = opened(store, "data/models", add="models", **query)
    assert not app.exception
    return app


def command(app) -> str:
    return next(code.value for code in app.main.get("code")).partition(" --store")[0]


def words(store: Path) -> list[tuple[str, ...]]:
    return [job.words for job in queue.jobs(store)]


def table(app) -> dict[str, dict[str, str]]:
    rows = app.dataframe[0].value
    return rows.set_index("model").to_dict("index")


def test_what_models_take_is_said_before_they_are_queued_as_one_job(opened, store):
    app = form(opened, store)
    assert "For The Cave (20 stimuli), the dataset selected in the sidebar." in [
        one.value.replace("\\", "") for one in app.caption
    ]
    app.multiselect(key="embed_timm").set_value(TIMM).run()
    assert table(app) == {
        f"timm:{name}": {
            "parameters": "1.1M",
            "layers": "2",
            "download": "4.4 MB",
            "in the store": "15.4 kB",
        }
        for name in TIMM
    }
    assert [one.key for one in app.multiselect if one.key == "embed_caption_level"] == []
    embed = f"platoscope embed --dataset cave --model timm:{TIMM[0]} timm:{TIMM[1]}"
    assert command(app) == embed
    app.button(key="queue").click().run()
    assert not app.exception
    assert words(store) == [tuple(embed.split()[1:])]
    assert "add" not in app.query_params
    app.button(key="add-models").click().run()
    assert app.multiselect(key="embed_timm").value == []


def test_a_device_that_is_not_there_is_said(opened, store):
    app = form(opened, store, embed_timm=TIMM[0])
    app.text_input(key="embed_device").set_value("tpu").run()
    assert "device 'tpu' is not on this machine" in said(app)
    assert app.button(key="queue").disabled


def test_a_model_that_cannot_be_had_is_said_and_not_queued(opened, store):
    app = form(opened, store, models_from="hub", embed_hub="meta/gated")
    assert "meta/gated is gated on the hub" in said(app)
    assert app.button(key="queue").disabled
    assert app.multiselect(key="embed_hub").value == ["meta/gated"]


def test_a_name_is_checked(opened, store):
    app = form(opened, store, embed_timm=TIMM[0])
    app.text_input(key="embed_name").set_value("no/name").run()
    assert "'no/name' cannot name a file of the store" in said(app)
    assert app.button(key="queue").disabled
    app.text_input(key="embed_name").set_value("vit-clip-m").run()
    assert "This dataset already has a model named vit-clip-m" in said(app)
    app.text_input(key="embed_name").set_value("mine").run()
    assert command(app).endswith("--name mine")


def test_a_folder_on_the_server_is_read_as_the_model_that_it_holds(opened, store, tmp_path):
    app = form(opened, store, models_from="folder")
    app.text_input(key="embed_folder").set_value(str(tmp_path)).run()
    assert "has no config.json that can be read" in said(app)
    app.text_input(key="embed_folder").set_value(str(CAVE_WEIGHTS / "gpt2-xs")).run()
    assert command(app) == f"platoscope embed --dataset cave --model hf:{CAVE_WEIGHTS / 'gpt2-xs'}"


def npy(rows: int, first: float = 1.0) -> bytes:
    file, values = io.BytesIO(), np.random.default_rng(0).normal(size=(rows, 2, 4))
    values[0, 0, 0] = first
    np.save(file, values.astype(np.float32))
    return file.getvalue()


def upload(app, **files: bytes):
    kind = "application/octet-stream"
    held = [(name, data, kind) for name, data in files.items()]
    app.file_uploader(key="features-files").set_value(held).run()
    assert not app.exception
    return app


def test_a_feature_file_is_uploaded_checked_and_imported(opened, store, monkeypatch):
    app = upload(form(opened, store, models_from="features"), **{"my features.npy": npy(SIZE - 1)})
    assert "has 19 rows, but the dataset has 20 stimuli" in said(app)
    assert app.button(key="queue").disabled
    upload(app, **{"my features.npy": npy(SIZE)})
    assert not said(app)
    assert any("2 × 20 × 4" in one.value for one in app.caption)
    app.text_input(key="import_name").set_value("My net").run()
    assert command(app).endswith("--name My-net --modality vision --title 'My net'")
    app.text_input(key="import_name").set_value("mine").run()
    app.button(key="queue").click().run()
    ((verb, file, *options),) = words(store)
    assert (verb, Path(file).name) == ("import", "my-features.npy")
    assert options == ["--dataset", "cave", "--name", "mine", "--modality", "vision"]
    assert main(["import", file, *options, "--store", str(store)]) == 0
    assert "mine" in {entry.card.name for entry in Store(store).models("cave")}
    (job,) = queue.jobs(store)
    ended = replace(job, state="done", exit_code=0, ended_at=now())
    monkeypatch.setattr(queue, "job", lambda *_: ended)
    app.run()
    (added,) = app.success
    assert f"mine\\: {SIZE} rows, 2 layers of 4 dimensions" in added.value
    link = next(one for one in app.main.get("page_link") if one.proto.label == "Show on the map")
    assert "chosen=mine" in link.proto.query_string


def test_a_table_of_models_is_uploaded_with_its_files_and_imported(opened, store):
    app = form(opened, store, models_from="features")
    upload(app, **{"a.npy": npy(SIZE), "b.npy": npy(SIZE)})
    assert "got 2 files of features or tables" in said(app)
    table = b"file,family,noun (%)\na.npy,A,70\nb.npy,B,80\n"
    wrong = {"models.csv": table + b"c.npy,C,90\n", "a.npy": npy(SIZE), "b.npy": npy(SIZE - 1)}
    upload(app, **wrong)
    assert "Line 3: layer 0 of b.npy has 19 rows" in said(app)
    assert "Line 4: there is no file c.npy" in said(app)
    assert app.button(key="queue").disabled
    upload(app, **{"models.csv": table, "a.npy": npy(SIZE), "b.npy": npy(SIZE, 2.0)})
    assert [*app.dataframe[0].value["model"]] == ["a", "b"]
    app.button(key="queue").click().run()
    ((_, *words_),) = words(store)
    assert main(["import", *words_, "--store", str(store)]) == 0
    assert {"a", "b"} <= {entry.card.name for entry in Store(store).models("cave")}


def test_features_of_some_stimuli_are_imported_over_a_subset(opened, store):
    app = form(opened, store, models_from="features")
    rows = "".join(f"{place},{place % 3},{place % 5}\n" for place in range(SIZE - 5))
    upload(app, **{"some.csv": f"id,a,b\n{rows}".encode()})
    assert "stimuli without a row: 5" in said(app)
    app.text_input(key="import_subset").set_value("seen").run()
    assert not said(app)
    assert any("1 × 15 × 2" in one.value for one in app.caption)
    assert "--subset seen" in command(app)


def test_a_store_without_a_dataset_asks_for_one(opened, tmp_path):
    app = form(opened, tmp_path)
    assert "add a dataset first" in said(app)
