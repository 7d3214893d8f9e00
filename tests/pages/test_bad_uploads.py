"""Uploads of every bad kind through the upload widgets: a sentence or a row of problems, nothing
queued, nothing written but what was uploaded, and no text obeyed.
"""

from __future__ import annotations

import io
import pickle
import shutil
import stat
import struct
import zipfile
import zlib
from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from core.jobs import queue
from core.store.uploads import dataset, uploads_folder
from core.store.uploads.dataset import Limits
from tests.pages.hostile import MARKUP
from tests.pages.seen import said
from tests.pages.test_add_dataset import picture, table, zipped
from tests.pages.test_hostile import obeyed

Files = dict[str, bytes]
TABLE = table([("a.png", "one"), ("b.png", "two")])
GOOD = {"captions.csv": TABLE, "a.png": picture(1), "b.png": picture(2)}
NAMES = {  # of an image, in a zip and in its table
    "markup": f"{MARKUP[:60]}.png".replace("/", ""),
    "right to left": "gpj\u202egnp.a.png",
    "control": "a\x1b[31m.png",
    "formula": "=cmd|' !A0.png",
    "emoji": "🦄.png",
}


def linked() -> bytes:
    info = zipfile.ZipInfo("a.png")
    info.create_system, info.external_attr = 3, (stat.S_IFLNK | 0o777) << 16
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("captions.csv", TABLE)
        archive.writestr(info, b"/etc/passwd")
    return file.getvalue()


