"""Every fault of the hub becomes a sentence, and the next run finds nothing of it."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from huggingface_hub import constants

from core.encoders.outlines import Download, weights_of
from core.errors import EncoderError, InputError, OfflineError, PlatoscopeError
from core.hub.fetch import fetch_snapshot
from core.hub.repository import Repository
from core.settings import CAVE_WEIGHTS
from tests.hub.server import LocalHub

LARGE = bytes(range(256)) * 40
SMALL = b'{"layers": 2}'
WANTED = Repository("someone/model", "hf:someone/model", "hf:FOLDER with a copy of it")
AGAIN = "; try again later, set HF_HOME to a folder whose hub/ has it, or use hf:FOLDER"


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the library's pauses and time limits take no time."""
    monkeypatch.setattr(time, "sleep", lambda _: None)
    monkeypatch.setattr(constants, "HF_HUB_DOWNLOAD_TIMEOUT", 0.5)
    monkeypatch.setattr(constants, "HF_HUB_ETAG_TIMEOUT", 0.5)
    monkeypatch.setattr("huggingface_hub.file_download._ETAG_RETRY_TIMEOUT", 0.5)


@pytest.fixture
def hosted(online: LocalHub, tmp_path: Path) -> LocalHub:
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "config.json").write_bytes(SMALL)
    (folder / "model.safetensors").write_bytes(LARGE)
    online.add_model("someone/model", folder)
    return online


def fetch() -> dict[str, bytes]:
    folder = fetch_snapshot(WANTED, ["*.json", "*.safetensors"])
    return {path.name: path.read_bytes() for path in folder.iterdir()}


WHOLE = {"config.json": SMALL, "model.safetensors": LARGE}
API, FILES, CDN = "/api/", "/resolve/", "/cdn/"


@pytest.mark.parametrize(
    ("fault", "path", "kind", "sentence"),
    [
        ("gated", FILES, EncoderError, "is gated on the hub; accept its terms .* `hf auth login`"),
        ("forbidden", FILES, EncoderError, r"is closed to you on the hub \(error 403: Your token"),
        ("no repository", API, EncoderError, "is neither a folder here nor on the hub; check the"),
        ("no revision", API, EncoderError, "has no revision main on the hub; name one"),
        ("no file", FILES, EncoderError, r"has no file \S+ on the hub"),
        ("error 503", FILES, OfflineError, rf"\(503: Service unavailable\){AGAIN}"),
        ("redirects", API, OfflineError, "cannot be reached or does not"),
        ("page", FILES, OfflineError, "cannot be reached or does not"),
        ("odd data", API, OfflineError, "cannot be reached or does not"),
        ("silent", API, OfflineError, "cannot be reached or does not"),
        ("silent", CDN, OfflineError, "cannot be reached or does not"),
        ("reset", API, OfflineError, "cannot be reached or does not"),
        ("cut", CDN, OfflineError, "cannot be reached or does not"),
    ],
)
def test_a_fault_is_a_sentence_and_then_forgotten(
    hosted: LocalHub, fault: str, path: str, kind: type[PlatoscopeError], sentence: str
) -> None:
    hosted.fail(fault, path)
    with pytest.raises(kind, match=sentence) as caught:
        fetch()
    said = str(caught.value)
    assert said.startswith("hf:someone/model ")
    assert "\n" not in said
    hosted.heal()
    assert fetch() == WHOLE


@pytest.mark.usefixtures("online")
def test_a_hub_that_is_not_there_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:1")
    with pytest.raises(OfflineError, match=r"the hub \(http://127.0.0.1:1\) cannot be reached"):
        fetch()


def test_what_is_here_is_used_while_the_hub_is_down(hosted: LocalHub) -> None:
    assert fetch() == WHOLE
    for fault in ("silent", "error 503"):
        hosted.heal()
        hosted.fail(fault)
        assert fetch() == WHOLE


def test_the_hub_is_not_asked_if_the_store_is_only_shown(
    hosted: LocalHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLATOSCOPE_READ_ONLY", "1")
    hosted.asked.clear()
    with pytest.raises(InputError, match="hf:someone/model is not read: this dashboard only shows"):
        fetch()
    assert hosted.asked == []


@pytest.mark.usefixtures("hosted")
def test_a_cache_that_cannot_be_written_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "file"))
    with pytest.raises(OfflineError, match=r"cannot be kept: .*file cannot be written .* HF_HOME"):
        fetch()


def test_what_is_left_to_fetch_is_said_of_every_form_of_spec(hosted: LocalHub) -> None:
    first = hosted.add_model("someone/model", CAVE_WEIGHTS / "vit-clip-xs")
    size = (CAVE_WEIGHTS / "vit-clip-xs" / "model.safetensors").stat().st_size
    for spec in ("hf:someone/model", f"hf:someone/model@{first}", "timm:hf-hub:someone/model"):
        assert weights_of(spec) == Download(size)
    hosted.fail("error 503")
    said = weights_of("hf:someone/model")
    assert "(503: Service unavailable); try again later" in said.why
    assert said.is_hub_down
