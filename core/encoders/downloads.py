"""What is still to be fetched of a model on the Hugging Face hub; files are counted there, not
fetched.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatch

from huggingface_hub import HfApi, constants, get_hf_file_metadata, hf_hub_url
from huggingface_hub.hf_api import DatasetInfo, ModelInfo

from core.encoders.fields import check_index
from core.errors import OfflineError
from core.hub.fetch import asking, cached
from core.hub.repository import Repository

TIMEOUT = 5.0  # seconds that the hub may keep a page waiting
SINGLE = "model.safetensors"
INDEX = "model.safetensors.index.json"  # names the files of weights that are split
PICKLED = "pytorch_model.bin"
# of weights in transformers' form, best first: the file, what names the files of those that are
# split, and the pattern of both
FORMS = (
    (SINGLE, INDEX, "model*.safetensors"),
    (PICKLED, f"{PICKLED}.index.json", "pytorch_model*.bin"),
)
WEIGHTS = tuple(pattern for _, _, pattern in FORMS)


@dataclass(frozen=True)
class Download:
    """How many bytes are still to be fetched; None where that is unknown, and why, in a sentence.
    is_hub_down: whether it is not worth asking for more. wanted, file: where a file of it lies.
    """

    size: int | None
    why: str = ""
    is_hub_down: bool = False
    wanted: Repository | None = field(default=None, compare=False)
    file: str = field(default="", compare=False)


def download_of(place: str, patterns: Sequence[str]) -> Download:
    """Return what is still to be fetched of the weights of `ID` or `ID@REVISION`, as `files_left`
    does.
    """
    return files_left(repository_of(place), patterns)


def files_left(wanted: Repository, patterns: Sequence[str]) -> Download:
    """Return what is still to be fetched of a repository: the files of the first pattern that the
    hub has files of, less those that are on this machine.

    Raises EncoderError or StimuliError for one that the hub does not have or keeps closed,
    OfflineError where the hub is not to be asked.
    """
    try:
        with asking(wanted, downloading=True):
            if _is_here(wanted, patterns):
                return Download(0)
            ask = HfApi().model_info if wanted.kind == "model" else HfApi().dataset_info
            how = {"files_metadata": True, "timeout": TIMEOUT}
            info = ask(wanted.id, revision=wanted.revision, **how)
    except OfflineError as error:
        if constants.is_offline_mode():
            raise
        return Download(None, f"{error}", is_hub_down=True)
    return _missing(info, wanted, patterns)


def check_access(download: Download) -> None:
    """Raise EncoderError or StimuliError where the hub does not give out what is to be fetched, as
    where its terms were not accepted; nothing is fetched. Raises OfflineError as `files_left`.
    """
    if download.wanted and download.size:
        wanted = download.wanted
        url = hf_hub_url(wanted.id, download.file, repo_type=wanted.kind, revision=wanted.revision)
        with asking(wanted, downloading=True):
            get_hf_file_metadata(url, timeout=TIMEOUT)


def repository_of(place: str) -> Repository:
    """Return the repository that `ID` or `ID@REVISION` means."""
    name, _, revision = place.partition("@")
    return Repository(name, place, "a folder with a copy of it", revision=revision or None)


def _is_here(wanted: Repository, patterns: Sequence[str]) -> bool:
    """Return whether all weights are on this machine, in one file or in several."""
    singles = [single for single, _, pattern in FORMS if pattern in patterns]
    if any(cached(wanted, name) for name in (SINGLE, *singles, *patterns)):
        return True
    indexes = [cached(wanted, index) for _, index, pattern in FORMS if pattern in patterns]
    return any(
        index and all(cached(wanted, one) for one in check_index(index)) for index in indexes
    )


def _missing(
    info: ModelInfo | DatasetInfo, wanted: Repository, patterns: Sequence[str]
) -> Download:
    """Count what the hub has and this machine has not."""
    for pattern in patterns:
        files = [each for each in info.siblings or () if fnmatch(each.rfilename, pattern)]
        if files:
            left = [each for each in files if not cached(wanted, each.rfilename)]
            size = sum(each.size or 0 for each in left)
            return Download(size, wanted=wanted, file=left[0].rfilename if left else "")
    return Download(None, f"The hub lists no {' or '.join(patterns)} of {wanted.id}.")
