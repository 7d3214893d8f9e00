"""Labeled images: what is drawn of them, and the forms in which a folder holds them."""

from __future__ import annotations

import io
import tarfile
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.competence.images import Sample, Samples, draw, open_folder, read_shards
from core.errors import StimuliError
from core.stimuli.images import Stored
from tests.competence.labeled_files import picture, write_classes, write_part


def samples(count: int, part: str = "a", classes: int = 3) -> list[Sample]:
    return [Sample(Stored(Path(f"{part}{number}")), number % classes) for number in range(count)]


@given(st.integers(6, 80), st.integers(6, 100))
def test_a_draw_is_of_the_given_samples_half_sixth_third_and_always_the_same(count, limit):
    found = Samples(samples(count))
    kept, parts = draw(found, limit=limit)
    assert len(set(kept)) == len(kept) == min(count, limit)
    assert set(kept) <= set(found.train)
    sizes = [len(part) for part in (parts.train, parts.validation, parts.test)]
    assert np.abs(np.array(sizes) - len(kept) * np.array([1 / 2, 1 / 6, 1 / 3])).max() <= 1
    assert np.concatenate([parts.train, parts.validation, parts.test]).tolist() == list(
        range(len(kept))
    )
    assert draw(found, limit=limit)[0] == kept
    assert count < 30 or draw(found, limit=limit, seed=1)[0] != kept


@given(st.integers(6, 80), st.integers(3, 80), st.integers(9, 100))
def test_what_the_source_keeps_for_the_test_trains_nothing(learned, asked, limit):
    kept, parts = draw(Samples(samples(learned, "train"), samples(asked, "test")), limit=limit)
    assert len(kept) <= limit
    names = [sample.image.path.name.rstrip("0123456789") for sample in kept]
    assert {names[place] for place in parts.test} == {"test"}
    assert {names[place] for place in (*parts.train, *parts.validation)} == {"train"}
    assert len(parts.test) == min(asked, round(limit / 3))


def test_what_is_learned_from_and_what_is_tested_on_may_have_limits_of_their_own():
    kept, parts = draw(Samples(samples(90), samples(50, "test")), limit=(40, 30))
    assert (len(kept), len(parts.test)) == (70, 30)
    assert (len(parts.train), len(parts.validation)) == (30, 10)


def shades(images) -> np.ndarray:
    """Return the gray level of every image of a set."""
    return np.array([np.asarray(image).mean() for image in images.images(0, images.size)])


