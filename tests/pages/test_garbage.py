"""What no page offers: garbage in addresses, values of no control, and bad uploads. A page says one
sentence or passes over it, queues and writes nothing, and obeys no text.
"""

from __future__ import annotations

import io
import pickle
import shutil
import struct
import zlib
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from core.jobs import queue
from core.store.uploads import dataset, uploads_folder
from core.store.uploads.dataset import Limits
from pages._shared import address
from tests.navigation import Query
from tests.pages.hostile import hostile
from tests.pages.seen import said
from tests.pages.test_add_dataset import picture, state, table, zipped
from tests.pages.test_hostile import obeyed

GARBAGE: dict[str, list[str]] = {
    "empty": [""],
    "unknown": ["no-such-thing"],
    "huge": ["9" * 400],
    "overflow": ["1e999"],
    "negative": ["-1"],
    "fraction": ["0.5"],
    "nan": ["nan"],
    "infinite": ["-inf"],
    "true": ["true"],
    "path": ["../../etc/passwd"],
    "markup": [hostile("x")],
    "controls": ["\x00\x01\x1b[31m\r\n\x85"],
    "emoji": ["🦄" * 50],
    "digits": ["²٣"],
    "zeros": ["000000000999999", "1.000000000999999"],
    "long": ["x" * 20_000],  # Streamlit passes over an address of more than 500,000
    "many": ["1", "2", "-3", "nan", "no-such-thing"] * 10,
    "assigned": ["=", "scene=", "=forest", "scene=forest=beach", "k=1e999"],
    "joined": ["a:b:c", ":::", "1.2.3.", "..", "0:99999999999999999999"],
    "set": ["60.zzzz", "40.AAAA", "99999999999.AAAA", "-1.x"],
    "pickle": ["gASVAAAAAAAAAAB9lC4="],
    "json": ['{"a": [1, 2]}'],
    "view": ["/alignment?k=nan", "//evil.example", "javascript:alert(1)", "/models?layout=mds"],
}
LONGEST = 900  # characters of what a page says of one parameter


class Asked(dict):
    """The texts of an address that notes which keys are asked for."""

    keys_asked: ClassVar[set[str]] = set()

    def __contains__(self, key: object) -> bool:
        self.keys_asked.add(str(key))
        return super().__contains__(key)

    def pop(self, key: Any, *default: Any) -> Any:
        self.keys_asked.add(str(key))
        return super().pop(key, *default)


def keys_of(opened, store, page: str, query: Query, monkeypatch) -> set[str]:
    """Return every key that a page asks its address for."""
    Asked.keys_asked = set()
    with monkeypatch.context() as noting:
        noting.setattr(address, "split", lambda texts, split=address.split: Asked(split(texts)))
        opened(store, page, **query)
    return {key.partition(":")[0] for key in Asked.keys_asked} | set(query)


def faults_of(app: AppTest) -> list[str]:
    """Return what a page shows that garbage must not bring about."""
    sentences = [one.value for kind in ("warning", "error", "info") for one in app.get(kind)]
    return [
        *(f"an exception: {one.message}" for one in app.exception),
        *([] if app.title else ["no title"]),
        *(f"obeyed: {one}" for one in obeyed(app)),
        *(f"too long: {sentence[:2000]}" for sentence in sentences if len(sentence) > LONGEST),
    ]


@pytest.mark.parametrize(
    ("page", "query"),
    [
        ("stimuli", {"view": "gallery"}),
        pytest.param("stimuli", {"stimulus": "1"}, marks=pytest.mark.slow),
        ("jobs", {"log": "1"}),
    ],
)
def test_garbage_in_all_parameters_at_once(opened, small, monkeypatch, page, query):
    keys = keys_of(opened, small(20), page, query, monkeypatch) - set(query)
    for kind in ("huge", "long", "zeros"):
        app = opened(small(20), page, **{**dict.fromkeys(keys, GARBAGE[kind]), **query})
        assert faults_of(app) == [], kind


