"""Rows are matched to stimuli by id, layers keep their order and names, in all kinds of files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pandas as pd
import pytest
import scipy.io
import scipy.spatial
import torch

from core.encoders.measured import Content, read_content
from core.encoders.requests import ImportRequest
from core.encoders.rows import rows_of
from core.encoders.zoo import read_zoo
from core.errors import FeatureError

N, D = 8, 5
STIMULI = [f"photos/{place:03d}.jpg" for place in range(N)]
RIGHT = np.random.default_rng(0).normal(size=(N, D)).astype(np.float32)
ORDER = np.random.default_rng(1).permutation(N)
MIXED, IDS = RIGHT[ORDER], [STIMULI[row] for row in ORDER]
STEMS = [f"{row:03d}" for row in ORDER]
DIMS = [f"f{dim}" for dim in range(D)]
FRAME = pd.DataFrame(MIXED, columns=DIMS)
LISTS = pd.DataFrame({"image": IDS, "embedding": list(MIXED)})
NAMES = ("conv1", "layer1", "layer10", "layer4", "avgpool", "fc")
LAYERS = {name: np.full((N, 2), place, np.float32) for place, name in enumerate(NAMES)}
SORTED = {name: LAYERS[name] for name in ("avgpool", "conv1", "fc", "layer1", "layer4", "layer10")}
DIMENSIONS, SIX = pd.DataFrame(RIGHT, columns=DIMS), np.eye(N, 6)
CELLS = [",".join(map(str, row)) for row in RIGHT.tolist()]

Write = Callable[[Path], object]


def pt(held: object, **how: bool) -> Write:
    return lambda path: torch.save(held, path, **how)


def npz(**arrays: Any) -> Write:
    return lambda path: np.savez(path, **arrays)


def npy(array: np.ndarray) -> Write:
    return lambda path: np.save(path, array)


def csv(frame: pd.DataFrame, **how: Any) -> Write:
    return lambda path: frame.to_csv(path, **how)


def lines(head: str, rows: Iterable[str]) -> Write:
    text = "\n".join((head, *rows))
    return lambda path: path.write_text(text)


def h5(arrays: Mapping[str, Any], *, order: bool = False, **how: Any) -> Write:
    def write(path: Path) -> None:
        with h5py.File(path, "w", track_order=order) as file:
            for name, values in arrays.items():
                file.create_dataset(name, data=values, **how)

    return write


def mat(**arrays: Any) -> Write:
    return lambda path: scipy.io.savemat(path, arrays)


def new_mat(path: Path) -> None:
    """Write as MATLAB's -v7.3 does: axes from the other end, cells as references."""
    with h5py.File(path, "w", userblock_size=512) as file:
        file["x"] = MIXED.astype(float).T
        file["x"].attrs["MATLAB_class"] = np.bytes_("double")
        cells = file.create_dataset("ids", (1, N), h5py.ref_dtype)
        cells.attrs["MATLAB_class"] = np.bytes_("cell")
        for place, name in enumerate(IDS):
            text = file.create_dataset(
                f"#refs#/{place}", data=np.array([[*map(ord, name)]], "u2").T
            )
            text.attrs["MATLAB_class"] = np.bytes_("char")
            cells[0, place] = text.ref


def linked(path: Path) -> None:
    h5({"x": RIGHT})(path.with_name("other.h5"))
    with h5py.File(path, "w") as file:
        file["x"] = h5py.ExternalLink("other.h5", "x")


def raw(path: Path) -> None:
    with h5py.File(path, "w") as file:
        file.create_dataset("x", (N, D), "f4", external=[("/etc/hostname", 0, 160)])


def mapped(path: Path) -> None:
    h5({"x": RIGHT})(path.with_name("other.h5"))
    layout = h5py.VirtualLayout((N, D), "f4")
    layout[:] = h5py.VirtualSource(str(path.with_name("other.h5")), "x", (N, D))
    with h5py.File(path, "w") as file:
        file.create_virtual_dataset("x", layout)


def pointing(path: Path) -> None:
    with h5py.File(path, "w") as file:
        file.create_dataset("x", (N, 2), h5py.ref_dtype)[0, 0] = file.ref


def huge(path: Path) -> None:
    with h5py.File(path, "w") as file:
        file.create_dataset("x", (1 << 30, 1 << 20), "f4", chunks=(1024, 1024))


def circular(path: Path) -> None:
    with h5py.File(path, "w") as file:
        file["x"] = RIGHT
        file["a/b"] = file["a/c"] = file["d"] = file.create_group("a/a")
        file["a/a/again"] = file["a"]


