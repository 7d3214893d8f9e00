"""Every fault of the hub becomes a sentence within the time limit, and the next run finds nothing
of it.
"""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path

import httpx2
import pytest
from huggingface_hub import constants

from core.encoders.downloads import Download
from core.encoders.outlines import Outline, outline, weights_of
from core.errors import EncoderError, InputError, OfflineError, PlatoscopeError
from core.hub import client, patience
from core.hub.client import use_patient_client
from core.hub.content import files_of
from core.hub.elsewhere import fetch_url
from core.hub.fetch import fetch_snapshot, mending
from core.hub.repository import Repository
from core.settings import CAVE_WEIGHTS
from tests.hub.server import LocalHub

LIMIT = 2.0  # seconds that a hub may take
ROOM = 30.0  # seconds that a busy machine may take to say so
LARGE = bytes(range(256)) * 40
SMALL = b'{"layers": 2}'
WANTED = Repository("someone/model", "hf:someone/model", "hf:FOLDER with a copy of it")
slow = partial(pytest.param, marks=pytest.mark.slow)
AGAIN = "; try again later, set HF_HOME to a folder whose hub/ has it, or use hf:FOLDER"


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLATOSCOPE_HUB_SECONDS", str(LIMIT))
    monkeypatch.setattr(client, "FIRST_PAUSE", 0.2)


@pytest.fixture
def hosted(online: LocalHub, tmp_path: Path) -> LocalHub:
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "config.json").write_bytes(SMALL)
    (folder / "model.safetensors").write_bytes(LARGE)
    online.add_model("someone/model", folder)
    return online


@pytest.fixture
def old(online: LocalHub, tmp_path: Path) -> str:
    """Host a file of another server and give its address."""
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "weights").write_bytes(LARGE)
    commit = online.add_model("someone/old", tmp_path / "model")
    return f"{online.address}/someone/old/resolve/{commit}/weights"


def fetch() -> dict[str, bytes]:
    folder = fetch_snapshot(WANTED, ["*.json", "*.safetensors"])
    return {path.name: path.read_bytes() for path in folder.iterdir()}


WHOLE = {"config.json": SMALL, "model.safetensors": LARGE}
API, FILES, CDN = "/api/", "/resolve/", "/cdn/"
CASES = [  # each kind of fault once; most last as long as the limit
    ("gated", FILES, EncoderError, "is gated on the hub; accept its terms .* `hf auth login`"),
    ("forbidden", FILES, EncoderError, r"is closed to you on the hub \(error 403: Your token"),
    ("no repository", API, EncoderError, "is neither a folder here nor on the hub; check the id"),
    ("no revision", API, EncoderError, "has no revision main on the hub; name one"),
    ("no file", FILES, EncoderError, r"has no file \S+ on the hub"),
    ("error 500", API, OfflineError, rf"answers with error 500 \(Internal Server Error\){AGAIN}"),
    ("wait an hour", API, OfflineError, "answers with error 429"),
    ("redirects", API, OfflineError, "redirects without end; HF_ENDPOINT or a proxy"),
    ("page", FILES, OfflineError, "does not answer as a hub does; HF_ENDPOINT"),
    ("odd data", API, OfflineError, "sends something other than it should"),
    ("wrong content", CDN, EncoderError, r"is damaged .* of model\.safetensors is not what"),
    ("silent", CDN, OfflineError, "has not answered for 2 s"),
    ("reset", API, OfflineError, "breaks off the connection"),
    ("cut", CDN, OfflineError, "breaks off the connection"),
    ("dripping", CDN, OfflineError, "has sent less than 1,000 bytes in 2 s"),
]
ELSEWHERE = [  # the same faults of other addresses, and faults that are met alike
    ("log in", FILES, EncoderError, "is gated on the hub"),
    ("error 520", API, OfflineError, "answers with error 520"),
    ("error 503", FILES, OfflineError, "answers with error 503"),
    ("error 503", CDN, OfflineError, "answers with error 503"),
    ("error 429", API, OfflineError, r"answers with error 429 \(Too Many Requests\)"),
    ("redirects", FILES, OfflineError, "redirects without end"),
    ("page", API, OfflineError, "answers with something other than data"),
    ("page", CDN, OfflineError, "sends something other than it should"),
    ("silent", API, OfflineError, "has not answered for 2 s"),
    ("silent", FILES, OfflineError, "has not answered for 2 s"),
    ("reset", CDN, OfflineError, "breaks off the connection"),
    ("cut", API, OfflineError, "breaks off the connection"),
    ("stalled", CDN, OfflineError, "has not answered for 2 s"),
]


@pytest.mark.parametrize(
    ("fault", "path", "kind", "sentence"),
    [*CASES, *(slow(*case) for case in ELSEWHERE)],
)
def test_a_fault_is_a_sentence_within_the_limit_and_then_forgotten(
    hosted: LocalHub,
    monkeypatch: pytest.MonkeyPatch,
    fault: str,
    path: str,
    kind: type[PlatoscopeError],
    sentence: str,
) -> None:
    hosted.fail(fault, path)
    began = time.monotonic()
    with pytest.raises(kind, match=sentence) as caught:
        fetch()
    assert time.monotonic() - began < LIMIT + ROOM
    said = str(caught.value)
    assert said.startswith("hf:someone/model ")
    assert said.count("someone/model") == 1
    assert "\n" not in said
    hosted.heal()
    monkeypatch.setenv("PLATOSCOPE_HUB_SECONDS", "30")
    assert fetch() == WHOLE


