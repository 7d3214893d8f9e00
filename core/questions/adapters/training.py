"""Training linear adapters: encoders stay frozen, so only their vectors are needed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations
from math import ceil, isfinite, log

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float, Float32, Float64, Int64
from torch import Tensor

from core.errors import TrainingError
from core.questions.adapters.maps import (
    Adapter,
    Adapters,
    Direction,
    Parts,
    Settings,
    Start,
    first_weights,
)
from core.spaces.preprocess import check_space

SURE = 2.0  # standard errors by which a pass has to lead the start


def infonce(
    x: Float[Tensor, "n d"],
    y: Float[Tensor, "n d"],
    temperature: Float[Tensor, ""],
    *,
    direction: Direction = "both",
) -> Float[Tensor, ""]:
    """Return the InfoNCE loss of two encoders' vectors of the same stimuli:

        forward: −1/n · Σᵢ log exp(⟨xᵢ, yᵢ⟩/τ) / Σⱼ exp(⟨xᵢ, yⱼ⟩/τ),
        both: the mean of that and of the same with x and y exchanged.

    temperature: τ > 0. Range 0 … ∞, lower is better aligned; log n if all products are equal.
    Source: van den Oord, Li, Vinyals 2018 (forward, as the proposal of aligned adapters has it);
    Radford et al. 2021 (both).
    """
    logits = x @ y.T / temperature
    own = torch.arange(len(x), device=x.device)
    forward = F.cross_entropy(logits, own)
    return forward if direction == "forward" else (forward + F.cross_entropy(logits.T, own)) / 2


def joint_infonce(
    views: Sequence[Float[Tensor, "n d"]],
    temperature: Float[Tensor, ""],
    *,
    direction: Direction = "both",
) -> Float[Tensor, ""]:
    """Return the mean of `infonce` over all pairs of encoders, the earlier one first."""
    losses = [infonce(x, y, temperature, direction=direction) for x, y in combinations(views, 2)]
    return torch.stack(losses).mean()


@dataclass(frozen=True)
class Epoch:
    """The state of a training after `number` passes; 0 is the start.

    loss: mean over the training batches (of the first batch at the start). validation: over all
    validation stimuli at once. place: geometric mean of the rank of a validation stimulus's own
    vector, from 1. best: the adapters of the lowest place so far, of pass best_number with the loss
    best_validation; those of the start until a place is lower by SURE standard errors.
    """

    number: int
    loss: float
    validation: float
    place: float
    best: Adapters
    best_number: int
    best_validation: float


def train(
    spaces: Mapping[str, Float32[np.ndarray, "n _"]],
    parts: Parts,
    settings: Settings,
    *,
    seed: int = 0,
    device: torch.device | str = "cpu",
) -> Iterator[Epoch]:
    """Train one linear adapter for each of two or more encoders, and yield before the first and
    after every pass over the pairs; the last `best` is the answer.

    Vectors are brought into the coordinates of `first_weights`, mapped by W into the common space
    and scaled to length 1 (unless products are raw); the loss is `joint_infonce`. Retrieval of the
    validation stimuli chooses the pass that is kept; training ends after `patience` passes without
    better adapters. Raises MetricError for degenerate vectors, TrainingError if the loss is no
    number.
    """
    training = _Training(spaces, parts, settings, seed=seed, device=torch.device(device))
    best, best_number, best_validation = training.freeze(), 0, training.validation_loss()
    first = least = training.log_places()
    for number in range(settings.epochs + 1):
        loss = training.step_all() if number else training.first_loss()
        validation = training.validation_loss()
        if not isfinite(loss + validation):
            raise TrainingError(
                f"the adapters' loss is {loss} on training and {validation} on validation pairs"
                f" after {number} passes; take a lower rate or a higher temperature"
            )
        places = training.log_places()
        leads = first - places
        sure = leads.mean() > SURE * leads.std(ddof=1) / len(leads) ** 0.5
        if places.mean() < least.mean() and sure:
            least, best = places, training.freeze()
            best_number, best_validation = number, validation
        place = float(np.exp(places.mean()))
        yield Epoch(number, loss, validation, place, best, best_number, best_validation)
        if number - best_number >= settings.patience:
            return


class _View:
    """One encoder's coordinates of the stimuli that training may see, and the learned weights."""

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
        self._order = torch.Generator().manual_seed(seed)
        self._settings = settings
        starts = first_weights(spaces, parts, settings, seed=seed)
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
        )  # a batch of one pair would teach nothing

    def freeze(self) -> Adapters:
        maps = {name: view.freeze() for name, view in self._views.items()}
        return Adapters(maps, self._log.detach().exp().item(), self._settings.products)

    def step_all(self) -> float:
        """Pass once over all training pairs in a new order; return the mean loss."""
        order = torch.randperm(self._pairs, generator=self._order)
        losses = []
        for rows in order.tensor_split(self._batches):  # batches of nearly one size
            self._solver.zero_grad()
            loss = self._loss(rows)
            loss.backward()
            self._solver.step()
            losses.append(loss.item())
        return float(np.mean(losses))

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
        """Return the logarithm of the rank of each validation stimulus, averaged over the loss's
        directions; equal products share their mean rank.
        """
        views = [self._seen(view.validation @ view.weight) for view in self._views.values()]
        order = combinations if self._settings.direction == "forward" else permutations
        places = []
        for x, y in order(views, 2):
            products = x @ y.T
            own = products.diagonal()[:, None]
            tied = ((products == own).sum(dim=1) + 1) / 2
            places.append(((products > own).sum(dim=1) + tied).log())
        mean: np.ndarray = torch.stack(places).mean(dim=0).cpu().double().numpy()
        return mean

    def _loss(self, rows: Int64[Tensor, "m"]) -> Float[Tensor, ""]:
        return self._compare([view.train[rows] @ view.weight for view in self._views.values()])

    def _compare(self, vectors: list[Float[Tensor, "m width"]]) -> Float[Tensor, ""]:
        views = [self._seen(each) for each in vectors]
        return joint_infonce(views, self._log.exp(), direction=self._settings.direction)

    def _seen(self, vectors: Float[Tensor, "m width"]) -> Float[Tensor, "m width"]:
        if self._settings.products == "raw":
            return vectors
        return vectors / vectors.norm(dim=1, keepdim=True)
