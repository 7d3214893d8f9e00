"""Every error that a user can meet: what was expected, what was given and what to do next."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from difflib import get_close_matches

UNEXPECTED, MISTAKE, INTERRUPTED = 1, 2, 130  # exit codes; 0: done
LONGEST = 60  # characters of a text that a message repeats


class PlatoscopeError(Exception):
    """Base of every error that is shown to a user as one sentence."""


class InputError(PlatoscopeError):
    """What was given cannot be used."""


def quoted(text: str) -> str:
    """Return a text in quotes, shortened if it is long."""
    return repr(shortened(text))


def shortened(text: str, most: int = LONGEST) -> str:
    return text if len(text) <= most else f"{text[:most]}…"


class UnknownNameError(InputError):
    """A name that does not exist; the message names the nearest valid ones."""

    def __init__(self, kind: str, name: str, valid: Iterable[str]) -> None:
        names = sorted(valid)
        near = get_close_matches(name[:LONGEST], names, n=3, cutoff=0.4)
        if near:
            hint = f"did you mean {' or '.join(near)}?"
        elif names:
            hint = f"there are: {', '.join(names[:12])}{' …' if len(names) > 12 else ''}"
        else:
            hint = "there are none yet"
        super().__init__(f"no {kind} named {quoted(name)}; {hint}")

    def __reduce__(self) -> tuple[Callable[[str], UnknownNameError], tuple[str]]:
        return _unknown_name, (str(self),)  # what a process sends to another


def _unknown_name(message: str) -> UnknownNameError:
    error = UnknownNameError.__new__(UnknownNameError)
    error.args = (message,)
    return error


class StimuliError(InputError):
    """A dataset that cannot be used: its table, captions or images."""


class NotApplicableError(StimuliError):
    """A question that is not about datasets of this kind, such as one without images."""


class FeatureError(InputError):
    """Features that cannot be used: wrong length, NaN, infinity, unsafe file."""


class EncoderError(InputError):
    """A model spec, a checkpoint or an input that a model cannot take."""


class MetricError(InputError):
    """A metric's arguments: k outside 1 … n − 1, different stimuli, degenerate input."""


class StoreError(PlatoscopeError):
    """The store cannot be read or written."""


class StoreBusyError(StoreError):
    """Another process is writing the same file."""


class NotEmbeddedError(StoreError):
    """A listed model has no vectors yet."""


class StoreChangedError(StoreError):
    """What is read was replaced or removed meanwhile."""


class StoreVersionError(StoreError):
    """A file of another schema or over another revision of its dataset."""


class StoreDamagedError(StoreError):
    """A truncated or foreign file."""


class StoreWriteError(StoreError):
    """The store is read-only or the disk is full."""


class ReadOnlyError(StoreWriteError):
    """The store is read-only: PLATOSCOPE_READ_ONLY, or `platoscope app --read-only`."""


class TrainingError(PlatoscopeError):
    """A training run that cannot continue, as its loss is NaN or its checkpoint does not fit."""


class OfflineError(PlatoscopeError):
    """The hub is needed and cannot be reached."""


class ClusterError(PlatoscopeError):
    """The cluster is needed, and cannot be reached or used."""


class DeviceError(PlatoscopeError):
    """The requested device is not there, or too small."""
