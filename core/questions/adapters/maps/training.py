"""Training linear adapters: encoders stay frozen, so their vectors are all that is needed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations, permutations
from math import ceil, isfinite, log

import numpy as np
import torch
from jaxtyping import Float, Float32, Float64, Int64
from torch import Tensor

from core.errors import InputError, TrainingError
from core.questions.adapters.maps.infonce import joint_infonce
from core.questions.adapters.maps.model import DEFAULTS, Adapter, Adapters, Parts, Settings
from core.questions.adapters.maps.starts import Start, set_out
from core.spaces.preprocess import check_space

SURE = 2.0  # standard errors by which a pass has to lead the start


@dataclass(frozen=True)
class Epoch:
    """The state of a training after `number` of at most `most` passes; 0 is the start.

    loss: mean over the training batches (of the first batch at the start). validation: over all
    validation stimuli at once. place: at which a validation stimulus's own vector comes among all,
    the geometric mean, 1 being first. best: the adapters of the lowest place so far, reached after
    best_number passes with the validation loss best_validation; those of the start until a place
    is lower by SURE standard errors.
    """

    number: int
    most: int
    loss: float
    validation: float
    place: float
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

    Vectors are brought into the coordinates of `core.questions.adapters.maps.starts.set_out`,
    mapped by W into the common space and scaled to length 1 (unless products are raw); the loss is
    `joint_infonce`. What is kept is chosen by retrieval of the validation stimuli; leaving the
    start takes a lead of SURE standard errors, not corrected for how many passes are looked at.
    Training ends after `patience` passes without better adapters. Whoever stops iterating stops the
    training; the last `best` is the answer. spaces: by encoder, the same stimuli in each. seed: of
    first weights and order. Raises InputError for fewer than two encoders, MetricError for
    degenerate vectors, TrainingError where the loss is no number.
    """
    _check(spaces)
    training = _Training(spaces, parts, settings, seed=seed, device=torch.device(device))
    best, best_number, best_validation = training.freeze(), 0, training.validation_loss()
    first = least = training.log_places()
    for number in range(settings.epochs + 1):
        loss = training.step_all() if number else training.first_loss()
        validation = training.validation_loss()
        _check_losses(loss, validation, number)
        places = training.log_places()
        if places.mean() < least.mean() and _leads(first - places):
            least, best, best_number, best_validation = (
                places,
                training.freeze(),
                number,
                validation,
            )
        reached = (loss, validation, float(np.exp(places.mean())), training.temperature)
        yield Epoch(number, settings.epochs, *reached, best, best_number, best_validation)
        if number - best_number >= settings.patience:
            return


class _View:
    """One encoder's coordinates of the stimuli that training may see, and the weights that it
    learns.
    """

    def __init__(
        self, space: Float32[np.ndarray, "n d"], parts: Parts, start: Start, device: torch.device
    ) -> None:
        self._start = start
        self.train, self.validation, self._base, self.learned = (
            torch.from_numpy(values.astype(np.float32)).to(device)
            for values in (
                start.coordinates.of(space[parts.train]),
                start.coordinates.of(space[parts.validation]),
                start.base,
                start.learned,
            )
        )
        self.learned.requires_grad_()

    @property
    def weight(self) -> Float[Tensor, "r width"]:
        return self._base + self.learned

    def freeze(self) -> Adapter:
        """Return the adapter as it is now, for vectors as the encoder gives them."""
        middle, turn = self._start.coordinates
        weight = turn @ self.weight.detach().cpu().numpy().astype(np.float64)
        return Adapter(weight.astype(np.float32), (-middle @ weight).astype(np.float32))


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
        for space in spaces.values():
            for rows in (parts.train, parts.validation):
                check_space(space[rows])
        self._dice = torch.Generator().manual_seed(seed)
        self._settings = settings
        starts = set_out(spaces, parts, settings, seed=seed)
        self._views = {
            name: _View(space, parts, starts[name], device) for name, space in spaces.items()
        }
        self._log = torch.tensor(
            log(settings.temperature), device=device, requires_grad=settings.learned
        )
        self._solver = torch.optim.AdamW(
            [view.learned for view in self._views.values()],
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
            {name: view.freeze() for name, view in self._views.items()},
            self.temperature,
            self._settings.products,
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
        return self._compare(
            [view.validation @ view.weight for view in self._views.values()]
        ).item()

    @torch.no_grad()
    def log_places(self) -> Float64[np.ndarray, "n"]:
        """Return the logarithm of the place at which each validation stimulus comes, as the loss
        compares and in its directions, averaged over these.
        """
        views = [self._seen(view.validation @ view.weight) for view in self._views.values()]
        order = combinations if self._settings.direction == "forward" else permutations
        places = [_places(x, y).log() for x, y in order(views, 2)]
        mean: np.ndarray = torch.stack(places).mean(dim=0).cpu().double().numpy()
        return mean

    def _loss(self, rows: Int64[Tensor, "m"]) -> Float[Tensor, ""]:
        return self._compare([view.train[rows] @ view.weight for view in self._views.values()])

    def _compare(self, vectors: list[Float[Tensor, "m width"]]) -> Float[Tensor, ""]:
        views = [self._seen(each) for each in vectors]
        return joint_infonce(views, self._log.exp(), direction=self._settings.direction)

    def _seen(self, vectors: Float[Tensor, "m width"]) -> Float[Tensor, "m width"]:
        return _unit(vectors) if self._settings.products == "cosine" else vectors


def _unit(rows: Float[Tensor, "n d"]) -> Float[Tensor, "n d"]:
    unit: Tensor = rows / rows.norm(dim=1, keepdim=True)
    return unit


def _places(x: Float[Tensor, "n d"], y: Float[Tensor, "n d"]) -> Float[Tensor, "n"]:
    """Return at which place each row of x finds its own of y, equally near ones sharing theirs."""
    products = x @ y.T
    own = products.diagonal()[:, None]
    places: Tensor = (products > own).sum(dim=1) + ((products == own).sum(dim=1) + 1) / 2
    return places


def _leads(leads: Float64[np.ndarray, "n"]) -> bool:
    """Return whether a lead is above 0 by SURE standard errors of its mean."""
    return bool(leads.mean() > SURE * leads.std(ddof=1) / len(leads) ** 0.5)


def _check_losses(loss: float, validation: float, number: int) -> None:
    if not isfinite(loss + validation):
        raise TrainingError(
            f"the adapters' loss is {loss} on training and {validation} on validation pairs"
            f" after {number} passes; take a lower rate or a higher temperature"
        )


def _check(spaces: Mapping[str, np.ndarray]) -> None:
    if len(spaces) < 2:
        raise InputError(
            f"adapters bring two or more encoders together; got {len(spaces)}: choose another one"
            " as well"
        )
