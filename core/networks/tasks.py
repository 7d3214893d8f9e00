"""What a network is for, as a loss to fit by and a score to measure: questions about pictures, or
the next word of a text.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from core.networks.heads import CLASSES, Head, answers_to
from core.networks.network import Batch


@runtime_checkable  # tests check arguments against it
class Task(Protocol):
    """A head, and what its answers are worth."""

    def loss(self, features: Tensor, batch: Batch) -> Float[Tensor, ""]:
        """Return the mean loss over events."""

    def score(self, features: Tensor, batch: Batch) -> Float[Tensor, " b"]:
        """Return how well each event is answered; 1 is perfect."""

    def guess(self, examples: Batch, batch: Batch) -> Float[Tensor, " b"]:
        """Return the scores of who sees nothing, and knows how frequent answers are among the
        events of `known`.
        """


@dataclass(frozen=True)
class Labels:
    """Questions about a picture. loss: the mean over questions of the cross-entropy divided by
    log(number of classes). score: the share of questions that are answered right.
    """

    head: Head

    def loss(self, features: Float[Tensor, "b d"], batch: Batch) -> Float[Tensor, ""]:
        pairs = zip(self.head(features), answers_to(self.head.tasks, batch), strict=True)
        costs = [F.cross_entropy(row, label) / math.log(row.shape[1]) for row, label in pairs]
        return torch.stack(costs).mean()

    def score(self, features: Float[Tensor, "b d"], batch: Batch) -> Float[Tensor, " b"]:
        pairs = zip(self.head(features), answers_to(self.head.tasks, batch), strict=True)
        return torch.stack([(row.argmax(1) == label).float() for row, label in pairs]).mean(0)

    def guess(self, examples: Batch, batch: Batch) -> Float[Tensor, " b"]:
        tasks = self.head.tasks
        answers = zip(tasks, answers_to(tasks, examples), answers_to(tasks, batch), strict=True)
        right = [
            (torch.bincount(before, minlength=CLASSES[task]).argmax() == now).float()
            for task, before, now in answers
        ]
        return torch.stack(right).mean(0)


@dataclass(frozen=True)
class NextToken:
    """The next token of a caption. loss: mean negative log-likelihood of the tokens that bits are
    counted of, in nats. score: 1 − bits per byte.
    """

    head: Callable[[Tensor], Tensor]
    vocabulary: int

    def loss(self, features: Float[Tensor, "b t d"], batch: Batch) -> Float[Tensor, ""]:
        costs, coded = self._costs(features, batch), batch["coded"][:, 1:]
        return costs.sum() / coded.sum()

    def score(self, features: Float[Tensor, "b t d"], batch: Batch) -> Float[Tensor, " b"]:
        return _skill(self._costs(features, batch), batch)

    def guess(self, examples: Batch, batch: Batch) -> Float[Tensor, " b"]:
        seen = examples["tokens"][:, 1:][examples["coded"][:, 1:]]
        counts = torch.bincount(seen, minlength=self.vocabulary) + 1.0  # none is impossible
        costs = -(counts / counts.sum()).log()[batch["tokens"][:, 1:]]
        return _skill(costs * batch["coded"][:, 1:], batch)

    def _costs(self, features: Tensor, batch: Batch) -> Float[Tensor, "b followed"]:
        """Return the nats of every token that counts, 0 for the others."""
        logits = self.head(features[:, :-1]).float()
        wanted = batch["tokens"][:, 1:]
        costs = F.cross_entropy(logits.flatten(0, 1), wanted.flatten(), reduction="none")
        return costs.view_as(wanted) * batch["coded"][:, 1:]


def _skill(costs: Float[Tensor, "b t"], batch: Batch) -> Float[Tensor, " b"]:
    return 1 - costs.sum(1) / math.log(2) / batch["bytes"]
