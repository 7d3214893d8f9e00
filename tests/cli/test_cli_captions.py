"""`embed` at several levels, `summarize`, `captions` and `adapt` from end to end."""

from __future__ import annotations

import json
import os
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tiny_models import make_language, make_vision

from core.cli import main
from core.questions.adapters.maps.files import load
from core.recipe import Recipe
from core.store import Embedding, Store, write_embedding, write_result
from core.store.versions import VERSIONS
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
    make_vision(
        root / "tiny-vit",
        "vit_tiny_patch16_224",
        img_size=32,
        patch_size=8,
        embed_dim=16,
        depth=2,
        num_heads=2,
    )
    make_language(root / "tiny-gpt2", "gpt2")
    make_language(root / "tiny-bloom", "bloom")
    run(root, "dataset", "add", "photos", "--folder", str(root / "photos"))
    run(
        root,
        "embed",
        "--dataset",
        "photos",
        "--model",
        f"timm:vit_tiny_patch16_224@{root / 'tiny-vit'}",
        "--device",
        "cpu",
    )
    specs = [f"hf:{root / name}" for name in ("tiny-gpt2", "tiny-bloom")]
    levels = ["short", "long", "mean"]
    run(
        root,
        "embed",
        "--dataset",
        "photos",
        "--model",
        *specs,
        "--caption-level",
        *levels,
        "--device",
        "cpu",
    )
    return root


def run(root: Path, *words: str) -> None:
    assert main([*words, "--store", str(root / "store")]) == 0


@pytest.fixture
def answer(world: Path, capsys: pytest.CaptureFixture[str]):
    def call(*words: str) -> tuple[str, str]:
        run(world, *words)
        return capsys.readouterr()

    return call


def test_one_embed_makes_an_embedding_per_level_of_one_model(world: Path, answer) -> None:
    rows = json.loads(answer("model", "list", "--json")[0])
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


def test_captions_prints_levels_with_the_trend(answer) -> None:
    rows = json.loads(
        answer(
            "captions", "alignment", "--dataset", "photos", "--k", "3", "--by", "model", "--json"
        )[0]
    )
    assert [(row["model_y"], row["level"]) for row in rows] == [
        ("tiny-vit", level) for level in ("short", "long", "mean")
    ]
    assert {row["models"] for row in rows} == {2}
    assert len({row["p"] for row in rows}) == 1
    assert {row["families"] for row in rows} == {2}  # GPT-2 and BLOOM
    assert 0 < rows[0]["p"] <= 1
    grouped = json.loads(
        answer("captions", "alignment", "--dataset", "photos", "--k", "3", "--json")[0]
    )
    assert {row["model_y"] for row in grouped} == {"unknown"}  # the objective
    assert [row["mean"] for row in grouped] == pytest.approx([row["mean"] for row in rows])


def test_models_of_one_family_count_once_in_the_trend(world: Path, tmp_path: Path, capsys) -> None:
    store = Store(shutil.copytree(world / "store", tmp_path / "store"))
    for entry in [entry for entry in store.embeddings("photos") if "gpt2" in entry.card.name]:
        card = replace(entry.card, name=f"again-{entry.card.name}", weights="others")
        layers = [
            np.cbrt(store.space("photos", entry.card.name, layer))
            for layer in range(len(entry.dims))
        ]
        write_embedding(
            store.root,
            Embedding(
                dataset=store.dataset("photos"),
                card=card,
                level=entry.level,
                layers=layers,
                bits=None,
                bytes=None,
                recipe=Recipe.of("embedding", version=VERSIONS["embedding"], model=card.name),
                device="cpu",
                seconds=0.1,
            ),
        )
    assert (
        main(
            [
                "captions",
                "alignment",
                "--dataset",
                "photos",
                "--k",
                "3",
                "--json",
                "--store",
                str(store.root),
            ]
        )
        == 0
    )
    assert {(row["models"], row["families"]) for row in json.loads(capsys.readouterr().out)} == {
        (3, 2)
    }


