"""Training linear adapters: encoders stay frozen, so their vectors are all that is needed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import ceil, isfinite, log

import numpy as np
import torch
from jaxtyping import Float, Float32, Int64
from torch import Tensor

from core.errors import InputError, TrainingError
from core.questions.adapters.maps.infonce import joint_infonce
from core.questions.adapters.maps.model import DEFAULTS, Adapter, Adapters, Parts, Settings
from core.spaces.inputs import check_space


@dataclass(frozen=True)
class Epoch:
    """Where a training stands after `number` of at most `most` passes; 0 is the start.

    loss: mean over the training batches (of the first batch at the start). validation: over all
    validation stimuli at once. best: the adapters of the lowest validation loss so far,
    best_validation, reached after best_number passes.
    """

    number: int
    most: int
    loss: float
    validation: float
    temperature: float
    best: Adapters
    best_number: int
    best_validation: float


def train(
    spaces: Mapping[str, Float32[np.ndarray, "n _"]],
    parts: Parts,
    settings: Settings = DEFAULTS,
    *,
    seed: int = 0,
    device: torch.device | str = "cpu",
) -> Iterator[Epoch]:
    """Train one linear adapter for each of two or more encoders, and yield before the first and
    after every pass over the pairs.

    Vectors are centered at the training stimuli's mean and divided by their root mean square
    length, mapped by W into the common space and scaled to length 1; the loss is `joint_infonce`.
    At the start each encoder has dimensions of its own in the common space, so that all products
    are 0 and the loss is log n exactly. Whoever stops iterating stops the training; the last `best`
    is the answer. spaces: by encoder, the same stimuli in each. seed: of first weights and order.
    Raises InputError for fewer than two encoders and a common space of fewer dimensions than
    encoders, MetricError for degenerate vectors, TrainingError where the loss is no number.
    """
    _check(spaces, settings)
    training = _Training(spaces, parts, settings, seed=seed, device=torch.device(device))
    least, best, best_number = float("inf"), training.freeze(), 0
    for number in range(settings.epochs + 1):
        loss = training.step_all() if number else training.first_loss()
        validation = training.validation_loss()
        if not isfinite(loss + validation):
            raise TrainingError(
                f"the adapters' loss is {loss} on training and {validation} on validation pairs"
                f" after {number} passes; take a lower rate or a higher temperature"
            )
        if validation < least:
            least, best, best_number = validation, training.freeze(), number
        reached = (loss, validation, training.temperature, best, best_number, least)
        yield Epoch(number, settings.epochs, *reached)
        if number - best_number >= settings.patience:
            return


class _View:
    """One encoder's centered and scaled vectors of the stimuli that training may see, and the
    weights that it learns.
    """

    def __init__(
        self, space: Float32[np.ndarray, "n d"], parts: Parts, device: torch.device
    ) -> None:
        for rows in (parts.train, parts.validation):
            check_space(space[rows])
        seen = space[parts.train]
        self.middle = seen.mean(axis=0)
        self.scale = float(np.sqrt(((seen - self.middle) ** 2).sum(axis=1).mean()))
        self.train, self.validation = (
            self._prepare(space[rows], device) for rows in (parts.train, parts.validation)
        )
        self.weight = torch.empty(0)

    def _prepare(
        self, rows: Float32[np.ndarray, "m d"], device: torch.device
    ) -> Float[Tensor, "m d"]:
        return torch.from_numpy((rows - self.middle) / np.float32(self.scale)).to(device)

    def start(self, own: slice, width: int, dice: torch.Generator) -> None:
        """Draw weights that fill only the dimensions in `own`."""
        weight = torch.zeros(self.train.shape[1], width)
        weight[:, own] = torch.randn(weight[:, own].shape, generator=dice) / width**0.5
        self.weight = weight.to(self.train.device).requires_grad_()

    def freeze(self) -> Adapter:
        """Return the adapter as it is now, for vectors that are neither centered nor scaled."""
        weight = self.weight.detach().cpu().numpy() / np.float32(self.scale)
        return Adapter(weight, -self.middle @ weight)


class _Training:
    """The state of one training."""

    def __init__(
        self,
        spaces: Mapping[str, Float32[np.ndarray, "n _"]],
        parts: Parts,
        settings: Settings,
        *,
        seed: int,
        device: torch.device,
    ) -> None:
        self._dice = torch.Generator().manual_seed(seed)
        self._views = {name: _View(space, parts, device) for name, space in spaces.items()}
        ends = np.linspace(0, settings.width, len(spaces) + 1).astype(int)
        for view, start, stop in zip(self._views.values(), ends, ends[1:], strict=False):
            view.start(slice(start, stop), settings.width, self._dice)
        self._log = torch.tensor(
            log(settings.temperature), device=device, requires_grad=settings.learned
        )
        self._solver = torch.optim.AdamW(
            [view.weight for view in self._views.values()],
            lr=settings.rate,
            weight_decay=settings.decay,
        )
        if settings.learned:
            self._solver.add_param_group({"params": [self._log], "weight_decay": 0.0})
        self._pairs = len(parts.train)
        self._batches = min(
            ceil(self._pairs / settings.batch), self._pairs // 2
        )  # a pair by itself would teach nothing

    @property
    def temperature(self) -> float:
        return self._log.detach().exp().item()

    def freeze(self) -> Adapters:
        return Adapters(
            {name: view.freeze() for name, view in self._views.items()}, self.temperature
        )

    def step_all(self) -> float:
        """Pass once over all training pairs in a new order; return the mean loss."""
        order = torch.randperm(self._pairs, generator=self._dice)
        return float(
            np.mean([self._step(rows) for rows in order.tensor_split(self._batches)])
        )  # batches of nearly one size

    def _step(self, rows: Int64[Tensor, "m"]) -> float:
        self._solver.zero_grad()
        loss = self._loss(rows)
        loss.backward()
        self._solver.step()
        return loss.item()

    @torch.no_grad()
    def first_loss(self) -> float:
        return self._loss(torch.arange(self._pairs).tensor_split(self._batches)[0]).item()

    @torch.no_grad()
    def validation_loss(self) -> float:
        return joint_infonce(
            [_unit(view.validation @ view.weight) for view in self._views.values()], self._log.exp()
        ).item()

    def _loss(self, rows: Int64[Tensor, "m"]) -> Float[Tensor, ""]:
        return joint_infonce(
            [_unit(view.train[rows] @ view.weight) for view in self._views.values()],
            self._log.exp(),
        )


def _unit(rows: Float[Tensor, "n d"]) -> Float[Tensor, "n d"]:
    unit: Tensor = rows / rows.norm(dim=1, keepdim=True)
    return unit


def _check(spaces: Mapping[str, np.ndarray], settings: Settings) -> None:
    if len(spaces) < 2:
        raise InputError(
            f"adapters bring two or more encoders together; got {len(spaces)}: choose another one"
            " as well"
        )
    if settings.width < len(spaces):
        raise InputError(
            f"the common space needs a dimension for each of {len(spaces)} encoders, or more; got"
            f" {settings.width}"
        )
