"""Labeled images on disk, in the forms in which probes find them."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from PIL import Image


def picture(shade: int, *, seed: int = 0, side: int = 16) -> Image.Image:
    """Return noise around a gray level."""
    noise = np.random.default_rng(seed).integers(0, 40, size=(side, side, 3))
    return Image.fromarray((noise + shade).astype(np.uint8))


def write_classes(folder: Path, shades: dict[str, int], *, each: int, first: int = 0) -> Path:
    """Save `each` pictures per class, whose gray level is the class's."""
    for place, (name, shade) in enumerate(shades.items()):
        (folder / name).mkdir(parents=True, exist_ok=True)
        for number in range(each):
            picture(shade, seed=first + 1000 * place + number).save(
                folder / name / f"{number:03d}.png"
            )
    return folder


def write_shard(path: Path, labels: Iterable[int], *, suffix: str = "webp", first: int = 0) -> None:
    """Save a tar of KEY.webp and KEY.cls; the gray level of a picture is five times its label."""
    with tarfile.open(path, "w") as tar:
        for number, label in enumerate(labels, start=first):
            _add(tar, f"s{number:07d}.cls", str(label).encode())
            _add(tar, f"s{number:07d}.{suffix}", _encoded(picture(5 * label, seed=number), suffix))


def write_part(folder: Path, shards: Sequence[Sequence[int]], *, suffix: str = "webp") -> None:
    """Save tars 0.tar, 1.tar … with their count in nshards.txt."""
    folder.mkdir(parents=True)
    (folder / "nshards.txt").write_text(f"{len(shards)}\n")
    for number, labels in enumerate(shards):
        write_shard(folder / f"{number}.tar", labels, suffix=suffix, first=1000 * number)


def put_in_cache(cache: Path, hub_id: str) -> Path:
    """Return the folder of a data set's snapshot in the hub's cache, which is empty yet."""
    home = cache / f"datasets--{hub_id.replace('/', '--')}"
    (home / "refs").mkdir(parents=True)
    (home / "refs" / "main").write_text("0" * 40)
    return home / "snapshots" / ("0" * 40)


def _encoded(image: Image.Image, suffix: str) -> bytes:
    file = io.BytesIO()
    image.save(
        file,
        {"jpg": "JPEG"}.get(suffix, suffix.upper()),
        **({"lossless": True} if suffix == "webp" else {}),
    )
    return file.getvalue()


def _add(tar: tarfile.TarFile, name: str, data: bytes) -> None:
    member = tarfile.TarInfo(name)
    member.size = len(data)
    tar.addfile(member, io.BytesIO(data))
