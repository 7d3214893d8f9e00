"""Commands from the hub to the store: fetched once, the same without the hub, and without a trace
where the hub fails.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import datasets
import numpy as np
import pandas as pd
import pytest
import timm
import torch
from huggingface_hub import constants
from PIL import Image
from safetensors.torch import save_file
from tiny_models import SIZE, make_language, make_vision

from core.cli import main
from core.competence.published import vtab_tasks
from core.settings import CHECKOUT
from core.store import Store
from tests.competence.labeled_files import write_part
from tests.hub.online import turn_to
from tests.hub.server import LocalHub

VIT = {"img_size": SIZE, "patch_size": 8, "embed_dim": 16, "depth": 2, "num_heads": 2}
SPECS = ["hf:someone/gpt", "timm:hf-hub:someone/vit", "timm:test_resnet"]
pytestmark = pytest.mark.slow
COMMANDS = [
    ["dataset", "add", "pairs", "--hub", "someone/pairs"],
    ["embed", "--dataset", "pairs", "--model", *SPECS],
    ["probe", "--dataset", "pairs", "--model", "vit", "--task", "SVHN", "--json"],
    ["bits-per-byte", "--dataset", "pairs", "--model", "gpt", "--tokens", "200", "--json"],
]
RUN = """
import contextlib, io, json, sys
from core.cli import main
said = []
for words in json.loads(sys.argv[1]):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main([*words, "--store", sys.argv[2]])
    said.append([code, out.getvalue(), err.getvalue()])
