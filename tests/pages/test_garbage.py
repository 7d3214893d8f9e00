"""What no page offers: garbage in addresses, values of no control, and bad uploads. A page says one
sentence or passes over it, queues and writes nothing, and obeys no text.
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
from typing import Any, ClassVar

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from core.jobs import queue
from core.store.uploads import dataset, uploads_folder
from core.store.uploads.dataset import Limits
from pages._shared import address
from tests.navigation import PAGES, Page, Query
from tests.pages.hostile import MARKUP, hostile
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
FURTHER: dict[str, tuple[Query, ...]] = {  # with what a page reads further parameters
    "stimuli": ({"view": "gallery"}, {"stimulus": "1"}),
    "jobs": ({"log": "1"},),
    "alignment": ({"metric": "cknna", "axis": "size"},),
    "models": ({"view": "table"},),
    "metrics": ({"every_parameter": "true"},),
    "library": (
        {"view": "datasets"},
        {"view": "results"},
        {"model": "vit-mae-m"},
        {"add": "dataset", "from": "folder"},
        {"add": "dataset", "from": "hub"},
        {"add": "dataset", "upload": "x"},
        {"add": "models", "models_from": "hub"},
        {"add": "models", "models_from": "cave"},
        {"add": "models", "models_from": "folder"},
        {"add": "models", "models_from": "features", "features": "x"},
    ),
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


@pytest.mark.slow
@pytest.mark.parametrize(
    ("page", "query"),
    [(page, query) for page in PAGES for query in ({}, *FURTHER.get(page.path, ()))],
    ids=lambda one: one.name if isinstance(one, Page) else "-".join(one.values()),
)
def test_garbage_in_every_parameter_of_every_page(opened, small, monkeypatch, page, query):
    store, keys = small(20), keys_of(opened, small(20), page.script, query, monkeypatch)
    for kind, texts in GARBAGE.items():
        every = {**dict.fromkeys(keys - set(query), texts), **query}
        assert faults_of(opened(store, page.script, **every)) == [], kind
        for key in sorted(keys):
            faults = faults_of(opened(store, page.script, **{**query, key: texts}))
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
        ("library", {"add": "models", "models_from": "folder", "embed_folder": ["/" + "x" * 9999]}),
    ],
    ids=lambda one: one if isinstance(one, str) else list(one)[-1],
)
def test_garbage_that_once_got_through(opened, small, page, query):
    assert faults_of(opened(small(20), page, **query)) == []


def test_the_keys_of_a_page_are_those_that_it_reads(opened, small, monkeypatch):
    keys = keys_of(opened, small(20), "stimuli", {"stimulus": "1"}, monkeypatch)
    assert {"dataset", "chosen", "stimulus", "k", "a", "b", "layer_a"} <= keys


def force(app: AppTest, control: str, texts: list[str]) -> AppTest:
    """Send texts as the value of a control, as somebody may who speaks Streamlit's protocol."""
    states = app._tree.get_widget_states()
    (state,) = (one for one in states.widgets if one.id == control)
    if state.WhichOneof("value") == "string_value":
        state.string_value = "".join(texts)
    else:
        state.string_array_value.data[:] = texts
    return app._run(states)


@pytest.mark.parametrize("texts", [["no-such-thing", "no-such-thing"], []])
@pytest.mark.parametrize(
    ("page", "query"),
    [
        ("stimuli", {"view": "gallery"}),
        pytest.param("models", {"view": "table"}, marks=pytest.mark.slow),
        *(
            pytest.param(page, {}, marks=pytest.mark.slow)
            for page in ("models", "alignment", "dispersion", "adapters", "metrics", "color")
        ),
    ],
)
def test_what_a_control_does_not_offer_is_passed_over(opened, small, page, query, texts):
    app = opened(small(20), page, **query)
    kinds = ("selectbox", "multiselect", "button_group")
    controls = [one.proto.id for kind in kinds for one in app.get(kind)]
    assert controls
    for control in controls:
        app = opened(small(20), page, **query)
        assert not force(app, control, texts).exception, control


Files = dict[str, bytes]
TABLE = table([("a.png", "one"), ("b.png", "two")])
GOOD = {"captions.csv": TABLE, "a.png": picture(1), "b.png": picture(2)}


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