def bomb() -> bytes:
    """Return a zip of 20 kB that holds 20 MB."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("captions.csv", TABLE)
        archive.writestr("a.png", bytes(20_000_000))
    return file.getvalue()


def vast() -> bytes:
    """Return the head of a PNG of 60,000 × 60,000 pixels."""
    head = struct.pack(">IIBBBBB", 60_000, 60_000, 8, 2, 0, 0, 0)
    chunk = b"IHDR" + head
    ends = struct.pack(">I", zlib.crc32(chunk))
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I", len(head)) + chunk + ends


DATASETS: dict[str, tuple[Files, str]] = {  # what is uploaded, and what is said of it
    "empty zip": ({"x.zip": b""}, "is no zip, or a damaged one"),
    "no zip": ({"x.zip": b"PK\x03\x04 and no more"}, "is no zip, or a damaged one"),
    "zip of nothing": ({"x.zip": zipped({})}, "holds no caption table"),
    "zip in a zip": ({"x.zip": zipped({"y.zip": zipped(GOOD)})}, "holds no caption table"),
    "zip beside files": ({"x.zip": zipped(GOOD), **GOOD}, "was uploaded beside 3 other files"),
    "leads out": ({"x.zip": zipped({**GOOD, "../../evil": b""})}, "leads out of its folder"),
    "absolute": ({"x.zip": zipped({**GOOD, "/etc/evil": b""})}, "leads out of its folder"),
    "link": ({"x.zip": linked()}, "is a link or a device"),
    "bomb": ({"x.zip": bomb()}, "unpacked, and 10 MB at most is taken"),
    "very many": ({"x.zip": zipped({f"{n}.png": b"" for n in range(1500)})}, "1,000 at most"),
    "empty table": ({"captions.csv": b"", "a.png": picture(1)}, "captions.csv"),
    "binary table": ({"captions.csv": bytes(range(256)), "a.png": picture(1)}, "captions.csv"),
    "no parquet": ({"t.parquet": b"PAR1 no PAR1", "a.png": picture(1)}, "t.parquet"),
    "empty image": ({**GOOD, "a.png": b""}, "A dataset with problems is refused"),
    "no image": ({**GOOD, "a.png": b"<script>alert(1)</script>"}, "with problems is refused"),
    "vast image": ({**GOOD, "a.png": vast()}, "with problems is refused"),
    "wrong ending": ({**GOOD, "a.png": zipped(GOOD)}, "with problems is refused"),
    "long name": ({"x.zip": zipped({**GOOD, f"{'n' * 300}.png": b""})}, "too long a name"),
    "deep": ({"x.zip": zipped({**GOOD, "d/" * 3000 + "a.png": b""})}, "1,000 with its"),
}


@pytest.fixture
def store(small, tmp_path, monkeypatch) -> Path:
    monkeypatch.setattr(queue, "ensure_worker", lambda _: None)
    monkeypatch.setattr(
        dataset.keep_dataset, "__kwdefaults__", {"needed": (), "limits": Limits(1000, 10**7)}
    )
    return Path(shutil.copytree(small(20), tmp_path / "store"))


def upload(opened, store: Path, files: Files) -> AppTest:
    app = opened(store, "library", add="dataset")
    chosen = [(name, data, "application/octet-stream") for name, data in files.items()]
    app.file_uploader(key="dataset-files").set_value(chosen).run()
    return app


def check(app: AppTest, store: Path) -> None:
    """Check that a page is calm, obeys nothing and has queued nothing."""
    assert not app.exception
    assert obeyed(app) == []
    assert queue.jobs(store) == []
    queueing = [one for one in app.button if one.key == "queue"]
    assert all(one.disabled for one in queueing)


def state(root: Path, apart: Path) -> dict[str, int]:
    """Return when every file was written, but for those of a folder."""
    paths = [path for path in root.rglob("*") if not path.is_relative_to(apart)]
    return {str(path): path.stat().st_mtime_ns for path in paths if path.is_file()}


@pytest.mark.parametrize("kind", DATASETS)
def test_a_bad_dataset_is_a_sentence(opened, store, tmp_path, kind):
    files, sentence = DATASETS[kind]
    apart = uploads_folder(store)
    before = state(tmp_path, apart)
    app = upload(opened, store, files)
    check(app, store)
    assert sentence in said(app)
    written = {path for path in state(tmp_path, apart) if not path.endswith(".lock")}
    assert written <= {*before, str(store / "jobs" / "queue.sqlite")}


@pytest.mark.parametrize("kind", NAMES)
@pytest.mark.parametrize("way", ["zip", pytest.param("files", marks=pytest.mark.slow)])
def test_a_hostile_name_is_shown_or_refused(opened, store, kind, way):
    files = {"captions.csv": table([(NAMES[kind], MARKUP)]), NAMES[kind]: picture(1)}
    app = upload(opened, store, files if way == "files" else {"x.zip": zipped(files)})
    assert not app.exception
    assert obeyed(app) == []
    refused = "cannot be shown; rename that file" in said(app)
    assert refused == (kind in ("control", "right to left"))


class Exploit:
    def __reduce__(self):
        return Path.write_text, (Path("exploited"), "")


def saved(array: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.save(file, array, allow_pickle=True)
    return file.getvalue()


FEATURES = {
    "nothing.npy": b"",
    "cut.npy": saved(np.zeros((20, 4)))[:70],
    "short.npy": saved(np.zeros((20, 4)))[:-8],
    "objects.npy": saved(np.array([Exploit()] * 20, dtype=object)),
    "texts.npy": saved(np.array(["a"] * 20)),
    "rows.npy": saved(np.zeros((3, 4))),
    "scalar.npy": saved(np.array(1.0)),
    "no.npz": b"PK",
    "pickle.pt": pickle.dumps(Exploit()),
    "vast.safetensors": struct.pack("<Q", 2**62) + b"{}",
    "no.safetensors": b"{}",
    f"{MARKUP[:40].replace('/', '')}.npy": b"x",
    "table.csv": b"=1+1,<b>b</b>\n",
}


@pytest.mark.parametrize("name", FEATURES)
def test_a_bad_file_of_features_is_a_sentence(opened, store, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    app = opened(store, "library", add="models", models_from="features")
    chosen = (name, FEATURES[name], "application/octet-stream")
    app.file_uploader(key="features-file").set_value(chosen).run()
    check(app, store)
    assert said(app)
    assert not (tmp_path / "exploited").exists()
