"""The command line from end to end on a small folder of images: results on stdout, the rest on
stderr, 2 for a user's mistake.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tiny_models import make_language, make_vision

from core.cli import main
from core.questions.alignment.question import FITTED
from tests.cli.photos import paint_photos

N = 12


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a dataset, two models, and a store in which both are embedded."""
    root = tmp_path_factory.mktemp("cli")
    paint_photos(root / "photos", N)
    lines = [f"{i}.png,thing number {i} is here,0,sea" for i in range(N)]
    table = "\n".join(["image,caption,caption_index,scene", *lines])
    (root / "photos" / "captions.csv").write_text(table)
    small = {"img_size": 32, "patch_size": 8, "embed_dim": 16, "depth": 2, "num_heads": 2}
    make_vision(root / "tiny-vit", "vit_tiny_patch16_224", **small)
    make_language(root / "tiny-gpt2", "gpt2")
    store = f"--store {root / 'store'}"
    assert do(f"dataset add photos --folder {root / 'photos'} {store}") == 0
    specs = f"timm:vit_tiny_patch16_224@{root / 'tiny-vit'} hf:{root / 'tiny-gpt2'}"
    assert do(f"embed --dataset photos --model {specs} --device cpu {store}") == 0
    return root


def do(words: str) -> int:
    return main(words.split())


@pytest.fixture
def run(world: Path, capsys: pytest.CaptureFixture[str]):
    """Run one command on that store and return its exit code, stdout and stderr."""

    def call(words: str) -> tuple[int, str, str]:
        code = do(f"{words} --store {world / 'store'}")
        out, err = capsys.readouterr()
        return code, out, err

    return call


def test_listings_as_json_and_as_tables(run) -> None:
    _, out, _ = run("dataset list --json")
    assert [
        (row["name"], row["stimuli"], row["levels"], row["models"]) for row in json.loads(out)
    ] == [("photos", N, "0", 2)]
    _, out, _ = run("model list --json")
    assert {(row["model"], row["modality"], row["layers"]) for row in json.loads(out)} == {
        ("tiny-vit", "vision", 2),
        ("tiny-gpt2", "language", 3),
    }
    code, out, err = run("model list")
    assert code == 0
    assert "tiny-gpt2" in out
    assert not err


def test_align_prints_one_row_per_pair_with_chance(run) -> None:
    code, out, _ = run("align --dataset photos --k 3 --json")
    (row,) = json.loads(out)["rows"]
    assert code == 0
    named = "model_x model_y layer_x layer_y score chance n k axis panel"
    assert list(row)[: 11 + len(FITTED)] == [*named.split(), *FITTED, "reason"]
    assert (row["model_x"], row["model_y"], row["n"], row["k"]) == ("tiny-gpt2", "tiny-vit", N, 3)
    assert row["chance"] == pytest.approx(3 / 11)
    assert 0 <= row["score"] <= 1


def test_embedding_again_does_nothing(run, world: Path) -> None:
    before = {
        path: path.stat().st_mtime_ns for path in (world / "store" / "embeddings").rglob("*.duckdb")
    }
    code, out, _ = run(f"embed --dataset photos --model hf:{world / 'tiny-gpt2'} --device cpu")
    assert (code, out) == (0, "tiny-gpt2\n")
    assert {path: path.stat().st_mtime_ns for path in before} == before


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("align --dataset photo", "no dataset named 'photo'; did you mean photos?"),
        ("align --dataset photos --x tiny-gpt", "named 'tiny-gpt'; did you mean tiny-gpt2"),
        (f"align --dataset photos --k {N}", "k must"),
        (
            "embed --dataset photos --model a b --name c",
            "--name names one model, but 2 were given",
        ),
        (
            "embed --dataset photos --model hf:x --device tpu",
            "device 'tpu' is not on this machine",
        ),
        (
            "import nowhere.npy --dataset photos --name n --modality vision",
            "there is no file nowhere.npy; check its path",
        ),
        ("dataset add x --folder . --revision r", "--revision belongs to --hub"),
    ],
)
def test_mistakes_are_one_sentence_and_exit_code_two(run, words: str, message: str) -> None:
    code, out, err = run(words)
    assert code == 2
    assert not out
    assert message in err
    assert err.startswith("platoscope: ")
    assert "Traceback" not in err


