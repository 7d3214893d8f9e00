"""Images from anywhere, made safe: plain raster formats, no more pixels than MAX_PIXELS, first
frame, upright, RGB, transparent parts on white. Whatever a decoder raises becomes a StimuliError.
"""

from __future__ import annotations

import posixpath
import tarfile
import warnings
from collections.abc import Collection
from contextlib import suppress
from io import BytesIO
from os import SEEK_END
from pathlib import Path
from threading import Lock
from typing import BinaryIO, NamedTuple

import numpy as np
from PIL import Image, ImageOps

from core.errors import StimuliError
from core.files.userfile import FIELD, IMAGE, UserFile
from core.machine.memory import size_text

FORMATS = ("JPEG", "PNG", "WEBP", "GIF", "TIFF", "BMP", "AVIF", "JPEG2000", "PPM")
SUFFIXES = (
    *(".jpg", ".jpeg", ".png", ".webp", ".gif", ".tif"),
    *(".tiff", ".bmp", ".avif", ".jp2", ".ppm"),
)
MAX_PIXELS = 178_956_970  # half a gigabyte as RGB; 30,000 × 5,965

_SHORT_SIDE = (64, 64)  # a JPEG is checked at an eighth of its size, but not below this
_STRIP = 256  # rows of an image that are laid over white at a time
_DOUBTFUL = ("I", "F", "LAB")  # whether these become RGB is known only after trying
_BLOCK = 512  # bytes, of zeros at a tar's end
_OPENING = Lock()  # catch_warnings changes the filters of every thread


def load_image(data: bytes, *, name: str, side: int | None = None) -> Image.Image:
    """Decode an image to RGB at full size, a JPEG at a fraction of it if its sides stay longer than
    `side`: the first frame, upright by EXIF, 16-bit values divided by 257, transparent parts over
    white, without color profiles. name: for messages. Raise StimuliError for what is not an image,
    is cut off, has over MAX_PIXELS, or has values of no stated range.
    """
    image = _open(BytesIO(data), name)
    try:
        if side is not None:
            image.draft("RGB", (side, side))
        image.load()
        with suppress(Exception):  # a damaged tag block says nothing of the pixels: shown unturned
            image = ImageOps.exif_transpose(image)
        return _flatten(image, name)
    except StimuliError:
        raise
    # decoders raise anything on broken bytes: OSError, SyntaxError, struct.error, KeyError …
    except Exception as error:
        raise StimuliError(_broken(name, error)) from error


def check_image(data: bytes, *, name: str) -> None:
    """Raise StimuliError if `load_image` would; a JPEG is decoded at an eighth of its size."""
    image = _open(BytesIO(data), name)
    try:
        image.draft("RGB", _SHORT_SIDE)
        image.load()
        if image.mode in _DOUBTFUL:
            load_image(data, name=name)
    except StimuliError:
        raise
    except Exception as error:  # as above
        raise StimuliError(_broken(name, error)) from error


class Stored(NamedTuple):
    """Where the bytes of an image lie: a file, or a part of one. size: None for the whole file."""

    path: Path
    start: int = 0
    size: int | None = None

    def __str__(self) -> str:
        return str(self.path) if self.size is None else f"at byte {self.start:,} of {self.path}"

    def read(self) -> bytes:
        if self.size is None:
            return read_image(self.path)
        if self.size > IMAGE:
            raise StimuliError(
                f"{self} is an image of {size_text(self.size)}; expected one of"
                f" {size_text(IMAGE)} at most"
            )
        with UserFile(self.path, "images in a tar", StimuliError).open() as file:
            file.seek(self.start)
            return file.read(self.size)


def read_image(path: Path) -> bytes:
    return UserFile(path, "an image", StimuliError, most=IMAGE).read()


def _open(file: BinaryIO, name: str) -> Image.Image:
    if not file.read(1):
        raise StimuliError(
            f"image {name} is empty (0 bytes); an image file was expected; copy it again"
        )
    file.seek(0)
    try:
        with _OPENING, warnings.catch_warnings():
            warnings.simplefilter(
                "ignore", Image.DecompressionBombWarning
            )  # our own bound is checked below
            image = Image.open(file, formats=FORMATS)
    except Image.DecompressionBombError as error:
        raise StimuliError(_too_large(name)) from error
    except Exception as error:  # as above
        raise StimuliError(
            f"{name} is not an image; expected one of {', '.join(FORMATS)}"
        ) from error
    if image.width * image.height > MAX_PIXELS:
        raise StimuliError(_too_large(name, image))
    return image


def _flatten(image: Image.Image, name: str) -> Image.Image:
    if image.mode.startswith("I"):
        values = np.asarray(image)
        if values.min() < 0 or values.max() > 65535:
            raise StimuliError(
                f"image {name} has 32-bit pixels of no stated range; convert it to 8 or 16 bits"
            )
        # rounded to the nearest: 257 is odd, so that there is always one
        scaled = ((values.astype(np.uint32) + 128) // 257).astype(np.uint8)
        return Image.fromarray(scaled).convert("RGB")
    if image.mode == "F":
        raise StimuliError(
            f"image {name} has floating-point pixels of no stated range; convert it to 8 or 16 bits"
        )
    if not image.has_transparency_data:
        return image.convert("RGB")
    flat = Image.new("RGB", image.size)
    for top in range(0, image.height, _STRIP):  # four copies of a whole image may be gigabytes
        strip = (0, top, image.width, min(top + _STRIP, image.height))
        colors = image.crop(strip).convert("RGBA")
        white = Image.new("RGBA", colors.size, "white")
        flat.paste(Image.alpha_composite(white, colors).convert("RGB"), strip)
    return flat


def _too_large(name: str, image: Image.Image | None = None) -> str:
    size = f"{image.width:,} × {image.height:,} pixels, over" if image else "more pixels than"
    return f"image {name} has {size} the limit of {MAX_PIXELS:,}; shrink it first"


def _broken(name: str, error: Exception) -> str:
    return f"image {name} is damaged or cut off ({error}); copy it again"


class Member(NamedTuple):
    """A file in a tar. key: its name without the ending, which files of one sample share. suffix:
    the ending, in small letters. data: its content, if that was asked for.
    """

    name: str
    key: str
    suffix: str
    place: Stored
    data: bytes = b""


def list_members(path: Path, *, read: Collection[str], listed: Collection[str]) -> list[Member]:
    """Return the files of a tar by their endings: those that are read, FIELD bytes of each at most,
    and those that are only listed. Raise StimuliError for what is no whole tar.
    """
    members = []
    archive = UserFile(path, "a whole tar file", StimuliError)
    with archive.open() as file, archive.decoding(), tarfile.open(fileobj=file, mode="r:") as tar:
        for member in tar:
            name = posixpath.normpath(member.name)
            key, dot, suffix = name.rpartition(".")
            ending, data = dot + suffix.lower(), b""
            hidden = posixpath.basename(name).startswith(".")  # macOS adds ._a.jpg to a.jpg
            if not member.isfile() or hidden or ending not in (*read, *listed):
                continue
            if ending in read:  # without moving the file from where tarfile reads on
                here = file.tell()
                file.seek(member.offset_data)
                data = file.read(min(member.size, FIELD))
                file.seek(here)
            place = Stored(path, member.offset_data, member.size)
            members.append(Member(name, key, ending, place, data))
        # what is cut off behind a member looks like a smaller set
        file.seek(-_BLOCK, SEEK_END)
        if any(file.read()):
            raise tarfile.ReadError("its end is missing")
    return members
