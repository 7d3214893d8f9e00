"""Valid files of every kind, and valid ones of odd content, by a seed."""

from __future__ import annotations

import io
import json
import tarfile
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import scipy.io
import torch
from PIL import Image
from safetensors.torch import save

from core.plans.reading import shipped
from core.questions.adapters.maps.files import dump
from core.questions.adapters.maps.model import Adapter, Adapters
from core.recipe import Recipe

N = 4  # stimuli


def array(dice: Random) -> np.ndarray:
    """Return features, repeats, dissimilarities or pictures of N stimuli, in any type."""
    rng = np.random.default_rng(dice.getrandbits(32))
    shape = dice.choice(((N, 3), (N, 2, 3), (2, N, 3), (N, N), (6,), (2, 6), (2, N, N), (0, 3), ()))
    values = rng.random(shape) * 9
    if dice.random() < 0.2:
        values = np.where(rng.random(shape) < 0.3, dice.choice((np.nan, np.inf, 1e300)), values)
    if shape[-2:] == (N, N) and dice.random() < 0.7:
        values = values + np.swapaxes(values, -1, -2)
        values[..., range(N), range(N)] = 0
    kind = dice.choice(("f4", "f4", "f8", "f2", ">f4", "i8", "u1", "f16", "c8", "?", "U3"))
    with np.errstate(all="ignore"):
        odd = np.asarray(values.astype(kind))
    return np.asfortranarray(odd) if dice.random() < 0.3 else odd


def npy(dice: Random) -> bytes:
    file = io.BytesIO()
    np.save(file, array(dice))
    return file.getvalue()


def npz(dice: Random) -> bytes:
    arrays = {f"layer{at}": array(dice) for at in range(dice.randint(1, 4))}
    if dice.random() < 0.2:
        places = np.repeat(np.arange(N), 2)
        arrays = {"measurements": np.ones((len(places), 3)), "stimulus": places}
    file = io.BytesIO()
    dice.choice((np.savez, np.savez_compressed))(file, **arrays)
    return file.getvalue()


def h5(dice: Random) -> bytes:
    file, packed = io.BytesIO(), dice.choice((None, "gzip", "lzf"))
    with h5py.File(file, "w", track_order=dice.random() < 0.5) as held:
        for at in range(dice.randint(1, 3)):
            values = array(dice)
            values = values.astype("S") if values.dtype.kind == "U" else values
            how = {"compression": packed} if values.ndim else {}
            held.create_dataset(f"m/layer{at}", data=values, **how)
        held["ids"] = [f"s{at}" for at in range(N)]
        held["old"] = h5py.SoftLink("/m/layer0")
    return file.getvalue()


def mat(dice: Random) -> bytes:
    file, odd = io.BytesIO(), array(dice)
    values = odd if odd.dtype.kind not in "fc" or odd.dtype.itemsize <= 8 else odd.astype("f8")
    ids = np.array([f"s{at}" for at in range(N)], object)
    content = {"x": values, "ids": ids, "net": {"layer": np.ones((N, 2))}}
    scipy.io.savemat(file, content, do_compression=dice.random() < 0.5)
    return file.getvalue()


def numbers(dice: Random) -> bytes:
    rows = np.random.default_rng(dice.getrandbits(32)).random((N, 3))
    file, mark = io.StringIO(), dice.choice((" ", ",", "\t", ";"))
    np.savetxt(file, rows, delimiter=mark, header=dice.choice(("", "a b c")))
    return file.getvalue().encode()


def pictures(dice: Random) -> bytes:
    file = io.BytesIO()
    size = (dice.randint(1, 3), dice.randint(1, 9), dice.randint(1, 9), 3)
    np.savez(file, x=np.full(size, 7, np.uint8), y=np.array(["a"]))
    return file.getvalue()


def tensor(dice: Random) -> torch.Tensor:
    """Return a tensor, at times of a kind that is no numbers here."""
    odd: list[Callable[[], torch.Tensor]] = [
        lambda: torch.zeros(N, 3, device="meta"),
        lambda: torch.zeros(N, 3, dtype=torch.bfloat16, requires_grad=True),
        lambda: torch.zeros(N, 3, dtype=torch.complex64),
        lambda: torch.zeros(1, 1).expand(1 << 20, 1 << 20),
        lambda: torch.eye(N).to_sparse(),
    ]
    return dice.choice(odd)() if dice.random() < 0.3 else torch.rand(N, 3)