def cut(path: Path) -> None:
    h5({"x": np.zeros((N, 10_000))})(path)
    path.write_bytes(path.read_bytes()[:-9000])


OF_PANDAS = {"df/axis0": np.array(DIMS, "S"), "df/axis1": np.array(IDS, "S")}
RSA = {
    "measurements": MIXED,
    "obs_descriptors/index": np.arange(N),
    "obs_descriptors/stimulus": np.array(IDS, "S"),
    "channel_descriptors/name": np.array(DIMS, "S"),
}
# name, end of the file's name, what writes it, options, and what it gives: the right vectors
# (None), layers by name, or a word of why it is refused
ZOO: list[tuple[str, str, Write, dict[str, Any], dict[str, np.ndarray] | str | None]] = [
    ("index of texts", ".parquet", FRAME.set_axis(IDS).to_parquet, {}, None),
    ("index of places", ".parquet", FRAME.set_axis(ORDER).to_parquet, {}, None),
    ("named index", ".parquet", FRAME.set_axis(ORDER).rename_axis("row").to_parquet, {}, None),
    ("column of texts", ".parquet", FRAME.assign(image=IDS).to_parquet, {}, None),
    ("column of numbers", ".parquet", FRAME.assign(id=ORDER).to_parquet, {}, None),
    ("stems", ".parquet", FRAME.assign(file=STEMS).to_parquet, {}, None),
    ("without zeros", ".parquet", FRAME.assign(id=[*map(str, ORDER)]).to_parquet, {}, None),
    ("a column of lists", ".parquet", LISTS.to_parquet, {}, None),
    ("labels, too", ".parquet", FRAME.assign(id=IDS, label=7 * ORDER).to_parquet, {}, None),
    *[
        (f"texts called {name}", ".parquet", FRAME.assign(**{name: IDS}).to_parquet, {}, None)
        for name in ("image_path", "Image Name", "filepath", "uuid", "nsdId", "other")
    ],
    *[
        (f"numbers called {name}", ".parquet", FRAME.assign(**{name: ORDER}).to_parquet, {}, None)
        for name in ("idx", "cocoid", "image_number")
    ],
    *[
        (
            f"left out {name}",
            ".csv",
            csv(DIMENSIONS.assign(**{name: 7 * ORDER}), index=False),
            {},
            None,
        )
        for name in ("classes", "subject")
    ],
    ("categories", ".parquet", FRAME.assign(x=pd.Categorical(IDS)).to_parquet, {}, None),
    ("floats", ".parquet", FRAME.assign(id=ORDER.astype(float)).to_parquet, {}, None),
    ("classes", ".parquet", FRAME.assign(name=["a", "b"] * 4, pic=IDS).to_parquet, {}, None),
    ("large letters", ".csv", csv(FRAME.set_axis([one.upper() for one in IDS])), {}, None),
    ("named index, csv", ".csv", csv(FRAME.set_axis(IDS).rename_axis("pic")), {}, None),
    ("its numbers", ".csv", csv(FRAME.set_axis(ORDER).rename_axis("pic")), {}, None),
    ("csv", ".csv", csv(FRAME.assign(image=IDS), index=False), {}, None),
    ("csv with an index", ".csv", csv(FRAME.set_axis(IDS)), {}, None),
    ("csv of Excel", ".csv", csv(FRAME.assign(id=IDS), sep=";", index=False), {}, None),
    ("csv with a BOM", ".csv", csv(FRAME.assign(id=IDS), encoding="utf-8-sig"), {}, None),
    ("index, pandas' columns", ".csv", csv(pd.DataFrame(MIXED, IDS)), {}, None),
    ("npz", ".npz", npz(feats=MIXED, ids=np.array(IDS)), {}, None),
    ("npz of bytes", ".npz", npz(a=MIXED, ids=np.array(IDS, "S")), {}, None),
    ("npz and labels", ".npz", npz(x=MIXED, stimuli=IDS, labels=ORDER), {}, None),
    ("image_ids of npz", ".npz", npz(x=MIXED, image_ids=ORDER), {}, None),
    ("npz of layers", ".npz", npz(**LAYERS), {}, LAYERS),
    (
        "npz of chosen layers",
        ".npz",
        npz(**LAYERS),
        {"feature_column": ("fc", "conv1")},
        {name: LAYERS[name] for name in ("fc", "conv1")},
    ),
    ("pt", ".pt", pt({"x": torch.from_numpy(MIXED), "ids": IDS}), {}, None),
    ("pth of arrays", ".pth", pt({"x": MIXED, "id": ORDER, "n": np.int64(3)}), {}, None),
    ("pt in groups", ".pt", pt({"m": {"x": torch.tensor(MIXED)}, "ids": IDS}), {}, None),
    ("pt of groups", ".pt", pt({"a": {"ids": IDS}, "b": {"x": MIXED, "labels": SIX}}), {}, None),
    (
        "pt of a list of layers",
        ".pt",
        pt([torch.from_numpy(RIGHT)] * 2),
        {},
        {"0": RIGHT, "1": RIGHT},
    ),
    ("pt of layers", ".pt", pt(LAYERS), {}, LAYERS),
    ("pt of yes and no", ".pt", pt({"x": torch.tensor(RIGHT > 0)}), {}, {"x": RIGHT > 0}),
    ("h5", ".h5", h5({"x": MIXED, "ids": IDS, "labels": ORDER, "n": 3}), {}, None),
    ("h5 of bytes", ".h5", h5({"x": MIXED, "y/image": np.array(IDS, "S")}), {}, None),
    ("packed h5", ".h5", h5({"x": RIGHT.astype(">f8")}, compression="gzip"), {}, None),
    ("stim_names of h5", ".h5", h5({"x": MIXED, "stim_names": np.array(IDS, "S")}), {}, None),
    ("h5 of layers", ".h5", h5(LAYERS), {}, SORTED),
    ("h5 of layers in order", ".hdf5", h5(LAYERS, order=True), {}, LAYERS),
    ("h5 of pandas", ".h5", h5({**OF_PANDAS, "df/block0_values": MIXED}), {}, None),
    ("h5 of rsatoolbox", ".h5", h5(RSA), {}, None),
    ("mat", ".mat", mat(x=MIXED, ids=np.array(IDS, object), label=ORDER, n=3.0), {}, None),
    ("mat of places", ".mat", mat(x=MIXED, id=ORDER[:, None].astype(float)), {}, None),
    ("mat of a struct", ".mat", mat(net={"x": MIXED, "name": np.array(IDS)}), {}, None),
    ("mat of layers", ".mat", mat(**LAYERS), {}, LAYERS),
    ("mat of v7.3", ".mat", new_mat, {}, None),
    ("pt of before 1.6", ".pt", pt({"x": RIGHT}, _use_new_zipfile_serialization=False), {}, None),
    ("pickle", ".pkl", lambda path: path.write_bytes(b""), {}, "unknown format"),
    ("maps", ".npy", npy(np.zeros((N, 3, 2, 2))), {}, "save the mean over both"),
    ("transposed", ".npy", npy(RIGHT.T), {}, "save it transposed"),
    ("layers first", ".npy", npy(np.zeros((3, N, D))), {}, "moveaxis"),
    ("ids that do not fit", ".npz", npz(x=RIGHT, a=IDS[:3]), {"id_column": "a"}, "of shape"),
    ("no id", ".csv", csv(FRAME.assign(id=[*IDS[:7], ""]), index=False), {}, "empty in row 8"),
    ("none", ".parquet", FRAME.assign(id=[*IDS[:7], None]).to_parquet, {}, "empty in row 8"),
    ("NaN", ".npz", npz(x=MIXED, id=[*ORDER[:7], np.nan]), {}, "empty in row 8"),
    ("too few", ".npz", npz(x=MIXED, ids=IDS[:7]), {}, "ids of its 8 rows"),
    (
        "of no stimulus",
        ".csv",
        csv(FRAME.assign(id=DIMS[0]), index=False),
        {},
        "rows of no stimulus: ",
    ),
    ("from 1", ".parquet", FRAME.assign(row=ORDER + 1).to_parquet, {}, "take 1 off"),
    ("two", ".parquet", FRAME.assign(id=IDS, image=IDS[::-1]).to_parquet, {}, "differently, by"),
    ("a count", ".csv", csv(FRAME.set_axis(ORDER * 9 + 99).rename_axis("z")), {}, "another whole"),
    ("a bad cell", ".csv", csv(FRAME.assign(f1=["x", *MIXED[1:, 1]])), {}, "'x' in row 1"),
    ("an empty cell", ".csv", csv(FRAME.assign(f1=[None, *MIXED[1:, 1]])), {}, "'' in row 1"),
    ("short header", ".csv", lines("id,f0", CELLS), {}, "2 names in its header and more fields"),
    ("no header", ".csv", lines(CELLS[0], CELLS[1:]), {}, "has no header"),
    ("link to another file", ".h5", linked, {}, "in another file"),
    ("bytes of another file", ".h5", raw, {}, "in another file"),
    ("map of another file", ".h5", mapped, {}, "in another file"),
    ("references", ".h5", pointing, {}, "holds no features but 'x' of type object"),
    ("a table too large", ".h5", huge, {}, "of memory, and"),
    ("groups in a circle", ".h5", circular, {}, None),
    ("cut h5", ".h5", cut, {}, "cannot be read"),
    ("no mat", ".mat", lambda path: path.write_bytes(bytes(range(256)) * 9), {}, "cannot be read"),
]
SAMPLE = (
    *("index of texts", "texts called other", "numbers called idx", "left out subject"),
    *(
        "csv of Excel",
        "npz of layers",
        "pt in groups",
        "h5",
        "mat",
        "no id",
        "a bad cell",
        "from 1",
    ),
)


