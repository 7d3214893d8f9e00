"""Pictures come as pixels from folders and .npz files, shrunk where asked."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from core.errors import InputError, StimuliError
from core.questions.color.photos import read_pictures


def test_a_folder_is_read_in_order_and_shrunk_by_averaging(tmp_path):
    pixels = np.zeros((4, 8, 3), np.uint8)
    pixels[:, ::2] = 200
    (tmp_path / "b").mkdir()
    Image.fromarray(pixels).save(tmp_path / "b" / "stripes.png")
    Image.new("RGB", (3, 2), "red").save(tmp_path / "a.png")
    (tmp_path / "notes.txt").write_text("no picture")
    whole, small = (read_pictures(tmp_path, side=side) for side in (None, 4))
    assert [picture.shape for picture in whole] == [(2, 3, 3), (4, 8, 3)]
    assert (whole[1] == pixels).all()
    assert [picture.shape for picture in small] == [(2, 3, 3), (2, 4, 3)]
    assert (small[1] == 100).all()


def test_the_pictures_of_an_npz_file_are_found_beside_labels(tmp_path):
    images = np.random.default_rng(0).integers(0, 256, (3, 4, 4, 3)).astype(np.uint8)
    np.savez(
        tmp_path / "some.npz",
        images=images,
        labels=np.arange(3, dtype=np.uint8),
        names=np.array(["cat", "dog"]),
    )
    assert (np.stack(read_pictures(tmp_path / "some.npz")) == images).all()
    assert read_pictures(tmp_path / "some.npz", side=2)[0].shape == (2, 2, 3)


def test_what_is_no_pictures_is_told(tmp_path):
    np.savez(tmp_path / "none.npz", labels=np.arange(3))
    with pytest.raises(StimuliError, match="has 0 arrays of pictures; expected one, uint8"):
        read_pictures(tmp_path / "none.npz")
    (tmp_path / "broken.npz").write_bytes(b"PK\x03\x04 no more")
    with pytest.raises(StimuliError, match="cannot be read"):
        read_pictures(tmp_path / "broken.npz")
    (tmp_path / "empty.npz").touch()
    with pytest.raises(
        StimuliError, match=r"empty.npz cannot be read \(No data left in file\); expected"
    ):
        read_pictures(tmp_path / "empty.npz")
    np.savez(tmp_path / "objects.npz", images=np.array([{}], dtype=object))
    with pytest.raises(StimuliError, match=r"objects\.npz holds pickled objects"):
        read_pictures(tmp_path / "objects.npz")
    for place in ("missing", "notes.txt"):
        with pytest.raises(
            InputError, match=f"a folder of pictures or an .npz file expected; .*{place} is neither"
        ):
            read_pictures(tmp_path / place)