print(json.dumps(said))
"""  # several commands in one process: each start takes seconds


@dataclass(frozen=True)
class Said:
    """What a command ended with and said."""

    code: int
    out: str
    err: str


def run(store: Path, environment: dict[str, str]) -> list[Said]:
    """Run the commands one after the other in a process of their own."""
    words = [sys.executable, "-c", RUN, json.dumps(COMMANDS), str(store)]
    ended = subprocess.run(
        words, env=environment, cwd=CHECKOUT, capture_output=True, text=True, timeout=300
    )
    assert ended.returncode == 0, ended.stderr
    return [Said(*each) for each in json.loads(ended.stdout.splitlines()[-1])]


def publish(hub: LocalHub, root: Path) -> dict[str, str]:
    """Host models, image-caption pairs, a task of VTAB and OpenWebText; return the commits."""
    language = make_language(root / "gpt", "gpt2")
    vision = make_vision(root / "vit", "vit_tiny_patch16_224", **VIT)
    torch.manual_seed(1)
    (root / "resnet").mkdir()
    save_file(timm.create_model("test_resnet").state_dict(), root / "resnet" / "model.safetensors")
    images = [Image.fromarray(np.full((6, 8, 3), 30 * at, dtype=np.uint8)) for at in range(8)]
    table = datasets.Dataset.from_dict(
        {"image": images, "text": [f"a shade of {at}" for at in range(8)]}
    )
    (root / "pairs" / "data").mkdir(parents=True)
    (root / "pairs" / "README.md").write_text("Pairs.\n")
    table.to_parquet(root / "pairs" / "data" / "train-00000-of-00001.parquet")
    labels = [at % 10 for at in range(40)]
    write_part(root / "svhn" / "train", [labels])
    write_part(root / "svhn" / "test", [labels])
    (root / "owt" / "plain_text").mkdir(parents=True)
    texts = pd.DataFrame({"text": ["once upon a time there was a hub " * 20] * 4})
    texts.to_parquet(root / "owt" / "plain_text" / "train-00000-of-00080.parquet")
    svhn = vtab_tasks().set_index("task").loc["SVHN", "hub"]
    return {
        "gpt": hub.add_model("someone/gpt", language),
        "vit": hub.add_model("someone/vit", vision),
        "test_resnet": hub.add_model("timm/test_resnet.r160_in1k", root / "resnet"),
        "pairs": hub.add_dataset("someone/pairs", root / "pairs"),
        "svhn": hub.add_dataset(str(svhn), root / "svhn"),
        "owt": hub.add_dataset("Skylion007/openwebtext", root / "owt"),
    }


@dataclass(frozen=True)
class World:
    """A hub whose files one run of the commands has fetched."""

    hub: LocalHub
    commits: dict[str, str]
    home: Path
    store: Path
    said: list[Said]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    root, hub = tmp_path_factory.mktemp("world"), LocalHub()
    commits = publish(hub, root / "hosted")
    hub.fail("error 503", "/api/", times=1)  # it passes
    hub.fail("cut", "/cdn/", times=1)  # resumed
    said = run(root / "store", hub.environment(root / "home"))
    hub.heal()
    yield World(hub, commits, root / "home", root / "store", said)
    hub.close()


def test_models_and_data_come_from_the_hub_at_their_commits(world: World) -> None:
    assert [(each.code, each.err) for each in world.said if each.code] == []
    store = Store(world.store)
    assert store.dataset("pairs").source["revision"] == world.commits["pairs"]
    for name in ("gpt", "vit"):
        card = store.model("pairs", name).card
        assert card.revision == world.commits[name]
        assert card.pinned == f"{card.spec}@{world.commits[name]}"
    assert store.model("pairs", "test_resnet").card.spec == "timm:test_resnet"
    table = pd.DataFrame(json.loads(world.said[2].out))
    assert table["task"].unique().tolist() == ["SVHN"]
    assert np.isfinite(pd.DataFrame(json.loads(world.said[3].out))["value"]).all()


@pytest.fixture
def at_home(world: World, monkeypatch: pytest.MonkeyPatch) -> World:
    """Let this process and its own, which may not ask a hub, use what the commands have fetched."""
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(world.home / "hub"))
    monkeypatch.setenv("HF_HUB_CACHE", str(world.home / "hub"))
    keep_datasets(world.home / "datasets", monkeypatch)
    world.hub.asked.clear()
    return world


def keep_datasets(cache: Path, patch: pytest.MonkeyPatch) -> None:
    """Let this process, and those that it begins, keep data sets there."""
    patch.setattr(datasets.config, "HF_DATASETS_CACHE", cache)
    patch.setenv("HF_DATASETS_CACHE", str(cache))


def said_here(store: Path, words: list[str], capsys: pytest.CaptureFixture[str]) -> Said:
    """Run a command in this process."""
    code = main([*words, "--store", str(store)])
    return Said(code, *capsys.readouterr())


def test_without_the_hub_all_comes_out_the_same(
    at_home: World, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = [said_here(tmp_path, words, capsys) for words in COMMANDS]
    assert at_home.hub.asked == []
    assert [each.out for each in said] == [each.out for each in at_home.said]
    first, second = Store(at_home.store), Store(tmp_path)
    assert second.dataset("pairs") == first.dataset("pairs")
    for entry in first.models("pairs"):
        again = second.model("pairs", entry.card.name)
        assert (again.card, again.recipe) == (entry.card, entry.recipe)


FETCHING = [
    (["dataset", "add", "more", "--hub", "someone/more"], ["someone/more"]),
    (COMMANDS[1], SPECS),
    (COMMANDS[2], ["SVHN (clip-benchmark/wds_vtab-svhn)"]),
    (COMMANDS[3], ["OpenWebText (Skylion007/openwebtext)"]),
]


@pytest.fixture
def away(at_home: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    """Let this process ask the hub, three seconds long, with an empty cache."""
    turn_to(at_home.hub, tmp_path / "hub", monkeypatch)
    monkeypatch.setattr(datasets.config, "HF_ENDPOINT", at_home.hub.address)
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", False)
    monkeypatch.setenv("PLATOSCOPE_HUB_SECONDS", "3")
    yield at_home
    at_home.hub.heal()


def test_a_hub_that_fails_leaves_no_trace(
    away: World, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    away.hub.fail("error 503")
    store = Path(shutil.copytree(away.store, tmp_path / "store"))
    before = contents(store)
    reason = f"cannot be fetched: the hub ({away.hub.address}) answers with error 503"
    for words, names in FETCHING:
        said = said_here(store, words, capsys)
        assert (said.code, said.out) == (2, "")
        lines = [line for line in said.err.splitlines() if line.startswith("platoscope:")]
        assert [line.partition(reason)[0] for line in lines] == [
            f"platoscope: {name} " for name in names
        ]
    assert contents(store) == before


def contents(store: Path) -> dict[str, bytes]:
    """Return every file of a store."""
    return {str(path): path.read_bytes() for path in store.rglob("*") if path.is_file()}