def pt(dice: Random) -> bytes:
    several: list[Callable[[], Any]] = [
        lambda: tensor(dice),
        lambda: {"feats": tensor(dice), "mask": torch.ones(N), "loss": 0.1},
        lambda: {f"layer{at}": tensor(dice) for at in range(3)},
        lambda: [tensor(dice), tensor(dice)],
        lambda: dice.choice((3, None, {}, [], {"feats": [1]}, {"a": {"b": 1}})),
    ]
    file = io.BytesIO()
    torch.save(dice.choice(several)(), file)
    return file.getvalue()


def safetensors(dice: Random) -> bytes:
    tensors = {f"layer{at}": torch.zeros(N, dice.randint(1, 4)) for at in range(dice.randint(1, 3))}
    if dice.random() < 0.3:
        tensors["odd"] = torch.zeros(
            N, 2, dtype=dice.choice((torch.bool, torch.float16, torch.int8))
        )
    data: bytes = save(tensors, {"made": "here"})
    return data


def parquet(dice: Random) -> bytes:
    """Return a table of any columns: numbers, texts, dates that no calendar has, lists of lists."""
    columns = {
        dice.choice(("image", "caption", "text", "level", "a", "A", "b", "", "é\n")): _column(dice)
        for _ in range(dice.randint(0, 3))
    }
    flavor = dice.randrange(3)
    if flavor == 0:
        columns = {f"d{at}": pa.array(np.ones(N, dice.choice(("f4", "i2")))) for at in range(3)}
    elif flavor == 1:
        words = pa.array(["one", "two", "three", "four"])
        columns = {"image": pa.array(["a.png"] * N), "caption": words, "text": words, **columns}
    names = [*columns, *(["a"] if dice.random() < 0.05 else [])]
    file = io.BytesIO()
    pq.write_table(
        pa.Table.from_arrays([columns.get(name, pa.nulls(N)) for name in names], names=names),
        file,
        row_group_size=dice.choice((1, 2, 100)),
        compression=dice.choice(("snappy", "none", "zstd", "gzip")),
        use_dictionary=dice.random() < 0.5,
        version="2.6",
    )
    return file.getvalue()


def _column(dice: Random) -> pa.Array:
    least, most = -(2**63), 2**63 - 1
    odd = [
        pa.array([[1.0, 2.0]] * N),
        pa.array([[[1.0], [2.0]]] * N),
        pa.array([[1.0], [], None, [2.0]]),
        pa.array([least, most, 0, 1], pa.int64()).cast(
            pa.timestamp(dice.choice(("ms", "us", "ns")))
        ),
        pa.array([most, least, 0, 1], pa.int64()).cast(pa.duration(dice.choice(("s", "us")))),
        pa.array([0, 1, 2, 3], pa.int64()).cast(pa.timestamp("us", tz="Nowhere/City")),
        pa.array(["a", None, "", "x" * 5_000]),
        pa.array(["a", "a", "b", "b"]).dictionary_encode(),
        pa.array([b"\xff", b"a", b"", b"\0"]),
        pa.StringArray.from_buffers(  # one text that is not UTF-8
            1, pa.py_buffer(b"\0\0\0\0\1\0\0\0"), pa.py_buffer(b"\xff")
        ),
        pa.nulls(N),
    ]
    column = dice.choice(odd)
    return column if len(column) == N else pa.concat_arrays([column] * N)


def captions(dice: Random) -> bytes:
    rows = [f'a.png,"a {color} thing, seen",{color},{at}' for at, color in enumerate(COLORS)]
    level = dice.choice(("level", "caption_index", "size"))
    return "\n".join([f"image,caption,mood,{level}", *rows, ""]).encode()


COLORS = ("red", "green", "bläu", "🟡")


def lines(dice: Random) -> bytes:
    rows = [
        {
            "image": "a.png",
            "caption": f"a {color} thing",
            "text": color,
            "n": dice.choice((1, 2.5, None)),
        }
        for color in COLORS
    ]
    return "\n".join(json.dumps(row, ensure_ascii=dice.random() < 0.5) for row in rows).encode()


