"""The first study runs whole over a hub of small models; what would keep a study from running is
told before anything is fetched.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import datasets
import numpy as np
import pandas as pd
import pytest
from huggingface_hub import close_session
from PIL import Image
from tiny_models import make_language, make_vision

from core.cli import main
from core.encoders.outlines import Download
from core.plans import checking
from core.plans.reading import open_plan, shipped
from tests.hub.online import turn_to
from tests.hub.server import LocalHub
from tests.plans.worlds import SMALL

BLOOM, OWT = "bigscience/bloom-560m", "Skylion007/openwebtext"
TINY = "someone/vit_tiny_patch16_224.augreg_in21k"


def host(hub: LocalHub, root: Path) -> Path:
    """Host what prh-mini names, small, and return the study with its vision models by id."""
    text = shipped()["prh-mini"].read_text().replace('"wit_1024"', '"someone/pairs"')
    text = text.replace('"timm:vit_', '"timm:hf-hub:someone/vit_')
    for number, name in enumerate(re.findall(r'"hf:(.+?)"', text)):
        kind = "bloom" if "bloom" in name else "gpt2"
        hub.add_model(name, make_language(root / f"language-{number}", kind))
    for number, name in enumerate(re.findall(r"hf-hub:(.+?)\"", text)):
        folder = root / f"vision-{number}"
        settings = {**SMALL, "embed_dim": 16 + 4 * number}
        hub.add_model(name, make_vision(folder, "vit_tiny_patch16_224", **settings))
    random = np.random.default_rng(0)
    pictures = random.integers(256, size=(260, 8, 8, 3), dtype=np.uint8)
    table = {
        "image": [Image.fromarray(each) for each in pictures],
        "text": [[f"picture {at} of {at % 7} things", "another"] for at in range(260)],
    }
    (root / "pairs" / "data").mkdir(parents=True)
    pairs = root / "pairs" / "data" / "train-00000-of-00001.parquet"
    datasets.Dataset.from_dict(table).to_parquet(pairs)
    hub.add_dataset("someone/pairs", root / "pairs")
    (root / "owt" / "plain_text").mkdir(parents=True)
    texts = pd.DataFrame({"text": [f"text {at} of the web " * 40 for at in range(400)]})
    texts.to_parquet(root / "owt" / "plain_text" / "train-00000-of-00080.parquet")
    hub.add_dataset(OWT, root / "owt")
    place = root / "mini.toml"
    place.write_text(text)
    return place


@pytest.fixture(scope="module")
def hosted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[LocalHub, Path]]:
    root, hub = tmp_path_factory.mktemp("mini"), LocalHub()
    with pytest.MonkeyPatch.context() as patch:
        turn_to(hub, root / "cache", patch)
        yield hub, host(hub, root)
    close_session()
    hub.close()


def check(
    hosted: tuple[LocalHub, Path], capsys: pytest.CaptureFixture[str], *words: str
) -> tuple[int, dict[str, tuple[str, str]]]:
    """Return the exit code, and what is wrong and what to do, by name, of what is not in order."""
    hub, place = hosted
    store = place.parent / "no-store"
    code = main(["study", "check", str(place), "--store", str(store), "--json", *words])
    hub.heal()
    rows = json.loads(capsys.readouterr().out)
    assert not store.exists()
    assert not any("GET" in each and "/cdn/" in each for each in hub.asked)
    return code, {row["name"]: (row["wrong"], row["remedy"]) for row in rows if row["wrong"]}


def test_a_study_in_order_is_told_so(hosted, capsys):
    assert check(hosted, capsys) == (0, {})
    asked = {each.partition(" ")[2] for each in hosted[0].asked}
    assert f"/{BLOOM}/resolve/main/model.safetensors" in asked  # would it be given out?


@pytest.mark.parametrize(
    ("fault", "path", "name", "wrong", "remedy"),
    [
        ("gated", f"/{BLOOM}/resolve", f"hf:{BLOOM}", "gated", "accept its terms there and log in"),
        ("no repository", f"/models/{BLOOM}", f"hf:{BLOOM}", "nor on the hub", "check the id"),
        ("forbidden", f"/{TINY}/resolve", f"timm:hf-hub:{TINY}", "error 403", "log in"),
        ("gated", "/datasets/someone/pairs/res", "wit-256", "gated", "accept its terms"),
        ("no repository", f"/datasets/{OWT}", "owt", "nor on the hub", "check the id"),
    ],
)
def test_what_the_hub_does_not_give_out_is_named(
    hosted, capsys, fault: str, path: str, name: str, wrong: str, remedy: str
):
    hosted[0].fail(fault, path)
    code, found = check(hosted, capsys)
    assert (code, set(found)) == (2, {name})
    assert wrong in found[name][0]
    assert remedy in found[name][1]


def test_too_little_disk_and_memory_are_named(hosted, capsys, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(checking.shutil, "disk_usage", lambda _: SimpleNamespace(free=1_000))
    monkeypatch.setattr(checking, "free_on", lambda _: 2 * 10**8)
    code, found = check(hosted, capsys, "--device", "cpu")
    assert (code, set(found)) == (2, {"cache of the hub", "store"})
    assert "1 kB is free at" in found["store"][0]
    plan, store = open_plan("prh-mini"), hosted[1].parent / "none"
    table = checking.check(plan, store, device="cpu", ask=lambda _: Download(0)).set_index("name")
    large = set(table.index[table["wrong"].str.contains("of memory")])
    assert large == {  # above 200 MB; parts of language models would be spilled
        "timm:vit_base_patch16_224.augreg_in21k",
        "timm:vit_base_patch14_dinov2.lvd142m",
        "timm:vit_base_patch16_clip_224.laion2b",
    }


def test_paths_that_are_not_there_and_words_that_name_no_task_are_named(hosted, capsys):
    hub, place = hosted
    other = place.with_name("other.toml")
    tasks = '[probing]\ntasks = ["SVHM"]\ngroups = ["clip"]\n\n[[figure]]\nname = "map"'
    other.write_text(place.read_text().replace('[[figure]]\nname = "map"', tasks))
    words = ("--data", "nowhere", "--models", "clip=timm:resnet18@gone.pt")
    code, found = check((hub, other), capsys, *words)
    assert (code, set(found)) == (2, {"wit-256", "SVHM", "timm:resnet18@gone.pt"})
    hub.fail("reset", "/api/")
    code, found = check(hosted, capsys)
    assert code == 2
    assert len(found) == 12  # asked once, and no more


@pytest.mark.slow
def test_the_first_study_runs_whole(hosted, tmp_path: Path):
    _, place = hosted
    fixed = ("--store", str(tmp_path / "store"), "--device", "cpu", "--to", str(tmp_path / "out"))
    assert main(["study", "run", str(place), *fixed]) == 0
    trend = pd.read_csv(tmp_path / "out" / "figure-3.csv")
    assert len(trend) == 4 * 6
    assert trend["chance"].tolist() == pytest.approx([10 / 255] * 24)
    drawn = (tmp_path / "out" / "figure-3.html").read_text()
    lines = re.findall(r'"y":\[([\d.]+),([\d.]+)\]', drawn)
    chance = [line for line in lines if float(line[0]) == pytest.approx(10 / 255)]
    assert len(chance) == 3  # a panel for each objective
    assert all(begin == end for begin, end in chance)
    bits = pd.read_csv(tmp_path / "out" / "bits-per-byte.csv")
    coded = bits[bits["task"].str.startswith("bits per byte of OpenWebText")]
    assert len(coded) == 8
    assert ((coded["low"] < coded["value"]) & (coded["value"] < coded["high"])).all()
    assert len(pd.read_csv(tmp_path / "out" / "map.csv")) == 10
