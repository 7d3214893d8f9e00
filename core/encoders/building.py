"""Models built of what files say: in bounds, without memory, and any failure in one sentence."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import RLock, get_ident
from typing import TYPE_CHECKING

from core.errors import EncoderError, PlatoscopeError
from core.files.userfile import UserFile
from core.machine.memory import is_out_of_memory
from core.unexpected import summarize

if TYPE_CHECKING:
    from torch import Tensor

MOST_PARTS = 50_000  # parameters of a model, as tensors: DeepSeek's largest has a third of these
# what a model may have beyond twice its weights: in parameters, and in tables that are not kept,
# such as masks, of which the smallest models of 2,048 tokens have as many as large ones
SPARE_PARTS, SPARE_NUMBERS, SPARE_TABLES = 1_000, 1 << 20, 1 << 27
PANIC = "PanicException"  # in a library written in Rust, where it is no Exception
# held while a model is made: transformers meanwhile changes torch's default type and initializers
# for all threads of the process
MAKING = RLock()


@contextmanager
def refusing(what: str, expected: str) -> Iterator[None]:
    """Say what was expected where a library cannot use a model's files, whatever it raises: odd
    content ends in errors of every kind. Raises EncoderError; too little memory stays what it is.
    """
    try:
        yield
    except PlatoscopeError:
        raise
    except BaseException as error:
        if not isinstance(error, Exception) and type(error).__name__ != PANIC:
            raise
        if is_out_of_memory(error):
            raise
        raise EncoderError(f"{what}: {summarize(error)}; {expected}") from error


@contextmanager
def outlining(place: object, shapes: Sequence[Sequence[int]] | None = None) -> Iterator[None]:
    """Build models within on torch's `meta` device, which takes no memory, and as `bounding`."""
    import torch  # seconds that a page without it must not pay

    with bounding(place, shapes), torch.device("meta"):
        yield


@contextmanager
def bounding(place: object, shapes: Sequence[Sequence[int]] | None = None) -> Iterator[None]:
    """Build models within no further than the weights that they are to hold; raises EncoderError
    for a model that outgrows them.

    place: what holds its config. shapes: of the weights, None where they are not known.
    """
    from torch.nn.modules.module import (
        register_module_buffer_registration_hook,
        register_module_parameter_registration_hook,
    )

    hooks = [
        register_module_parameter_registration_hook(_Watch(place, shapes, SPARE_NUMBERS)),
        register_module_buffer_registration_hook(_Watch(place, shapes, SPARE_TABLES)),
    ]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


class _Watch:
    """Counts the tensors of one kind that a thread's model gets, and refuses too many."""

    def __init__(self, place: object, shapes: Sequence[Sequence[int]] | None, spare: int) -> None:
        self._place, self._held, self._thread = place, _held(shapes), get_ident()
        self._tensors, self._numbers = 0, 0
        self._most_tensors, self._most_numbers = float(MOST_PARTS), math.inf
        if shapes is not None:
            self._most_tensors = 2 * len(shapes) + SPARE_PARTS
            self._most_numbers = 2 * _count(shapes) + spare

    def __call__(self, _: object, __: str, tensor: Tensor | None) -> None:
        if get_ident() != self._thread:  # torch calls it for the models of all threads
            return
        self._tensors += 1
        self._numbers += 0 if tensor is None else tensor.numel()
        if self._tensors > self._most_tensors or self._numbers > self._most_numbers:
            raise EncoderError(
                f"{self._place}: the model would have {self._tensors:,} tensors and"
                f" {self._numbers:,} numbers or more, where {self._held}; check its architecture,"
                " its sizes and its depth"
            )


def _count(shapes: Sequence[Sequence[int]]) -> int:
    return sum(math.prod(shape) for shape in shapes)


def _held(shapes: Sequence[Sequence[int]] | None) -> str:
    if shapes is None:
        return f"models have at most {MOST_PARTS:,} tensors"
    return f"its weights are {len(shapes):,} tensors of {_count(shapes):,} numbers"


def read_shapes(files: Sequence[Path]) -> dict[str, list[int]]:
    """Return the shapes of the tensors in files of weights by name; their numbers are not read."""
    from safetensors import safe_open

    shapes: dict[str, list[int]] = {}
    for path in files:
        if path.suffix == ".bin":
            shapes |= {name: list(tensor.shape) for name, tensor in read_pickled(path).items()}
            continue
        file = UserFile(path, "whole weights", EncoderError)
        with file.decoding(), safe_open(path, "pt") as tensors:
            names = list(tensors.keys())
            shapes |= {name: tensors.get_slice(name).get_shape() for name in names}
    return shapes


def read_pickled(path: Path) -> dict[str, Tensor]:
    """Return the tensors of a file of PyTorch's own by name, without their numbers; raises
    EncoderError for one that holds anything else.
    """
    from core.encoders.checkpoint import load_torch  # torch, as above

    file = UserFile(path, "whole weights", EncoderError)
    tensors = load_torch(file, map_location="meta", mmap=True)
    if not isinstance(tensors, dict) or not all(hasattr(one, "shape") for one in tensors.values()):
        raise EncoderError(f"{path} holds no state dict; expected tensors by parameter name")
    return tensors