def test_one_model_that_fails_does_not_stop_the_others(run, world: Path) -> None:
    specs = f"hf:/nowhere hf:{world / 'tiny-gpt2'}"
    code, out, err = run(f"embed --dataset photos --model {specs} --device cpu")
    assert code == 2
    assert out == "tiny-gpt2\n"
    assert "/nowhere" in err


def test_a_model_without_neighbors_does_not_stop_the_others(
    world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store, features = f"--store {tmp_path}", np.random.default_rng(1).normal(size=(N, 5))
    assert do(f"dataset add photos --folder {world / 'photos'} {store}") == 0
    for name, modality in (("words", "language"), ("eyes", "vision"), ("zeros", "vision")):
        np.save(tmp_path / "f.npy", features * (name != "zeros"))
        named = f"--dataset photos --name {name} --modality {modality}"
        assert do(f"import {tmp_path / 'f.npy'} {named} {store}") == 0
    capsys.readouterr()
    assert do(f"align --dataset photos --k 2 --json {store}") == 0
    out, said = capsys.readouterr()
    assert [row["model_y"] for row in json.loads(out)["rows"]] == ["eyes"]
    assert "Left out: zeros: all" in said
    assert do(f"align --dataset photos --k 2 --json --y eyes zeros {store}") == 0
    eyes, zeros = json.loads(capsys.readouterr().out)["rows"]
    assert (eyes["model_y"], eyes["reason"]) == ("eyes", "")
    assert (zeros["model_y"], zeros["score"]) == ("zeros", None)
    assert "model zeros has no layer with neighbors" in zeros["reason"]
    assert do(f"align --dataset photos --k 2 --y zeros {store}") == 2


def test_another_folder_under_a_datasets_name_says_which_models_it_leaves_out(
    world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(world / "photos", tmp_path / "less")
    table = tmp_path / "less" / "captions.csv"
    table.write_text("".join(table.read_text().splitlines(keepends=True)[:6]))
    store = shutil.copytree(world / "store", tmp_path / "store")
    for folder in (tmp_path / "less", world / "photos"):
        assert do(f"dataset add photos --folder {folder} --store {store}") == 0
    err = capsys.readouterr().err
    assert f"replaced another revision of 'photos' with {N} stimuli; its " in err
    assert do(f"align --dataset photos --k 2 --store {store}") == 0


def test_the_module_is_the_command(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "core", "align", "--store", str(tmp_path)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == "platoscope: no dataset named 'cave'; there are none yet\n"


def test_align_takes_any_metric_layers_and_calibration(run) -> None:
    words = "align --dataset photos --y tiny-vit --json"
    _, out, _ = run(f"{words} --metric cka --layers all")
    assert len(json.loads(out)["rows"]) == 6  # three layers by two
    _, out, _ = run(f"{words} --metric cknna --k 4 --set variant=released --layers last")
    assert json.loads(out)["rows"][0]["variant"] == "released"
    _, out, err = run(f"{words} --k 3 --null 39 --bootstrap 50 --seed 1")
    row = json.loads(out)["rows"][0]
    assert 1 / 40 <= row["p"] <= row["p_adjusted"] <= 1
    assert row["low"] <= row["score"] <= row["high"]
    assert 0 <= row["calibrated"] <= 1
    assert "permutations" in err


def test_score_compares_two_feature_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    x = np.random.default_rng(0).normal(size=(20, 2, 5))
    np.save(tmp_path / "x.npy", x)
    np.save(
        tmp_path / "y.npy", x[:, 1] @ np.linalg.qr(np.random.default_rng(1).normal(size=(5, 5)))[0]
    )
    assert (
        main(
            [
                "score",
                str(tmp_path / "x.npy"),
                str(tmp_path / "y.npy"),
                "--metric",
                "unbiased_cka",
                "--json",
            ]
        )
        == 0
    )
    first, second = json.loads(capsys.readouterr().out)["rows"]
    assert second["score"] == pytest.approx(1)
    assert first["score"] < 0.9
    np.save(tmp_path / "z.npy", x[:7])
    assert main(["score", str(tmp_path / "x.npy"), str(tmp_path / "z.npy")]) == 2
    assert "got 20 and 7 rows" in capsys.readouterr().err
