"""Tables of a hub's data set, judged before `datasets` reads them: it has no limits of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import datasets
from datasets.utils.py_utils import NestedDataStructure

from core.errors import StimuliError
from core.files.parquet import open_parquet
from core.files.userfile import UserFile


class JudgedFiles(datasets.DownloadManager):  # type: ignore[misc]
    """What brings files here for `datasets`; raises StimuliError for a Parquet table that unpacks
    to more than there is room for.
    """

    def download(self, url_or_urls: Any) -> Any:
        """Fetch files, or find those that are here, and return their paths in the same form."""
        paths = super().download(url_or_urls)
        for path in map(Path, NestedDataStructure(paths).flatten()):
            if path.is_file() and _is_parquet(path):
                check_table(path)
        return paths


def check_table(path: Path) -> None:
    """Raise StimuliError for a Parquet table whose footer says that it cannot be read."""
    with open_parquet(UserFile(path, "a Parquet table", StimuliError)):
        pass  # opening it judges it


def _is_parquet(path: Path) -> bool:
    with path.open("rb") as file:  # in the hub's cache it has no extension
        return file.read(4) == b"PAR1"