def opened(path: Path, stimuli: Sequence[str] = STIMULI, **how: object) -> Content:
    return read_content(ImportRequest(f"{path}", "d", "n", "vision", **how), stimuli)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("ending", "write", "how", "wanted"),
    [
        pytest.param(*case, id=name, marks=() if name in SAMPLE else pytest.mark.slow)
        for name, *case in ZOO
    ],
)
def test_the_zoo(tmp_path: Path, ending: str, write: Write, how: Any, wanted: Any) -> None:
    write(path := tmp_path / f"features{ending}")
    if isinstance(wanted, str):
        with pytest.raises(FeatureError, match=wanted):
            opened(path, **how)
        return
    content = opened(path, **how)
    if wanted:
        assert content.names == (*wanted,)
    for layer, right in zip(content.layers, (wanted or {"": RIGHT}).values(), strict=True):
        np.testing.assert_allclose(layer, right, atol=1e-6)


def test_ids_that_do_not_fit_are_named_and_rows_of_no_stimulus_left_out(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    FRAME.assign(id=[*IDS[:-1], "other.jpg"]).to_parquet(path)
    with pytest.raises(
        FeatureError, match=rf"stimuli without a row: 1 \({IDS[-1]}\); rows of no stimulus"
    ):
        opened(path)
    FRAME.assign(id=[*IDS[:-1], IDS[0]]).to_parquet(path)
    with pytest.raises(FeatureError, match="ids of several rows: 1 "):
        opened(path)
    more = pd.concat([FRAME.assign(id=IDS), FRAME[:1].assign(id="other.jpg")])
    more.to_parquet(path, index=False)
    content = opened(path)
    assert content.layers[0] == pytest.approx(RIGHT)
    assert "1 row of no stimulus" in content.notes[1]


def test_a_person_names_ids_features_and_what_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    FRAME.assign(which=IDS, id=0.5, more=1.0).to_parquet(path)
    (layer,) = opened(path, id_column="which", feature_column=("f3", "f0")).layers
    assert layer == pytest.approx(RIGHT[:, [3, 0]])
    (layer,) = opened(path, id_column="which", drop=("id", "more")).layers
    assert layer == pytest.approx(RIGHT)
    for name, written in (("index", FRAME.set_axis(IDS)), ("image", FRAME.assign(image=IDS))):
        written.to_parquet(path)
        (note,) = opened(path).notes
        assert note == f"Rows are matched to stimuli by {name}: {STIMULI[0]!r} is {STIMULI[0]}."
        assert opened(path, drop=(name,)).layers[0] == pytest.approx(MIXED)
    FRAME.assign(which=IDS).to_parquet(path)
    with pytest.raises(FeatureError, match="has no 'gone'; it has 'f0'"):
        opened(path, id_column="gone")


WIDE = np.random.default_rng(2).normal(size=(N, D))
PAIRS = scipy.spatial.distance.pdist(WIDE)
TRIALS, ALIKE = {"repeats": "trials"}, {"dissimilarities": True}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("array", "how", "words"),
    [
        (WIDE + 1e9, {}, "rows of"),
        (WIDE * 1e-60, {}, "makes row 0 all zeros"),
        (WIDE * 1e200, {}, "makes values infinite"),
        ((WIDE * 10).astype("i8") + 2_000_000_000, {}, "rows of"),
        (np.stack([WIDE, WIDE]) + 1e9, TRIALS, "rows of"),
        (PAIRS * 1e50, ALIKE, "makes values infinite"),
        (PAIRS + 1e9, ALIKE, "rows of"),
        (np.vstack([1e-60 * WIDE[:1], WIDE[1:]]), {}, "makes row 0 all zeros"),
    ],
)
def test_numbers_that_float32_does_not_hold_are_refused(tmp_path, array, how, words) -> None:
    np.save(tmp_path / "x.npy", array)
    with pytest.raises(FeatureError, match=f"float32, in which .* {words}.*subtract what is"):
        opened(tmp_path / "x.npy", **how)


