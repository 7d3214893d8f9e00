"""What is still to be fetched of a model on the Hugging Face hub; files are counted there, not
fetched.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

import httpx2
from huggingface_hub import HfApi, try_to_load_from_cache
from huggingface_hub.errors import HfHubHTTPError
from huggingface_hub.hf_api import ModelInfo

from core.encoders.hub import hub_errors

PATIENCE = 5.0  # seconds that the hub may take to answer
INDEX = "model.safetensors.index.json"  # names the files of weights that are split
SILENT = "The hub does not answer now: a model that is not on this machine needs it."


@dataclass(frozen=True)
class Download:
    """How many bytes are still to be fetched; None where that is unknown, and why, in a
    sentence.
    """

    size: int | None
    why: str = ""


def download_of(repository: str, patterns: Sequence[str]) -> Download:
    """Return what is still to be fetched of a model's weights: the files of the first pattern that
    the hub has files of, less those that are on this machine.

    Raises EncoderError for a model that the hub does not have or keeps closed, OfflineError where
    the hub is not to be asked.
    """
    try:
        with hub_errors(repository, instead="a folder with a copy of it"):
            if _is_here(repository, patterns):
                return Download(0)
            info = HfApi().model_info(repository, files_metadata=True, timeout=PATIENCE)
    except HfHubHTTPError as error:
        status = error.response.status_code
        return Download(None, f"The hub answers with error {status} for {repository}; try later.")
    except httpx2.HTTPError:
        return Download(None, SILENT)
    return _missing(info, repository, patterns)


def cached(repository: str, file: str) -> Path | None:
    """Return where a file of the hub lies on this machine, None where it does not."""
    path = try_to_load_from_cache(repository, file)
    return Path(path) if isinstance(path, str) else None


def _is_here(repository: str, patterns: Sequence[str]) -> bool:
    """Return whether all weights are on this machine, in one file or in several."""
    if any(cached(repository, name) for name in ("model.safetensors", *patterns)):
        return True
    index = cached(repository, INDEX)
    if index is None:
        return False
    names = set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values())
    return all(cached(repository, name) for name in names)


def _missing(info: ModelInfo, repository: str, patterns: Sequence[str]) -> Download:
    """Count what the hub has and this machine has not."""
    for pattern in patterns:
        files = [each for each in info.siblings or () if fnmatch(each.rfilename, pattern)]
        if files:
            left = [each.size or 0 for each in files if not cached(repository, each.rfilename)]
            return Download(sum(left))
    return Download(None, f"The hub lists no {' or '.join(patterns)} of {repository}.")