def document(dice: Random) -> bytes:
    """Return captions in JSON: COCO's, a list of records, or texts by image."""
    coco = {
        "images": [{"id": 7, "file_name": "a.png"}],
        "annotations": [{"image_id": 7, "caption": color} for color in COLORS],
    }
    records = [json.loads(line) for line in lines(dice).splitlines()]
    return json.dumps(dice.choice((coco, records, {"a.png": [*COLORS]}))).encode()


def judgments(dice: Random) -> bytes:
    header = dice.choice(("first,second,dissimilarity", "second,first,dissimilarity"))
    rows = ["0,1,2", "1,2,3", "s0,s2,3", "0,2,1", "0,3,2", "2,3,1", "1,3,0"]
    return "\n".join([header, *rows, ""]).encode()


def scores(dice: Random) -> bytes:
    header = "model,task,value,unit,low,high,chance,n,source"
    rows = [f"m{at},t,{dice.random():.3f},accuracy,0,1,0.5,{at + 1},me" for at in range(3)]
    return "\n".join([header, *rows, ""]).encode()


def models(dice: Random) -> bytes:
    rows = [f"m{at}.npy,Model {at},ViT,{at + 1}M,{dice.random():.3f}" for at in range(3)]
    return "\n".join(["file,title,family,parameters,ImageNet (%)", *rows, ""]).encode()


def modules(dice: Random) -> bytes:
    kinds = ("Transformer", dice.choice(("Normalize", "Dropout")))
    return json.dumps([{"type": f"models.{kind}", "path": ""} for kind in kinds]).encode()


def plan(dice: Random) -> bytes:
    return dice.choice(list(shipped().values())).read_bytes()


def instruction(dice: Random) -> bytes:  # noqa: ARG001 — as of all kinds
    return b"Say it in {words} words, and no more.\n"


def titles(dice: Random) -> bytes:
    names = {"cave": dice.choice(("Cave", "Höhle"))}
    return json.dumps({"datasets": names, "models": {"cave": {"vit": "A ViT"}}}).encode()


FORMATS = ("PNG", "JPEG", "WEBP", "GIF", "TIFF", "BMP", "PPM", "JPEG2000")  # of RGB
MODES = {"RGBA": "PNG", "P": "PNG", "LA": "PNG", "I;16": "PNG", "F": "TIFF", "CMYK": "TIFF"}


def image(dice: Random) -> bytes:
    mode, kind = dice.choice([*(("RGB", kind) for kind in FORMATS), *MODES.items()])
    choices = {"progressive": True} if kind == "JPEG" and dice.random() < 0.5 else {}
    file = io.BytesIO()
    Image.new(mode, (dice.randint(1, 40), dice.randint(1, 40))).save(file, kind, **choices)
    return file.getvalue()


def png() -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (9, 7)).save(file, "PNG")
    return file.getvalue()


def tar(dice: Random) -> bytes:
    file = io.BytesIO()
    form = dice.choice((tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT))
    with tarfile.open(fileobj=file, mode="w", format=form) as pack:
        for name, data in (
            ("a.png", png()),
            ("a.cls", b"3"),
            ("a.txt", b"x\ny"),
            ("é" * 30 + ".txt", b""),
        ):
            info = tarfile.TarInfo(name)
            info.size = len(data)
            pack.addfile(info, io.BytesIO(data))
    return file.getvalue()


def batches(dice: Random) -> bytes:
    return dice.randbytes(3073) * dice.randint(1, 2)


def adapters(dice: Random) -> bytes:
    maps = {
        name: Adapter(np.ones((2, 3), np.float32), np.zeros(3, np.float32)) for name in ("a", "b")
    }
    recipe = Recipe.of("adapters", seed=dice.randint(0, 9))
    return dump(Adapters(maps, 0.1, "cosine"), recipe)


def upload(dice: Random) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", dice.choice((0, 8))) as archive:
        archive.writestr("folder/captions.csv", captions(dice))
        archive.writestr("folder/a.png", png())
        archive.writestr(dice.choice(("../up", "/root", "C:\\x", "con", "a/b/c", "é")), b"x")
    return file.getvalue()


def scratch() -> Path:
    """Return a new folder with the image that tables name."""
    folder = Path(tempfile.mkdtemp(prefix="fuzz-"))
    (folder / "a.png").write_bytes(png())
    return folder
