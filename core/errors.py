"""Every error that a user can meet, as one tree.

PlatoscopeError
├── InputError              what was given cannot be used
│   ├── UnknownNameError    what does not exist, say a model or a page; names the nearest
│   ├── StimuliError        a dataset: its table, captions or images
│   │   └── NotApplicableError   what is asked is of another kind of dataset; no one's mistake
│   ├── FeatureError        imported features or a space: wrong length, NaN, infinity, unsafe file
│   ├── EncoderError        a model spec, a checkpoint or a text that a model cannot take
│   └── MetricError         k outside 1 … n − 1, spaces over different stimuli, degenerate input
├── StoreError              the store cannot be read or written
│   ├── StoreBusyError      another process is writing the same file
│   ├── StoreChangedError   a file was replaced or removed while it was read
│   ├── StoreVersionError   written by another schema or over another dataset revision
│   ├── StoreDamagedError   a truncated or foreign file
│   └── StoreWriteError     read-only or full
│       └── ReadOnlyError   the store is only shown: `platoscope app --read-only`
├── TrainingError           a training run that cannot go on
├── OfflineError            the hub is needed and cannot be reached
├── ClusterError            the cluster is needed and cannot be used
└── DeviceError             the requested device is not there, or too small

Each message says what was expected, what was given and what to do next.
"""

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
    """Return a text as a message repeats it: in quotes, without the end of a long one."""
    return repr(shortened(text))


def shortened(text: str, most: int = LONGEST) -> str:
    """Return a text, without the end of one of more characters than a message has room for."""
    return text if len(text) <= most else f"{text[:most]}…"


class UnknownNameError(InputError):
    """A name that does not exist; the message lists the nearest valid ones."""

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
    """The store is only shown: PLATOSCOPE_READ_ONLY, or `platoscope app --read-only`."""


class TrainingError(PlatoscopeError):
    """A training run that cannot go on: its loss is no number, or its checkpoint is another
    config's.
    """


class OfflineError(PlatoscopeError):
    """The hub is needed and cannot be reached."""


class ClusterError(PlatoscopeError):
    """The cluster is needed, and cannot be reached or used."""


class DeviceError(PlatoscopeError):
    """The requested device is not there, or too small."""