def test_captions_prints_what_levels_are_and_refuses_what_is_known_of_the_cave_alone(
    world: Path, answer, capsys
) -> None:
    rows = json.loads(answer("captions", "levels", "--dataset", "photos", "--json")[0])
    assert [(row["level"], row["models"], row["facts"]) for row in rows] == [
        ("short", 2, None),
        ("long", 2, None),
        ("mean", 2, None),
    ]
    store = str(world / "store")
    assert main(["captions", "facts", "--dataset", "photos", "--store", store]) == 2
    assert "known only for the Cave" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            "--x nonsense",
            (
                "no language model at two or more caption levels named 'nonsense'; there are:"
                " tiny-bloom, tiny-gpt2"
            ),
        ),
        ("--x tiny-vit", "caption levels named 'tiny-vit'; did you mean tiny-"),
        ("--y tiny-gpt2", "no vision model named 'tiny-gpt2'; did you mean tiny-vit?"),
        ("--metric ckaa", "no metric named 'ckaa'; did you mean cka"),
        ("--layers all", "layers are chosen by best, last"),
    ],
)
def test_captions_refuses_what_it_cannot_find(
    world: Path, capsys, words: str, message: str
) -> None:
    assert (
        main(
            [
                *("captions", "alignment", "--dataset", "photos"),
                *words.split(),
                *("--store", str(world / "store")),
            ]
        )
        == 2
    )
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "option"),
    [
        ("facts --metric cka", "--metric"),
        ("facts --set kernel=rbf", "--set"),
        ("facts --layers last", "--layers"),
        ("levels --x tiny-gpt2", "--x"),
        ("levels --k 3", "--k"),
    ],
)
def test_captions_has_no_option_that_it_would_ignore(capsys, words: str, option: str) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["captions", *words.split(), "--dataset", "photos"])
    assert f"unrecognized arguments: {option}" in capsys.readouterr().err


def test_adapt_prints_every_figure_and_the_verdict_and_saves(world: Path, answer) -> None:
    asked = [
        "adapt",
        "--dataset",
        "photos",
        "--x",
        "tiny-vit:1",
        "--y",
        "tiny-gpt2~long",
        "--ref",
        "tiny-bloom",
        "--k",
        "2",
        "--width",
        "8",
        "--seeds",
        "2",
        "--bootstrap",
        "40",
        "--device",
        "cpu",
    ]
    rows = pd.DataFrame(
        json.loads(answer(*asked, "--json", "--save", str(world / "a.safetensors"))[0])
    )
    gains = rows[rows["measure"] == "gain"].set_index("what")
    assert list(gains.index) == ["tiny-vit:1", "tiny-gpt2~long:1", "mean"]
    assert set(gains["holds"]) <= {"yes", "no", "undecided"}
    assert (gains["low"] <= gains["high"]).all()
    adapters, recipe = load((world / "a.safetensors").read_bytes())
    assert recipe.choices["spaces"] == ["tiny-vit:1", "tiny-gpt2~long:1"]
    assert adapters.width == 8
    assert set(rows["encoders"]) == {"tiny-vit:1 + tiny-gpt2~long:1"}
    assert set(rows["reference"]) == {"tiny-bloom:1", ""}
    assert "it than the best encoder alone (" in answer(*asked)[1]
    curve_words = ["adapters", "curve", *asked[1:], "--pairs", "16", "8", "16", "--json"]
    curve = json.loads(answer(*curve_words)[0])
    assert {row["pairs"] for row in curve} == {8, 16}
    assert len(curve) == 2 * len(rows)