REFUSED = "A dataset with problems is refused"
QUICK = {
    "no zip": ({"x.zip": b"PK\x03\x04 and no more"}, "is no zip, or a damaged one"),
    "leads out": ({"x.zip": zipped({**GOOD, "../../evil": b""})}, "leads out of its folder"),
    "vast image": ({**GOOD, "a.png": vast()}, REFUSED),
}
DATASETS: dict[str, tuple[Files, str]] = {  # what is uploaded, and what is said of it
    **QUICK,
    "empty zip": ({"x.zip": b""}, "is no zip, or a damaged one"),
    "zip of nothing": ({"x.zip": zipped({})}, "holds no caption table"),
    "zip in a zip": ({"x.zip": zipped({"y.zip": zipped(GOOD)})}, "holds no caption table"),
    "zip beside files": ({"x.zip": zipped(GOOD), **GOOD}, "was uploaded beside 3 other files"),
    "absolute": ({"x.zip": zipped({**GOOD, "/etc/evil": b""})}, "leads out of its folder"),
    "link": ({"x.zip": linked()}, "is a link or a device"),
    "bomb": ({"x.zip": bomb()}, "unpacked, and 10 MB at most is taken"),
    "very many": ({"x.zip": zipped({f"{n}.png": b"" for n in range(1500)})}, "1,000 at most"),
    "empty table": ({"captions.csv": b"", "a.png": picture(1)}, "captions.csv"),
    "binary table": ({"captions.csv": bytes(range(256)), "a.png": picture(1)}, "captions.csv"),
    "no parquet": ({"t.parquet": b"PAR1 no PAR1", "a.png": picture(1)}, "t.parquet"),
    "empty image": ({**GOOD, "a.png": b""}, REFUSED),
    "no image": ({**GOOD, "a.png": b"<script>alert(1)</script>"}, REFUSED),
    "wrong ending": ({**GOOD, "a.png": zipped(GOOD)}, REFUSED),
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
    return app.file_uploader(key="dataset-files").set_value(chosen).run()


def check(app: AppTest, store: Path) -> None:
    """Check that a page is calm, obeys nothing and has queued nothing."""
    assert not app.exception
    assert obeyed(app) == []
    assert queue.jobs(store) == []
    queueing = [one for one in app.button if one.key == "queue"]
    assert all(one.disabled for one in queueing)


@pytest.mark.parametrize("kinds", [QUICK, pytest.param(DATASETS, marks=pytest.mark.slow)])
def test_a_bad_dataset_is_a_sentence(opened, store, tmp_path, kinds):
    apart = uploads_folder(store)
    before = {*state(tmp_path)}
    for kind, (files, sentence) in kinds.items():
        app = upload(opened, store, files)
        check(app, store)
        assert sentence in said(app), kind
        written = {
            path
            for path in state(tmp_path)
            if not path.endswith(".lock") and not Path(path).is_relative_to(apart)
        }
        assert written <= {*before, str(store / "jobs" / "queue.sqlite")}, kind


@pytest.mark.parametrize("way", ["zip", pytest.param("files", marks=pytest.mark.slow)])
def test_a_hostile_name_is_shown_or_refused(opened, store, way):
    names = {  # of an image, in a zip and in its table, and whether it cannot be shown
        f"{MARKUP[:60]}.png".replace("/", ""): False,
        "gpj\u202egnp.a.png": True,
        "a\x1b[31m.png": True,
        "=cmd|' !A0.png": False,
        "🦄.png": False,
    }
    for name, is_refused in names.items():
        files = {"captions.csv": table([(name, MARKUP)]), name: picture(1)}
        app = upload(opened, store, files if way == "files" else {"x.zip": zipped(files)})
        assert not app.exception
        assert obeyed(app) == []
        assert ("cannot be shown; rename that file" in said(app)) == is_refused, name


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
FEATURES = {
    **RUNNING,
    "nothing.npy": b"",
    "cut.npy": saved(np.zeros((20, 4)))[:70],
    "short.npy": saved(np.zeros((20, 4)))[:-8],
    "texts.npy": saved(np.array(["a"] * 20)),
    "rows.npy": saved(np.zeros((3, 4))),
    "scalar.npy": saved(np.array(1.0)),
    "no.npz": b"PK",
    "vast.safetensors": struct.pack("<Q", 2**62) + b"{}",
    "no.safetensors": b"{}",
    f"{MARKUP[:40].replace('/', '')}.npy": b"x",
    "table.csv": b"=1+1,<b>b</b>\n",
}


@pytest.mark.parametrize("kinds", [RUNNING, pytest.param(FEATURES, marks=pytest.mark.slow)])
def test_a_bad_file_of_features_is_a_sentence(opened, store, tmp_path, monkeypatch, kinds):
    monkeypatch.chdir(tmp_path)
    for name, data in kinds.items():
        app = opened(store, "library", add="models", models_from="features")
        chosen = (name, data, "application/octet-stream")
        app.file_uploader(key="features-file").set_value(chosen).run()
        check(app, store)
        assert said(app), name
        assert not (tmp_path / "exploited").exists(), name
