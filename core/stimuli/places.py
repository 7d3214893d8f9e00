"""Where the images of a folder lie: by the names that a table gives them, which may leave out
folders or the ending, or come from another machine.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path, PurePosixPath, PureWindowsPath

from core.errors import StimuliError
from core.stimuli.images import SUFFIXES, Stored
from core.stimuli.table import walk


@dataclass(frozen=True)
class Images:
    """The images of a folder. link: whether they may lie elsewhere, by an absolute path or a
    symbolic link. stored: those that lie in other files, by name. home: where their table lies.
    """

    folder: Path
    link: bool = False
    stored: Mapping[str, Stored] = field(default_factory=dict)
    home: Path = Path()

    def find(self, name: str) -> Stored:
        """Return where an image lies: by its path in the folder, its `images` or next to its table,
        else by the only path in a subfolder of which one is the end of the other, whatever the case
        of letters, and without the ending, or zeros before a number, where the name has none.

        Raises StimuliError where it is missing, where several files may be meant, and where it
        leads out of the folder.
        """
        if name in self.stored:
            return self.stored[name]
        # os.path.isfile, as Path.is_file raises for names that no file can have
        near = [self.folder / place / name for place in ("", "images")]
        if self.home.is_relative_to(self.folder):
            near.append(self.home / name)
        file = next((path for path in near if os.path.isfile(path)), None)
        if file is None and Path(name).parts[0] != os.pardir:
            file = self._search(name)
        if not self.link and (
            Path(name).parts[0] == os.pardir
            or (file and not file.resolve().is_relative_to(self.folder.resolve()))
        ):
            raise StimuliError(
                f"image {name} leads out of the folder; --link reads it where it is, or copy it"
                f" into {self.folder.name}"
            )
        if file is None:
            linked = f"; {self._linked} is a link, which --link follows" if self._linked else ""
            raise StimuliError(f"image {name} is not in the folder or its subfolders{linked}")
        return Stored(file.resolve())

    def _search(self, name: str) -> Path | None:
        wanted = PurePosixPath(name)
        found = self._places.get(wanted.name.lower(), [])
        if not found and name.isdecimal():  # 391895 is COCO's 000000391895.jpg
            found = self._places.get(name.lstrip("0"), [])
        if wanted.suffix.lower() in SUFFIXES:
            found = [place for place in found if place.name.lower() == wanted.name.lower()]
        found = [place for place in found if _fit(place.parent.parts, wanted.parent.parts)]
        same = [place for place in found if place.name == wanted.name]
        found = same or found
        if len(found) > 1:
            raise StimuliError(
                f"image {name} may be {' or '.join(map(str, found[:3]))}"
                f"{' or another' if len(found) > 3 else ''}; write it with its folder and ending"
            )
        return self.folder / found[0] if found else None

    @cached_property
    def _linked(self) -> str:
        """Return a link to a folder that is not followed, "" for none."""
        links = (path for path in self.folder.iterdir() if path.is_symlink() and path.is_dir())
        return "" if self.link else next((path.name for path in links), "")

    @cached_property
    def _places(self) -> Mapping[str, list[PurePosixPath]]:
        """Return the files by name, and the images also by the name without its ending, all in
        small letters.
        """
        places: dict[str, list[PurePosixPath]] = {}
        for path in walk(self.folder, link=self.link):
            place = PurePosixPath(Path(path).as_posix())
            places.setdefault(place.name.lower(), []).append(place)
            if place.suffix.lower() in SUFFIXES:
                for key in {place.stem.lower(), place.stem.lstrip("0") * place.stem.isdecimal()}:
                    places.setdefault(key, []).append(place)
        return places


def _fit(one: Iterable[str], other: Iterable[str]) -> bool:
    """Return whether of two lists of folders one is the end of the other, whatever the case."""
    pairs = zip(reversed([*one]), reversed([*other]), strict=False)
    return all(a.lower() == b.lower() for a, b in pairs)


def image_name(value: object) -> str:
    """Return an image's path in one spelling (".\\a\\b.jpg" is "a/b.jpg"), empty where there is
    none.
    """
    text = f"{value}".strip() if isinstance(value, str | int) else ""
    if "\\" in text:
        text = PureWindowsPath(text).as_posix()
    return os.path.normpath(text) if text else ""
