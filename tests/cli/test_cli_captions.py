"""`embed` at several levels, `summarize`, `captions` and `adapt` from end to end."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from safetensors.numpy import load
from tiny_models import make_language, make_vision

from core.cli import main
from core.recipe import Recipe
from core.store import Store, write_result
from core.store.schema import VERSIONS
from tests.cli.photos import paint_photos
from tests.encoders.test_chat import make_chat

N = 40


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with photographs of two captions each, a vision and two language models, and a store
    with all of it.
    """
    root = tmp_path_factory.mktemp("captions")
    paint_photos(root / "photos", N)
    rows = [
        {"image": f"{i}.png", "caption": text, "level": level}
        for i in range(N)
        for level, text in (
            ("short", f"thing {i}"),
            ("long", f"a thing of number {i} lies on {i * 7} stones"),
        )
    ]
    pd.DataFrame(rows).to_csv(root / "photos" / "captions.csv", index=False)
    small = {"img_size": 32, "patch_size": 8, "embed_dim": 16, "depth": 2, "num_heads": 2}
    make_vision(root / "tiny-vit", "vit_tiny_patch16_224", **small)
    make_language(root / "tiny-gpt2", "gpt2")
    make_language(root / "tiny-bloom", "bloom")
    run(root, f"dataset add photos --folder {root / 'photos'}")
    vit = f"timm:vit_tiny_patch16_224@{root / 'tiny-vit'}"
    run(root, f"embed --dataset photos --model {vit} --device cpu")
    specs = f"hf:{root / 'tiny-gpt2'} hf:{root / 'tiny-bloom'}"
    levels = "--caption-level short long mean"
    run(root, f"embed --dataset photos --model {specs} {levels} --device cpu")
    return root


def run(root: Path, words: str) -> None:
    assert main(f"{words} --store {root / 'store'}".split()) == 0


@pytest.fixture
def answer(world: Path, capsys: pytest.CaptureFixture[str]):
    def call(words: str) -> tuple[str, str]:
        run(world, words)
        return capsys.readouterr()

    return call


def test_one_embed_makes_an_embedding_per_level_of_one_model(world: Path, answer) -> None:
    rows = json.loads(answer("model list --json")[0])
    assert {(row["model"], row["level"]) for row in rows if "gpt2" in row["model"]} == {
        ("tiny-gpt2", "short"),
        ("tiny-gpt2~long", "long"),
        ("tiny-gpt2~mean", "mean"),
    }
    assert [entry.card.name for entry in Store(world / "store").models("photos")] == [
        "tiny-bloom",
        "tiny-gpt2",
        "tiny-vit",
    ]


def test_adapt_prints_every_figure_and_the_verdict_and_saves(world: Path, answer) -> None:
    spaces = "--x tiny-vit:1 --y tiny-gpt2~long --ref tiny-bloom"
    quick = "--k 2 --width 8 --seeds 2 --bootstrap 40 --device cpu"
    asked = f"adapt --dataset photos {spaces} {quick}"
    found = json.loads(answer(f"{asked} --json --save {world / 'a.safetensors'}")[0])
    rows = pd.DataFrame(found["rows"])
    gains = rows[rows["measure"] == "gain"].set_index("what")
    assert list(gains.index) == ["tiny-vit:1", "tiny-gpt2~long:1", "mean"]
    assert set(gains["holds"]) <= {"yes", "no", "undecided"}
    assert (gains["low"] <= gains["high"]).all()
    tensors = load((world / "a.safetensors").read_bytes())
    assert [tensors[f"weight_{number}"].shape[1] for number in (0, 1)] == [8, 8]
    assert set(rows["encoders"]) == {"tiny-vit:1 + tiny-gpt2~long:1"}
    assert set(rows["reference"]) == {"tiny-bloom:1", ""}
    assert found["findings"][0]["value"] == pytest.approx(gains.loc["mean", "value"], abs=1e-4)


def test_summaries_become_a_level_that_is_embedded(world: Path, answer) -> None:
    chat = make_chat(world / "tiny-chat")
    out, err = answer(f"summarize --dataset photos --model hf:{chat} --words 2 2 --device cpu")
    assert out == "2-by-tiny-chat\n"  # a number that is given twice is one level
    assert f"captions in 2 words: {N}/{N} (100%)" in err
    named = f"--model hf:{world / 'tiny-gpt2'} --caption-level 2-by-tiny-chat"
    out, _ = answer(f"embed --dataset photos {named} --device cpu")
    assert out == "tiny-gpt2~2-by-tiny-chat\n"
    out, err = answer("captions levels --dataset photos")
    assert "2-by-tiny-chat" in out
    assert "left out" not in err
    store = Store(world / "store")
    write_result(
        store.root,
        dataset=store.dataset("photos"),
        name="captions-2-by-tiny-chat",
        table=store.summary("photos", "2-by-tiny-chat"),
        recipe=Recipe.of("captions", version=VERSIONS["captions"], words=2),
    )
    out, err = answer("captions levels --dataset photos")
    assert "2-by-tiny-chat" not in out
    assert "tiny-gpt2~2-by-tiny-chat is left out: the captions of level" in err


def test_the_dashboard_starts_without_the_libraries_of_other_commands() -> None:
    code = (
        "import sys; from core.cli import make_parser; make_parser('app');"
        " print({'torch', 'pandas', 'scipy'} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[2],
    )
    assert done.stdout == "set()\n"