@pytest.mark.parametrize(
    "array", [WIDE + 2, np.full((N, D), 5.0), np.vstack([0 * WIDE[:1], WIDE[1:]])]
)
def test_numbers_that_float32_holds_stay(tmp_path, array) -> None:
    np.save(tmp_path / "x.npy", array)
    (layer,) = opened(tmp_path / "x.npy").layers
    np.testing.assert_array_equal(layer, array.astype(np.float32))


def test_the_strictest_way_of_naming_that_fits_best_counts() -> None:
    folders = ["a/1.png", "b/1.png", "b/2.png"]
    found = rows_of(["b/2.png", "a/1.png", "b/1.png"], folders, file="f", by="id")
    assert found.rows.ravel().tolist() == [1, 2, 0]
    odd = ["a.b.png", "\u00e9.png", "c"]
    found = rows_of(["e\u0301.PNG", "C.jpg", "a.b"], odd, file="f", by="id")
    assert found.rows.ravel().tolist() == [2, 0, 1]


@pytest.mark.parametrize(
    ("ids", "stimuli", "rows"),
    [
        ("2 0 1", "x y z", [1, 2, 0]),
        ("2.0 0.0 1.0", "x y z", [1, 2, 0]),
        ("1 2 0", "0.jpg 1.jpg 2.jpg", [2, 0, 1]),
        ("2 0 1 9", "x y z", None),  # not all are places
        ("1 2", "x y z", None),  # none is 0
        ("0 1 2", "1.jpg 2.jpg 3.jpg", None),  # some are names
    ],
)
def test_numbers_are_places_if_all_can_be(ids, stimuli, rows) -> None:
    if rows is None:
        with pytest.raises(FeatureError, match="stimuli without a row"):
            rows_of(ids.split(), stimuli.split(), file="f", by="id", some="jpg" not in stimuli)
        return
    found = rows_of(ids.split(), stimuli.split(), file="f", by="id")
    assert found.rows.ravel().tolist() == rows
    assert found.by_place == ("jpg" not in stimuli)


