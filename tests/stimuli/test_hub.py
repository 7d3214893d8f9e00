"""Hub data sets: opened here from local folders in the same form, and refused with the cache's name
where there is no network.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import datasets
import httpx2
import numpy as np
import pytest
from huggingface_hub import close_session, constants
from PIL import Image

from core.errors import InputError, OfflineError, StimuliError
from core.stimuli import hub
from core.stimuli.addition import Addition, open_addition
from core.stimuli.catalog import open_dataset
from core.stimuli.dataset import Dataset
from core.stimuli.hub import PRESETS, open_hub
from tests.hub.online import turn_to
from tests.hub.server import LocalHub

IMAGES = [Image.fromarray(np.full((6, 8, 3), 30 * shade, dtype=np.uint8)) for shade in range(5)]


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    datasets.disable_progress_bars()
    yield
    datasets.enable_progress_bars()


@pytest.fixture(autouse=True)
def _in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read in this process, which is quicker, and sees what a test has changed."""
    monkeypatch.setattr(hub, "confine", lambda work, *given, **_: work(*given))


def publish(
    folder: Path,
    texts: list[object],
    *,
    images: list[object] | None = None,
    image: str = "image",
    text: str = "text",
) -> str:
    """Save a split as a hub repository holds it: data/train-….parquet."""
    given = IMAGES[: len(texts)] if images is None else images
    table = datasets.Dataset.from_dict({image: given, text: texts})
    table = table.cast_column(image, datasets.Image()) if images is None else table
    (folder / "data").mkdir(parents=True, exist_ok=True)
    table.to_parquet(folder / "data" / "train-00000-of-00001.parquet")
    return str(folder)


def test_one_text_per_image_is_level_0(tmp_path: Path) -> None:
    dataset = open_hub(publish(tmp_path / "repo", ["one", "two", "one"]), name="h")
    assert dataset.card.size == 3
    assert dataset.card.levels == ("0",)
    assert dataset.stimuli["stimulus"].tolist() == ["0", "1", "2"]
    assert dataset.captions.values.tolist() == [[0, "0", "one"], [1, "0", "two"], [2, "0", "one"]]
    assert dataset.notes == ("captions that two or more stimuli share: 1",)
    assert dataset.reality is None
    for index in range(3):
        assert np.array_equal(dataset.image(index), IMAGES[index])


def test_lists_of_texts_are_levels_and_empty_ones_are_not_there(tmp_path: Path) -> None:
    dataset = open_hub(publish(tmp_path / "repo", [["a", "b"], ["c"], ["d", "", "e"]]), name="h")
    assert dataset.card.levels == ("0", "1", "2")
    assert dataset.captions.values.tolist() == [
        [0, "0", "a"],
        [0, "1", "b"],
        [1, "0", "c"],
        [2, "0", "d"],
        [2, "2", "e"],
    ]


def test_images_alone_have_no_captions(tmp_path: Path) -> None:
    addition = Addition("h", hub=publish(tmp_path / "repo", ["a", ""]), images_only=True)
    dataset = open_addition(addition)
    assert (dataset.card.size, dataset.card.levels, len(dataset.captions)) == (2, (), 0)
    assert open_dataset(dataset.card).card == dataset.card
    with pytest.raises(InputError, match="leave --text-column out, or --images-only"):
        open_addition(replace(addition, text_column="text"))


def test_texts_alone_have_no_images(tmp_path: Path) -> None:
    folder = publish(tmp_path / "repo", [["a", "b"], ["c"]], images=[1, 2], image="number")
    addition = Addition("h", hub=folder, texts_only=True)
    dataset = open_addition(addition)
    assert (dataset.card.size, dataset.card.levels) == (2, ("0", "1"))
    assert not dataset.card.has_images
    assert open_dataset(dataset.card).card == dataset.card
    with pytest.raises(StimuliError, match="'h' has texts and no images"):
        dataset.image(0)
    for more, flag in (({"image_column": "number"}, "image-column"), ({"images_only": True}, "im")):
        with pytest.raises(InputError, match=f"--texts-only takes no images; leave --{flag}"):
            open_addition(replace(addition, **more))


def test_changed_data_is_not_the_same_dataset(tmp_path: Path) -> None:
    card = open_hub(publish(tmp_path / "repo", ["x", "y"]), name="h").card
    publish(tmp_path / "repo", ["x", "another text"])
    with pytest.raises(StimuliError, match=r"dataset 'h' has changed: .* under a new name"):
        open_dataset(card)