@pytest.mark.parametrize(
    ("page", "query"),
    [
        ("stimuli", {"view": "gallery", "quantile": [""]}),
        ("alignment", {"axis": GARBAGE["markup"]}),
        ("models", {"layers": GARBAGE["markup"]}),
        ("color", {"images": GARBAGE["huge"]}),
        ("library", {"add": "dataset", "upload": GARBAGE["controls"]}),
        ("library", {"add": "models", "models_from": "hub", "embed_hub": GARBAGE["many"]}),
        ("library", {"add": "models", "models_from": "folder", "embed_folder": ["/" + "x" * 9999]}),
    ],
    ids=lambda one: one if isinstance(one, str) else list(one)[-1],
)
def test_garbage_that_once_got_through(opened, small, page, query):
    assert faults_of(opened(small(20), page, **query)) == []


def test_the_keys_of_a_page_are_those_that_it_reads(opened, small, monkeypatch):
    keys = keys_of(opened, small(20), "stimuli", {"stimulus": "1"}, monkeypatch)
    assert {"dataset", "chosen", "stimulus", "k", "a", "b", "layer_a"} <= keys


Files = dict[str, bytes]
TABLE = table([("a.png", "one"), ("b.png", "two")])
GOOD = {"captions.csv": TABLE, "a.png": picture(1), "b.png": picture(2)}


def vast() -> bytes:
    """Return the head of a PNG of 60,000 × 60,000 pixels."""
    head = struct.pack(">IIBBBBB", 60_000, 60_000, 8, 2, 0, 0, 0)
    chunk = b"IHDR" + head
    ends = struct.pack(">I", zlib.crc32(chunk))
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I", len(head)) + chunk + ends


REFUSED = "A dataset with problems is refused"
BAD: dict[str, tuple[Files, str]] = {  # what is uploaded, and what is said of it
    "no zip": ({"x.zip": b"PK\x03\x04 and no more"}, "is no zip, or a damaged one"),
    "leads out": ({"x.zip": zipped({**GOOD, "../../evil": b""})}, "leads out of its folder"),
    "vast image": ({**GOOD, "a.png": vast()}, REFUSED),
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
    return app.file_uploader(key="dataset-files").set_value(chosen).run()


def check(app: AppTest, store: Path) -> None:
    """Check that a page is calm, obeys nothing and has queued nothing."""
    assert not app.exception
    assert obeyed(app) == []
    assert queue.jobs(store) == []
    queueing = [one for one in app.button if one.key == "queue"]
    assert all(one.disabled for one in queueing)


def test_a_bad_dataset_is_a_sentence(opened, store, tmp_path):
    apart = uploads_folder(store)
    before = {*state(tmp_path)}
    for kind, (files, sentence) in BAD.items():
        app = upload(opened, store, files)
        check(app, store)
        assert sentence in said(app), kind
        written = {
            path
            for path in state(tmp_path)
            if not path.endswith(".lock") and not Path(path).is_relative_to(apart)
        }
        assert written <= {*before, str(store / "jobs" / "queue.sqlite")}, kind


class Exploit:
    def __reduce__(self):
        return Path.write_text, (Path("exploited"), "")


def saved(array: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.save(file, array, allow_pickle=True)
    return file.getvalue()


RUNNING = {
    "objects.npy": saved(np.array([Exploit()] * 20, dtype=object)),
    "pickle.pt": pickle.dumps(Exploit()),
}


def test_no_code_of_a_file_of_features_runs(opened, store, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, data in RUNNING.items():
        app = opened(store, "library", add="models", models_from="features")
        chosen = (name, data, "application/octet-stream")
        app.file_uploader(key="features-file").set_value(chosen).run()
        check(app, store)
        assert said(app), name
        assert not (tmp_path / "exploited").exists(), name