def test_a_folder_for_each_class(tmp_path):
    folder = write_classes(tmp_path / "tones", {"dark": 0, "light": 200, "middle": 100}, each=8)
    (folder / "light" / "deeper").mkdir()
    picture(200).save(folder / "light" / "deeper" / "x.JPG", "JPEG")
    (folder / "light" / "notes.txt").write_text("not an image")
    (folder / "empty").mkdir()
    (folder / ".hidden").mkdir()
    images = open_folder(folder)
    question = images.questions[0]
    assert (images.name, images.size, question.group) == ("folder tones", 25, "own")
    assert question.task == images.name
    assert Counter(question.labels.tolist()) == {0: 8, 1: 9, 2: 8}
    assert ((shades(images) // 90).astype(int) == np.array([0, 2, 1])[question.labels]).all()
    assert len(open_folder(folder, limit=10).questions[0].labels) == 10


def test_folders_for_parts_and_classes(tmp_path):
    write_classes(tmp_path / "train", {"dark": 0, "light": 200}, each=8)
    write_classes(tmp_path / "val", {"dark": 0, "light": 200}, each=3, first=500)
    question = open_folder(tmp_path).questions[0]
    assert [len(part) for part in vars(question.parts).values()] == [12, 4, 6]
    assert (question.labels == (shades(open_folder(tmp_path)) > 100)).all()
    write_classes(tmp_path / "val", {"gray": 100}, each=1)
    with pytest.raises(StimuliError, match=r"the class 'gray' of .* has test images but no"):
        open_folder(tmp_path)


def test_the_source_changes_with_every_pixel_and_label(tmp_path):
    folder = write_classes(tmp_path / "tones", {"dark": 0, "light": 200}, each=5)
    before = open_folder(folder).source
    assert open_folder(folder).source == before
    picture(0, seed=77).save(folder / "dark" / "000.png")
    changed = open_folder(folder).source
    (folder / "light" / "000.png").rename(folder / "dark" / "other.png")
    assert before != changed != open_folder(folder).source != before


@pytest.mark.parametrize("suffix", ["webp", "jpg", "png"])
def test_tar_files_are_read_where_they_lie(tmp_path, suffix):
    write_part(tmp_path / "set" / "train", [[0, 10, 20], [30, 40, 0, 10, 20]], suffix=suffix)
    write_part(tmp_path / "set" / "test", [[20, 30, 40]], suffix=suffix)
    heard: list[tuple[int, int, str]] = []
    found = read_shards(tmp_path / "set", report=lambda *state: heard.append(state))
    assert [state[:2] for state in heard] == [(1, 2), (2, 2), (1, 1)]
    assert [sample.label for sample in found.train] == [0, 10, 20, 30, 40, 0, 10, 20]
    assert [sample.label for sample in found.test] == [20, 30, 40]
    images = open_folder(tmp_path / "set")
    assert shades(images) - 19.5 == pytest.approx(
        50.0 * images.questions[0].labels, abs=4
    )  # five classes, 10 apart in the tars


def test_a_single_part_is_divided_here(tmp_path):
    write_part(tmp_path / "test", [[0, 1] * 6])
    parts = vars(open_folder(tmp_path).questions[0].parts).values()
    assert [len(part) for part in parts] == [6, 2, 4]


def odd_tar(path: Path, **members: bytes) -> None:
    with tarfile.open(path, "w") as tar:
        for name, data in members.items():
            member = tarfile.TarInfo(name.replace("_", "."))
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))


def test_damaged_sets_are_refused(tmp_path):
    write_part(tmp_path / "train", [[0, 1], [0, 1]])
    shard = tmp_path / "train" / "1.tar"
    whole = shard.read_bytes()
    name = tarfile.TarInfo("././@LongLink")
    name.type, name.size = tarfile.GNUTYPE_LONGNAME, (8 << 30) - 1

    def refused(match: str) -> None:
        with pytest.raises(StimuliError, match=match):
            read_shards(tmp_path)

    half = whole[: whole.index(b"s0001001.cls")]  # one of two samples
    for damaged in (whole[:2000], half, name.tobuf() + whole):
        shard.write_bytes(damaged)
        refused(r"1.tar cannot be read \(.*\); expected a whole tar")
    shard.unlink()
    refused(r"there is no file .*1\.tar; check its path")
    odd_tar(shard, a_cls=b"1", a_webp=b"x", b_webp=b"x")
    refused(r"'b' in .*1.tar lacks its image or its label; expected KEY.webp")
    for label in (b"cat", b"", b"-1", b"1" * 19):
        odd_tar(shard, a_cls=label, a_webp=b"x")
        refused(rf"a.cls in .*1.tar is b'{label.decode()}'; expected a class number")
    (tmp_path / "train" / "nshards.txt").write_text("many")
    refused(r"nshards.txt says 'many'; expected the number of tar files")
    with pytest.raises(StimuliError, match=r"has neither train/nshards.txt nor test/nshards.txt"):
        read_shards(tmp_path / "train")


def test_a_broken_image_is_named_by_its_place(tmp_path):
    write_part(tmp_path / "test", [[0, 1] * 6])
    path = tmp_path / "test" / "0.tar"
    path.write_bytes(path.read_bytes().replace(b"RIFF", b"RAFF", 1))
    with pytest.raises(StimuliError, match=r"at byte [\d,]+ of .*0.tar is not an image"):
        shades(open_folder(tmp_path))