@pytest.mark.parametrize(
    ("texts", "images", "problem"),
    [
        (["x", ""], None, "row 2: the caption of 1 is missing"),
        (["x", None], None, "row 2: the caption of 1 is missing"),
        (["x", " "], None, "row 2: the caption of 1 is empty"),
        ([["x"], []], None, "row 2: the caption of 1 is missing"),
        ([["x"], ["", "y"]], None, "row 2: the caption of 1 is empty"),
        (
            ["x", "y"],
            [{"bytes": b"no image", "path": None}],
            "row 2: 1 is not an image; expected one of",
        ),
        (
            ["x", "y"],
            [{"bytes": None, "path": "http://example.org/a.png"}],
            "row 2: image 1 is not in the data set but at 'http",
        ),
        (["x", "y"], [{"bytes": None, "path": None}], "row 2: image 1 is not in the data set; "),
    ],
)
def test_broken_rows_are_named_and_can_be_left_out(
    tmp_path: Path, texts: list[object], images: list[object] | None, problem: str
) -> None:
    if images:
        IMAGES[0].save(tmp_path / "good.png")
        images = [{"bytes": (tmp_path / "good.png").read_bytes(), "path": None}, *images]
    folder = publish(tmp_path / "repo", texts, images=images)
    with pytest.raises(StimuliError, match=rf"repo has 1 problem .*:\n  {problem}"):
        open_hub(folder, name="h")
    dataset = open_hub(folder, name="h", skip_broken=True)
    assert dataset.stimuli["stimulus"].tolist() == ["0"]
    assert dataset.skipped[0].startswith(problem)
    assert open_dataset(dataset.card).card == dataset.card


def naming(folder: Path, path: Path | str) -> str:
    """Save a split of one row whose image is a file that it names."""
    images = [{"bytes": None, "path": str(path)}]
    table = datasets.Dataset.from_dict({"image": images, "text": ["x"]})
    (folder / "data").mkdir(parents=True, exist_ok=True)
    table.to_parquet(folder / "data" / "train-00000-of-00001.parquet")
    return str(folder)


def said_of_row(folder: str) -> str:
    with pytest.raises(StimuliError) as refused:
        open_hub(folder, name="h")
    return str(refused.value)


def test_a_file_outside_the_data_set_is_not_read(tmp_path: Path) -> None:
    IMAGES[0].save(tmp_path / "secret.png")
    repo = tmp_path / "repo"
    repo.mkdir()
    (repo / "link.png").symlink_to(tmp_path / "secret.png")
    outside = (tmp_path / "secret.png", repo / "link.png", f"{repo}/../secret.png", "/dev/zero")
    problem = (
        "row 1: image 0 is not in the data set but at '/.*; only images that the data set itself"
    )
    for path in outside:
        said = said_of_row(naming(repo, path))
        assert re.search(rf"repo has 1 problem .*:\n  {problem}", said)


def test_a_file_of_the_data_set_is_read_within_limits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo = tmp_path / "repo"
    repo.mkdir()
    IMAGES[3].save(repo / "own.png")
    (repo / "link.png").symlink_to("own.png")
    for path in (repo / "own.png", repo / "link.png"):
        dataset = open_hub(naming(repo, path), name="h")
        assert np.array_equal(dataset.image(0), IMAGES[3])
    said = said_of_row(naming(repo, repo))
    assert re.search("row 1: .*repo is a folder; expected an image, as a regular file", said)
    monkeypatch.setattr("core.stimuli.images.IMAGE", 10)
    said = said_of_row(naming(repo, repo / "own.png"))
    assert re.search("row 1: .*own.png has .*; expected an image, of 10", said)


def make_image_folder(folder: Path) -> Path:
    """Save two images as files, next to a table that names them."""
    (folder / "train").mkdir(parents=True)
    for number in (1, 2):
        IMAGES[number].save(folder / "train" / f"{number}.png")
    table = datasets.Dataset.from_dict({"file_name": ["1.png", "2.png"], "text": ["one", "two"]})
    table.to_parquet(folder / "train" / "metadata.parquet")
    return folder


def holds_image_folder(dataset: Dataset) -> bool:
    """Return whether it holds these images, now and when it is opened again."""
    return all(
        each.captions["text"].tolist() == ["one", "two"]
        and all(np.array_equal(each.image(index), IMAGES[index + 1]) for index in range(2))
        for each in (dataset, open_dataset(dataset.card))
    )


def test_a_local_folder_of_image_files_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make_image_folder(tmp_path / "real" / "repo")
    assert holds_image_folder(open_hub(str(folder), name="h"))
    (tmp_path / "linked").symlink_to(tmp_path / "real")
    assert holds_image_folder(open_hub(str(tmp_path / "linked" / "repo"), name="h"))
    monkeypatch.chdir(tmp_path / "real")
    assert holds_image_folder(open_hub("repo", name="h"))