def test_adapters_whose_saving_is_stopped_leave_the_earlier_file(
    world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(new: Path, target: Path) -> None:
        if target == file:
            raise KeyboardInterrupt
        replace_really(new, target)

    file, replace_really = world / "earlier.safetensors", os.replace
    file.write_bytes(b"earlier")
    monkeypatch.setattr("os.replace", stop)
    named = ["--x", "tiny-vit:1", "--y", "tiny-gpt2", "--ref", "tiny-bloom"]
    quick = ["--k", "2", "--width", "8", "--seeds", "1", "--bootstrap", "40"]
    words = ["adapt", "--dataset", "photos", *named, *quick, "--save", str(file)]
    assert main([*words, "--store", str(world / "store")]) == 130
    assert file.read_bytes() == b"earlier"
    assert list(world.glob(".earlier*")) == []


def test_adapt_takes_several_pairs_and_references(world: Path, answer, capsys) -> None:
    def words(x: str, y: str, reference: str, *more: str) -> list[str]:
        named = ["--x", *x.split(), "--y", *y.split(), "--ref", *reference.split()]
        quick = ["--k", "2", "--width", "8", "--seeds", "1"]
        draws = [] if "--bootstrap" in more else ["--bootstrap", "40"]
        return ["adapt", "--dataset", "photos", *named, *quick, *draws, *more]

    x, y, reference = "tiny-vit:0 tiny-vit:1", "tiny-gpt2~long tiny-gpt2", "tiny-bloom"
    asked = words(x, y, "tiny-bloom tiny-bloom~long")
    rows = pd.DataFrame(json.loads(answer(*asked, "--json")[0]))
    gains = rows.query("measure == 'gain' and what == 'mean'")
    assert gains[["encoders", "reference"]].to_numpy().tolist() == [
        [encoders, reference]
        for encoders in ("tiny-vit:0 + tiny-gpt2~long:1", "tiny-vit:1 + tiny-gpt2:1")
        for reference in ("tiny-bloom:1", "tiny-bloom~long:1")
    ]
    lines = [line for line in answer(*asked)[1].splitlines() if "The common space by" in line]
    assert [line.partition(": The common space by")[0] for line in lines] == gains[
        "encoders"
    ].tolist()
    assert all("not other trainings, since there was only one" in line for line in lines)
    twice = ("tiny-vit:1 tiny-gpt2:1", "tiny-gpt2 tiny-vit:1", reference)
    one, nowhere = ("tiny-vit:0", "tiny-gpt2", reference), str(world / "no" / "a")
    for wrong, sentence in (
        (words(x, "tiny-gpt2", reference), "the i-th --x goes with the i-th --y; got 2 and 1"),
        (
            words(x, y, reference, "--save", "a"),
            "--save writes the adapters of one --x and one --y; got 2 of each",
        ),
        (
            words(x, y, "tiny-vit:0"),
            "the reference has no part in the training, but tiny-vit has an encoder's weights",
        ),
        (
            words(x, "tiny-gpt2 tiny-gpt2", "tiny-gpt2~long"),
            "but tiny-gpt2~long has an encoder's weights",
        ),
        (words(*twice), "tiny-gpt2:1 + tiny-vit:1 would be trained twice"),
        (words(x, y, reference, "--pairs", "800"), "got 800"),
        (words(x, y, reference, "--metric", "ckaa"), "no metric named 'ckaa'"),
        (
            words(*one, "--save", nowhere),
            "cannot be written (No such file or directory); name another file with --save",
        ),
    ):
        assert main([*wrong, "--store", str(world / "store")]) == 2
        assert sentence in capsys.readouterr().err
    for words_of_one, sentence in (
        (("--temperature", "nan"), "; got 'nan'"),
        (("--bootstrap", "1"), "expected a whole number, 40 to 100,000; got '1'"),
    ):
        with pytest.raises(SystemExit, match="2"):
            main(words(x, y, reference, *words_of_one))
        assert sentence in capsys.readouterr().err


def test_summaries_become_a_level_that_is_embedded(world: Path, answer) -> None:
    chat = make_chat(world / "tiny-chat")
    out, err = answer(
        "summarize",
        "--dataset",
        "photos",
        "--model",
        f"hf:{chat}",
        "--words",
        "2",
        "2",
        "--device",
        "cpu",
    )
    assert out == "2-by-tiny-chat\n"  # a number that is given twice is one level
    assert f"captions in 2 words: {N}/{N} (100%)" in err
    gpt2 = f"hf:{world / 'tiny-gpt2'}"
    out, _ = answer(
        "embed",
        "--dataset",
        "photos",
        "--model",
        gpt2,
        "--caption-level",
        "2-by-tiny-chat",
        "--device",
        "cpu",
    )
    assert out == "tiny-gpt2~2-by-tiny-chat\n"
    out, err = answer("captions", "levels", "--dataset", "photos")
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
    out, err = answer("captions", "levels", "--dataset", "photos")
    assert "2-by-tiny-chat" not in out
    assert (
        "tiny-gpt2~2-by-tiny-chat is left out: the captions of level '2-by-tiny-chat' were written"
        " again since" in err
    )


def test_commands_are_known_without_their_libraries() -> None:
    import subprocess

    code = (
        "import sys; from core.cli import make_parser; make_parser(); print({'torch', 'pandas',"
        " 'scipy'} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[2],
    )
    assert done.stdout == "set()\n"


def test_summaries_of_no_words_are_refused(capsys) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["summarize", "--dataset", "photos", "--model", "hf:gpt2", "--words", "5", "0"])
    assert (
        "argument --words: expected a whole number, 1 to 1,000; got '0'" in capsys.readouterr().err
    )
