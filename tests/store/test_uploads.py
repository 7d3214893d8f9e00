"""Uploads: kept whole or not at all, once each, and only where they belong, whatever a zip says."""

from __future__ import annotations

import io
import os
import stat
import time
import zipfile
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from store_fakes import CountedDataset

from core.errors import InputError, StimuliError
from core.stimuli.dataset import DatasetCard
from core.store import Store, add_dataset
from core.store.uploads import (
    ABANDONED,
    Limits,
    find_upload,
    keep_dataset,
    keep_file,
    uploads_folder,
)

TABLE = b"image,caption\na.png,one\nb.png,two\n"


@dataclass
class FromFolder(CountedDataset):
    """Stimuli that say that they are read from a folder."""

    folder: str = ""

    @property
    def card(self) -> DatasetCard:
        return replace(super().card, source={"kind": "folder", "folder": self.folder})


def zipped(**entries: bytes) -> bytes:
    return zip_of([(zipfile.ZipInfo(name), data) for name, data in entries.items()])


def zip_of(entries: list[tuple[zipfile.ZipInfo, bytes]]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for info, data in entries:
            archive.writestr(info, data)
    return file.getvalue()


def files_in(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def age(path: Path) -> None:
    then = time.time() - ABANDONED - 1
    os.utime(path, (then, then))


def test_a_zip_becomes_the_folder_that_it_holds(tmp_path: Path) -> None:
    inside = {"captions.csv": TABLE, "images/a.png": b"A", "images/b.png": b"B"}
    flat = keep_dataset(tmp_path, [("My photos.zip", zipped(**inside))])
    assert (flat.name, files_in(flat)) == ("My-photos", inside)
    litter = {"__MACOSX/._a": b"x", "birds/.DS_Store": b"x", "birds/sub/": b""}
    wrapped = {f"birds/{name}": data for name, data in inside.items()}
    data = zipped(**wrapped, **litter)
    folder = keep_dataset(tmp_path, [("photos.zip", data)])
    assert (folder.name, files_in(folder)) == ("birds", inside)
    assert folder.is_relative_to(uploads_folder(tmp_path))


def test_a_table_and_images_lie_beside_each_other(tmp_path: Path) -> None:
    files = [("b.png", b"B"), ("captions.csv", TABLE), ("sub/a.png", b"A")]
    folder = keep_dataset(tmp_path, files)
    assert folder.name == "captions"
    assert files_in(folder) == {"b.png": b"B", "captions.csv": TABLE, "sub/a.png": b"A"}


def test_a_dataset_of_an_upload_moves_with_its_store(tmp_path: Path) -> None:
    root, moved = tmp_path / "store", tmp_path / "moved"
    folder = keep_file(root, "a.png", b"a").parent
    dataset = FromFolder(folder=str(folder))
    add_dataset(root, dataset)
    assert Store(root).dataset(dataset.card.name) == dataset.card
    root.rename(moved)
    found = Path(Store(moved).dataset(dataset.card.name).source["folder"])
    assert found == uploads_folder(moved) / folder.name
    assert (found / "a.png").read_bytes() == b"a"


@pytest.mark.parametrize("name", ["../a.csv", "/etc/a.csv", "images/../../a.csv"])
def test_what_leads_out_stays_in_its_folder(tmp_path: Path, name: str) -> None:
    inside = name.replace("../", "").removeprefix("/")
    table = {"a.png": b"A", inside: TABLE}
    packed = [("x.zip", zipped(**{"a.png": b"A", name: TABLE}))]
    for files in (packed, [("a.png", b"A"), (name, TABLE)]):
        folder = keep_dataset(tmp_path / "store", files)
        assert files_in(folder) == table
    link = zipfile.ZipInfo("a.png")
    link.create_system, link.external_attr = 3, (stat.S_IFLNK | 0o777) << 16
    folder = keep_dataset(tmp_path / "store", [("x.zip", zip_of([(link, b"/etc/passwd")]))])
    assert not (folder / "a.png").is_symlink()
    outside = [path for path in tmp_path.iterdir() if path.name != "store"]
    assert outside == []


def test_a_bomb_is_refused_before_it_is_unpacked(tmp_path: Path) -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(3):
            archive.writestr(f"{number}.png", bytes(1000))
    for limits in (Limits(size=2000), Limits(files=2)):
        with pytest.raises(StimuliError, match=r"x\.zip takes 3 kB in 3 files unpacked, and"):
            keep_dataset(tmp_path, [("x.zip", file.getvalue())], limits=limits)
    assert list(uploads_folder(tmp_path).rglob("*.png")) == []
    keep_dataset(tmp_path, [("x.zip", file.getvalue())], limits=Limits(files=3, size=3000))


def test_a_zip_that_understates_its_size_is_damaged(tmp_path: Path) -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.png", bytes(5000))
    lying = file.getvalue().replace((5000).to_bytes(4, "little"), (50).to_bytes(4, "little"))
    with pytest.raises(StimuliError, match=r"x\.zip is no zip, a damaged one"):
        keep_dataset(tmp_path, [("x.zip", lying)])
    assert list(uploads_folder(tmp_path).iterdir()) == []


def test_what_cannot_be_unpacked_says_what_to_do(tmp_path: Path) -> None:
    good = zipped(**{"a.csv": TABLE, "a.png": b"A"})
    locked = bytearray(good)
    for head, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):  # the bit of a password
        locked[good.index(head) + at] |= 1
    for data in (b"no zip", good[:-30], bytes(locked)):
        with pytest.raises(StimuliError, match="is no zip, a damaged one or one with a password"):
            keep_dataset(tmp_path, [("x.zip", data)])
        assert list(uploads_folder(tmp_path).iterdir()) == []
    with pytest.raises(
        StimuliError, match=r"a\.zip was uploaded next to 1 other files; upload one"
    ):
        keep_dataset(tmp_path, [("a.zip", good), ("b.png", b"B")])
    with pytest.raises(StimuliError, match="nothing was uploaded; choose a zip, or a caption"):
        keep_dataset(tmp_path, [])


def test_one_file_is_kept_under_a_safe_name(tmp_path: Path) -> None:
    path = keep_file(tmp_path, "../../my features (1).npy", b"123")
    assert (path.name, path.read_bytes()) == ("my-features-1-.npy", b"123")
    assert path.parent.parent == uploads_folder(tmp_path)
    assert keep_file(tmp_path, "../../my features (1).npy", b"123") == path
    with pytest.raises(InputError, match=r"'a.npy' is empty \(0 bytes\); choose a file"):
        keep_file(tmp_path, "a.npy", b"")


def test_abandoned_uploads_go_when_the_next_one_comes(tmp_path: Path) -> None:
    young, old, of_job, of_dataset = (keep_file(tmp_path, f"{n}.npy", b"x") for n in range(4))
    add_dataset(tmp_path, FromFolder(folder=str(of_dataset.parent / "photos")))
    for path in (old, of_job, of_dataset):
        age(path.parent)
    keep_file(tmp_path, "next.npy", b"y", needed=[f"platoscope import {of_job}"])
    assert [path.exists() for path in (young, old, of_job, of_dataset)] == [True, False, True, True]
    (tmp_path / "datasets" / "broken.duckdb").write_text("may need any upload")
    age(of_job.parent)
    keep_file(tmp_path, "next.npy", b"z")
    assert of_job.exists()


def test_what_somebody_looks_at_is_found_and_not_removed(tmp_path: Path) -> None:
    shown, left = (keep_file(tmp_path, f"{n}.npy", b"x") for n in range(2))
    for path in (shown, left):
        age(path.parent)
    at = shown.relative_to(uploads_folder(tmp_path)).as_posix()
    assert find_upload(tmp_path, at) == shown.resolve()
    keep_file(tmp_path, "next.npy", b"x")
    assert [path.exists() for path in (shown, left)] == [True, False]
    for elsewhere in ("", "..", "../datasets", "/etc", at + "x"):
        assert find_upload(tmp_path, elsewhere) is None