@pytest.mark.usefixtures("online")
def test_a_hub_that_was_never_met_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:1")
    monkeypatch.setenv("PLATOSCOPE_HUB_SECONDS", "60")
    began = time.monotonic()
    with pytest.raises(OfflineError, match=r"the hub \(http://127.0.0.1:1\) cannot be reached"):
        fetch()
    assert time.monotonic() - began < 30


def test_what_passes_is_waited_for_and_told(
    hosted: LocalHub, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(patience, "SHOWN_AFTER", 0.1)
    monkeypatch.setattr(patience, "TOLD_EVERY", 0.05)
    monkeypatch.setenv("PLATOSCOPE_HUB_SECONDS", "30")
    hosted.fail("error 503", times=2)
    hosted.fail("slow", FILES)
    assert fetch() == WHOLE
    assert "hf:someone/model: waiting for an answer, in seconds: 0/30" in capsys.readouterr().err


def test_a_body_that_breaks_off_goes_on_where_it_did(
    hosted: LocalHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLATOSCOPE_HUB_SECONDS", "30")
    use_patient_client()
    monkeypatch.setattr(constants, "DOWNLOAD_CHUNK_SIZE", 1_000)
    hosted.fail("cut", CDN, times=1)
    assert fetch() == WHOLE
    assert set(hosted.ranges) == {f"bytes={len(LARGE) // 2 // 1_000 * 1_000}-"}


def test_what_is_here_is_used_while_the_hub_is_down(hosted: LocalHub) -> None:
    assert fetch() == WHOLE
    for fault in ("silent", "error 500"):
        hosted.heal()
        hosted.fail(fault)
        began = time.monotonic()
        assert fetch() == WHOLE
        assert time.monotonic() - began < LIMIT + ROOM


@pytest.mark.usefixtures("hosted")
def test_files_that_were_damaged_later_are_named_and_fetched_anew() -> None:
    fetch()
    blob = next(path for path in files_of(WANTED) if path.stat().st_size == len(LARGE))
    blob.write_bytes(b"damaged")
    with (
        pytest.raises(EncoderError, match=r"of model\.safetensors is not what the hub has"),
        mending(WANTED),
    ):
        raise EncoderError("these weights cannot be read")
    with pytest.raises(EncoderError, match="another reason"), mending(WANTED):
        raise EncoderError("another reason")
    assert fetch() == WHOLE


def test_nobody_is_asked_where_the_store_is_only_shown(
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
    assert outline("timm:hf-hub:someone/model") == Outline(download=Download(size))
    hosted.fail("error 503")
    why = "The hub answers with error 503 (Service Unavailable): a model that is not on this"
    assert weights_of("hf:someone/model").why == f"{why} machine needs it."
    assert weights_of("hf:someone/model").is_hub_down


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        slow("silent", "has not answered for 2 s"),
        ("dripping", "has sent less than 1,000 bytes in 2 s"),
        slow("reset", r"breaks off the connection \(.*\)"),
        slow("cut", r"breaks off the connection \(.*\)"),
        ("no file", r"answers with error 404 \(Not Found\)"),
        slow("error 503", r"answers with error 503 \(Service Unavailable\)"),
        slow("error 520", "answers with error 520"),  # a proxy's own, which has no name
    ],
)
def test_another_server_has_as_much_time(
    online: LocalHub, old: str, fault: str, reason: str, tmp_path: Path
) -> None:
    online.fail(fault)
    file, began = tmp_path / "checkpoints" / "weights", time.monotonic()
    message = f"^timm:old cannot be fetched: {old} {reason}; try again later, or use a copy$"
    with pytest.raises(OfflineError, match=message):
        fetch_url("timm:old", old, file, instead="a copy")
    assert time.monotonic() - began < LIMIT + ROOM
    assert list(file.parent.iterdir()) == []
    online.heal()
    fetch_url("timm:old", old, file, instead="a copy")
    assert file.read_bytes() == LARGE
    online.asked.clear()
    fetch_url("timm:old", old, file, instead="a copy")
    assert online.asked == []


def test_a_body_of_another_server_that_breaks_off_is_asked_for_anew(
    online: LocalHub, old: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLATOSCOPE_HUB_SECONDS", "30")
    online.fail("cut", CDN, times=1)
    fetch_url("timm:old", old, tmp_path / "new" / "weights", instead="a copy")
    assert (tmp_path / "new" / "weights").read_bytes() == LARGE


@pytest.mark.parametrize(
    ("said", "seconds"), [("7", 7), ("", 0), ("²", 0), ("-1", 0), ("Wed, 21 Oct 2015", 0)]
)
def test_how_long_a_hub_asks_to_be_left_alone(said, seconds):
    response = httpx2.Response(429, headers={"Retry-After": said.encode()})
    assert client._wanted(response) == seconds
