"""Models built of what files say: in bounds, without memory, and any failure in one sentence."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from core.errors import EncoderError, PlatoscopeError
from core.unexpected import is_out_of_memory, summarize

if TYPE_CHECKING:
    from torch import Tensor

MOST_PARTS = 50_000  # parameters of a model, as tensors: DeepSeek's largest has a third of these
SPARE_PARTS, SPARE_NUMBERS = 1_000, 1 << 24  # what a model may have beyond twice its weights
PANIC = "PanicException"  # in a library written in Rust, where it is no Exception


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
    from torch.nn.modules.module import register_module_parameter_registration_hook

    parts, numbers = _bounds(shapes)
    grown = [0, 0]

    def watch(_: object, __: str, parameter: Tensor | None) -> None:
        grown[0] += 1
        grown[1] += parameter.numel() if parameter is not None else 0
        if grown[0] > parts or grown[1] > numbers:
            raise EncoderError(
                f"{place}: config.json makes a model of {grown[0]:,} tensors and {grown[1]:,}"
                f" numbers or more, where {_held(shapes)}; check its sizes and its depth"
            )

    hook = register_module_parameter_registration_hook(watch)
    try:
        yield
    finally:
        hook.remove()


def _bounds(shapes: Sequence[Sequence[int]] | None) -> tuple[float, float]:
    if shapes is None:
        return MOST_PARTS, float("inf")
    return 2 * len(shapes) + SPARE_PARTS, 2 * _count(shapes) + SPARE_NUMBERS


def _count(shapes: Sequence[Sequence[int]]) -> int:
    return sum(math.prod(shape) for shape in shapes)


def _held(shapes: Sequence[Sequence[int]] | None) -> str:
    if shapes is None:
        return f"models have at most {MOST_PARTS:,} tensors"
    return f"its weights are {len(shapes):,} tensors of {_count(shapes):,} numbers"


def read_shapes(files: Sequence[Path]) -> dict[str, list[int]]:
    """Return the shapes of the tensors in safetensors files by name; their numbers are not read."""
    from safetensors import safe_open

    shapes: dict[str, list[int]] = {}
    for path in files:
        what = f"{path} cannot be read"
        with refusing(what, "expected whole weights: copy it again"), safe_open(path, "pt") as file:
            names = list(file.keys())
            shapes |= {name: file.get_slice(name).get_shape() for name in names}
    return shapes
