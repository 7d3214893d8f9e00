"""The command that made an embedding is read back from its file; time is that of similar models."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from store_fakes import CountedDataset, CountingEncoder

from core.cli import main, make_parser
from core.competence.opened import reopen
from core.embedding.features import embed_world, import_features
from core.embedding.history import command_of, room_for
from core.embedding.runner import embed
from core.encoders.measured import Content
from core.encoders.requests import PROMPTS
from core.plans.plan import is_of
from core.recipe import Recipe
from core.store import Store, add_dataset
from core.store.editing import embedding_size
from tests.pages.world import SMALL, PaintedDataset, build


def made(root: Path, name: str) -> str:
    words = command_of("counted", Store(root).model("counted", name))
    make_parser().parse_args(words)  # the command understands them
    return " ".join(words)


def test_an_embedding_names_spec_level_pooling_and_its_own_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset, plain = CountedDataset(), CountingEncoder()
    embed(tmp_path, dataset, plain)
    embed(tmp_path, dataset, plain, level="5")
    embed(tmp_path, dataset, CountingEncoder(pooling="last token"), name="mine")
    prompted = CountingEncoder(pooling="last token", prompt=PROMPTS["paper"])
    embed(tmp_path, dataset, prompted, name="prompted")
    start = "embed --dataset counted --model hf:counting --caption-level"
    assert made(tmp_path, "counting") == f"{start} 20"
    assert made(tmp_path, "counting~5") == f"{start} 5"
    assert made(tmp_path, "mine") == f"{start} 20 --pooling last --name mine"
    reading = "--pooling last --prompt paper"
    assert made(tmp_path, "prompted") == f"{start} 20 {reading} --name prompted"
    asked = dict[str, str]()

    def opened(spec: str, *, pooling: str, **_: object) -> CountingEncoder:
        asked[spec] = pooling
        return CountingEncoder(pooling="last token")

    monkeypatch.setattr("core.competence.opened.open_encoder", opened)
    reopen(Store(tmp_path).model("counted", "mine"), torch.device("cpu"))
    assert asked == {"hf:counting": "last"}


@pytest.mark.parametrize(
    ("spec", "wanted"),
    [
        ("hf:a/b", False),
        ("hf:a/b#patches", True),
        ("hf:a/b@c0ffee#patches", True),
        ("hf:a/b@c0ff#patches", True),
        ("hf:a/b@c0ffee", False),
        ("hf:a/b@beef#patches", False),
        ("hf:a/b@c0ffee#text", False),
        ("import:mine", True),
    ],
)
def test_a_spec_at_a_commit_names_the_model_with_its_readout(spec: str, wanted: bool) -> None:
    card = replace(CountingEncoder().card, name="mine", spec="hf:a/b#patches", revision="c0ffee")
    assert is_of(card, spec) is wanted


@pytest.mark.parametrize(
    ("encoder", "said"),
    [
        ({"own pooling": "mean of tokens", "sentence": ["2_D"]}, ""),  # as its folder says
        ({"own pooling": "mean of tokens", "prompt": "q: {}"}, ""),
        ({"own pooling": "mean of tokens"}, " --pooling mean"),  # its hidden states alone
        ({}, ""),
    ],
)
def test_what_a_folder_says_of_reading_is_the_default(tmp_path: Path, encoder, said) -> None:
    embed(tmp_path, CountedDataset(), CountingEncoder())
    entry = Store(tmp_path).model("counted", "counting")
    recipe = Recipe.of("embedding", encoder={"pooling": "mean of tokens", **encoder})
    words = " ".join(command_of("counted", replace(entry, recipe=recipe)))
    assert words.partition(" --caption-level 20")[2] == said


@pytest.mark.parametrize(
    ("spec", "named"),
    [
        ("timm:counting", False),
        ("timm:vit_tiny@/models/counting", False),
        ("hf:someone/counting", False),
        ("hf:someone/other", True),
        ("timm:vit_tiny@/models/a b", True),
    ],
)
def test_a_name_is_said_where_the_spec_gives_another(
    tmp_path: Path, spec: str, named: bool
) -> None:
    embed(tmp_path, CountedDataset(), CountingEncoder())
    entry = Store(tmp_path).model("counted", "counting")
    words = command_of("counted", replace(entry, card=replace(entry.card, spec=spec)))
    assert ("--name" in words) is named
    assert spec in words


def test_a_model_of_the_hub_is_named_at_its_commit(tmp_path: Path) -> None:
    embed(tmp_path, CountedDataset(), CountingEncoder())
    entry = Store(tmp_path).model("counted", "counting")
    card = replace(entry.card, spec="hf:someone/counting", revision="c0ffee")
    words = command_of("counted", replace(entry, card=card))
    assert "hf:someone/counting@c0ffee" in words
    assert "--name" not in words


@pytest.mark.parametrize(
    ("spec", "precision", "said"),
    [
        ("hf:someone/counting", "float32", "fp32"),  # which may be stored in half precision
        ("hf:someone/counting", "bfloat16", "bf16"),
        ("hf:someone/counting", "bfloat16 autocast", None),
        ("timm:counting", "float32", None),
        ("timm:counting", "float16", "fp16"),
    ],
)
def test_a_precision_is_said_where_the_weights_do_not_give_it(
    tmp_path: Path, spec: str, precision: str, said: str | None
) -> None:
    embed(tmp_path, CountedDataset(), CountingEncoder())
    entry = Store(tmp_path).model("counted", "counting")
    recipe = Recipe.of("embedding", version=1, encoder={"precision": precision})
    words = command_of(
        "counted", replace(entry, card=replace(entry.card, spec=spec), recipe=recipe)
    )
    after = words[words.index("--precision") + 1] if "--precision" in words else None
    assert after == said


def test_vectors_made_elsewhere_name_a_file(tmp_path: Path) -> None:
    dataset = CountedDataset()
    add_dataset(tmp_path, dataset)
    import_features(
        tmp_path, dataset.card, Content([dataset.reality]), name="mine", modality="vision"
    )
    embed_world(tmp_path, dataset)
    assert made(tmp_path, "mine") == "import FILE --dataset counted --name mine --modality vision"
    np.save(tmp_path / "my features.npy", [[1.0, number] for number in range(20)])
    words = "--dataset counted --name theirs --modality vision"
    store = ["--store", str(tmp_path)]
    assert main(["import", str(tmp_path / "my features.npy"), *words.split(), *store]) == 0
    assert made(tmp_path, "theirs") == f"import my features.npy {words}"
    assert made(tmp_path, "reality") == "demo"


def test_an_embedding_takes_about_the_room_that_was_told(tmp_path):
    build(tmp_path, PaintedDataset(600), vision=SMALL["vision"][:1], language=(), reality=False)
    (entry,) = Store(tmp_path).models("cave")
    size = embedding_size(tmp_path, "cave", entry.card.name)
    assert room_for(entry.dims, 600) <= size <= room_for(entry.dims, 600) + (1 << 18)