def test_words_that_mean_nothing_elsewhere_are_ids(tmp_path: Path) -> None:
    words = ["null", "NA", "None", "nan", "n/a", "<NA>", "NULL", "cat"]
    csv(FRAME.assign(id=[words[row] for row in ORDER]), index=False)(tmp_path / "x.csv")
    assert opened(tmp_path / "x.csv", words).layers[0] == pytest.approx(RIGHT)


@pytest.mark.parametrize(
    ("write", "said"),
    [
        (h5(LAYERS), [False, True]),
        (h5(LAYERS, order=True), [False, False]),
        (h5({"x": MIXED, "ids": ORDER}), [False, False]),
        (h5({"x": MIXED, "ids": [f"{row}.0" for row in ORDER]}), [True, False]),
    ],
)
def test_notes_say_what_is_a_place_and_what_keeps_no_order(tmp_path: Path, write, said) -> None:
    write(tmp_path / "x.h5")
    words = " ".join(opened(tmp_path / "x.h5").notes)
    assert [f"{part}" in words for part in ("as places from 0", "keeps no order")] == said


def test_a_table_of_models_may_begin_with_any_row(tmp_path: Path) -> None:
    lines("file,parameters", ["gone,", "a.npy,22000000", "b.npy,22.0"])(tmp_path / "x.csv")
    zoo = read_zoo(ImportRequest(f"{tmp_path / 'x.csv'}", "d", "", "vision"))
    given = [one.facts.parameters for one in zoo.rows.values() if isinstance(one, ImportRequest)]
    assert given == [None, 22_000_000, 22]


@pytest.mark.parametrize(
    ("ids", "stimuli", "wanted"),
    [
        ("1 2 3", "x y z", None),
        ("3.0 1.0 2.0", "x y z", None),
        ("1 2", "x y z", None),  # of some
        ("3 1", "x y z", None),
        ("1 2 3", "0 1 2", None),  # of rows that are numbered
        ("1 2 3", "0.png 1.png 2.png", None),
        ("2 0 1", "x y z", [1, 2, 0]),
        ("2 3 1", "1.png 2.png 3.png", [2, 0, 1]),
        ("003 1 2", "1 2 3", [1, 2, 0]),
        ("2 1", "1 2 3", [1, 0]),
    ],
)
def test_numbers_that_count_from_1_are_never_taken_one_row_off(ids, stimuli, wanted) -> None:
    def found() -> list[int]:
        rows = rows_of(ids.split(), stimuli.split(), file="f", by="id", some=True)
        return rows.rows.ravel().tolist()

    if wanted:
        assert found() == wanted
        return
    with pytest.raises(FeatureError, match="seem to count from 1"):
        found()
