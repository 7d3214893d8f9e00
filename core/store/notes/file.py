"""A text file of what people have written: JSON, which they can read, edit and copy."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from core.errors import InputError, StoreDamagedError, StoreError
from core.files.limits import NOTES
from core.files.userfile import UserFile, said

PATIENCE = 5.0  # seconds that one visitor waits for another who writes
T = TypeVar("T")


def read_file(path: Path, parse: Callable[[Any], T], *, holds: str, anew: str) -> T | None:
    """Return what a file holds, None where there is none.

    parse: from JSON values; what it raises is taken for damage. holds: what the file is for. anew:
    what moving it away is good for. Raises StoreDamagedError, and StoreError where it cannot be
    read.
    """
    if not os.path.lexists(path):
        return None
    data = UserFile(path, f"{holds}, in JSON", StoreError, most=NOTES).read()
    try:
        return parse(json.loads(data.decode()))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, InputError) as error:
        raise StoreDamagedError(
            f"{path} does not hold {holds}; mend it in an editor, or move it away to {anew}"
            f" ({said(error)})"
        ) from error