@pytest.fixture
def online(hub: LocalHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LocalHub]:
    """Let `datasets` ask a hub of this machine, with an empty cache."""
    turn_to(hub, tmp_path / "hub", monkeypatch)
    monkeypatch.setattr(datasets.config, "HF_ENDPOINT", hub.address)
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", False)
    yield hub
    close_session()


def test_image_files_of_the_hub_are_read_from_its_cache(online: LocalHub, tmp_path: Path) -> None:
    commit = online.add_dataset("someone/photos", make_image_folder(tmp_path / "hosted"))
    assert holds_image_folder(open_hub("someone/photos", name="h"))
    cached = tmp_path / "hub" / "datasets--someone--photos" / "snapshots" / commit
    assert (cached / "train" / "1.png").is_symlink()
    assert holds_image_folder(open_hub(str(cached), name="h"))
    secret = make_image_folder(tmp_path / "secret") / "train" / "1.png"
    online.add_dataset("someone/evil", Path(naming(tmp_path / "evil", secret)))
    path = cached / "train" / "1.png"
    online.add_dataset("someone/thief", Path(naming(tmp_path / "thief", path)))
    for name in ("evil", "thief"):
        with pytest.raises(StimuliError, match="image 0 is not in the data set but at '/"):
            open_hub(f"someone/{name}", name="h")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"text_column": "caption"},
            r"the data set has no column 'caption'; it has 'image', 'text'; did you mean 'text'\?",
        ),
        (
            {"image_column": "imag"},
            r"has no column 'imag'; it has 'image', 'text'; did you mean 'image'\?",
        ),
        ({"image_column": "number"}, r"has no column 'number'; it has 'image', 'text'"),
        (
            {"split": "test"},
            (
                r'cannot open .*repo as a hub data set: Unknown split "test".*; check the id, the'
                r" revision .--revision. and the split .--split.$"
            ),
        ),
        (
            {"revision": "main"},
            "is a local folder and has no revision 'main'; leave the revision out",
        ),
        ({"name": "no name"}, "'no name' cannot name a dataset"),
    ],
)
def test_wrong_choices_are_named(tmp_path: Path, options: dict[str, str], message: str) -> None:
    with pytest.raises(StimuliError, match=message):
        open_hub(publish(tmp_path / "repo", ["x"]), **({"name": "h"} | options))


def test_no_code_of_a_repository_runs(tmp_path: Path) -> None:
    folder = tmp_path / "repo"
    publish(folder, ["x"])
    (folder / "repo.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    with pytest.raises(
        StimuliError,
        match=r"cannot open .*: Dataset scripts are no longer supported, but found repo\.py; check",
    ):
        open_hub(str(folder), name="h")
    assert not (tmp_path / "ran").exists()


def test_a_preset_names_repository_and_revision(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = publish(tmp_path / "repo", [["a", "b"], ["c", "d"]])
    load = datasets.load_dataset_builder
    asked: list[tuple[object, ...]] = []

    def load_published(path: str, *, revision: str) -> datasets.DatasetBuilder:
        asked.append((path, revision))
        return load(folder)

    monkeypatch.setattr(datasets, "load_dataset_builder", load_published)
    dataset = open_hub("wit_1024", name="wit")
    assert dataset.card.levels == ("0", "1")
    assert open_dataset(dataset.card).card == dataset.card
    assert asked == [("minhuh/prh", "wit_1024")] * 2
    assert set(PRESETS) == {"wit_1024", "flickr30k"}


def test_without_the_hub_the_cache_and_its_variables_are_named(tmp_path: Path) -> None:
    with pytest.raises(OfflineError, match="the hub may not be asked") as caught:
        open_hub("wit_1024", name="wit")
    for part in (
        "minhuh/prh",
        str(tmp_path / "cache"),
        "HF_HOME",
        "HF_DATASETS_CACHE",
        "HF_HUB_OFFLINE",
    ):
        assert part in str(caught.value)


@pytest.mark.parametrize(
    ("cause", "expected"),
    [
        (ConnectionError, OfflineError),
        (TimeoutError, OfflineError),
        (httpx2.ConnectError, OfflineError),
        (ValueError, StimuliError),
    ],
)
def test_a_network_that_fails_midway_is_told_from_bad_data(
    monkeypatch: pytest.MonkeyPatch, cause: type[Exception], expected: type[Exception]
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("download failed") from cause("no route")

    monkeypatch.setattr(datasets, "load_dataset_builder", fail)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr("core.hub.fetch.commit_of", lambda _: None)
    with pytest.raises(expected, match=r"download failed|the hub .* cannot be reached"):
        open_hub("a/b", name="h")
