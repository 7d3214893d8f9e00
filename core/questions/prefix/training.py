"""How a prefix is trained: by the likelihood of captions alone, both networks frozen."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from core.encoders.language.encoder import LanguageEncoder
from core.errors import TrainingError
from core.networks.prefixed import ImagePrefix, Seen, Tokens, code_after, tokenize

BATCH = 32
RATE = 0.03  # in units of the spread of word embeddings
WARMUP = 0.05  # of all steps
HELD_OUT = 8  # one picture of so many validates


def train(
    encoder: LanguageEncoder,
    prefix: ImagePrefix,
    seen: Seen,
    captions: Callable[[int], Sequence[str]],
    *,
    passes: int,
    dice: torch.Generator,
    report: Callable[[int, int], None],
) -> ImagePrefix:
    """Train a prefix by AdamW, its rate down a cosine, and return it as it was after the pass that
    codes the validation captions best.

    seen: the images' tokens. captions: of all images, by pass. The last eighth of the images
    validates. report: called with steps done, and steps in all. Raises TrainingError where the loss
    stops being a number.
    """
    taught, length = len(seen) - max(1, len(seen) // HELD_OUT), seen.shape[1]
    steps, done = passes * math.ceil(taught / BATCH), 0
    optimizer = torch.optim.AdamW(prefix.parameters(), lr=RATE, weight_decay=0.0)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: _rate(step, steps))
    best, kept = math.inf, prefix.state_dict()
    exam = tokenize(encoder, captions(passes)[taught:], length=length)
    for number in range(passes):
        tokens, front = tokenize(encoder, captions(number)[:taught], length=length)
        for rows in torch.randperm(taught, generator=dice).split(BATCH):
            optimizer.zero_grad(set_to_none=True)
            _loss(encoder, prefix, seen[rows], [tokens[row] for row in rows], front).backward()
            nn.utils.clip_grad_norm_(prefix.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            done += 1
            report(done, steps)
        reached = _validate(encoder, prefix, seen[taught:], exam)
        if reached < best:
            best = reached
            kept = {name: value.clone() for name, value in prefix.state_dict().items()}
    prefix.load_state_dict(kept)
    return prefix


def _validate(
    encoder: LanguageEncoder, prefix: ImagePrefix, seen: Seen, exam: tuple[Tokens, int]
) -> float:
    """Return the mean bits of validation captions; raises TrainingError where they are no
    number.
    """
    reached = float(code_all(encoder, prefix, seen, *exam).mean())
    if not math.isfinite(reached):
        raise TrainingError(
            f"the loss of a prefix for {encoder.card.name} is not a number; train it on other"
            " pictures or with another model"
        )
    return reached


@torch.no_grad()
def code_all(
    encoder: LanguageEncoder, prefix: ImagePrefix, seen: Seen, tokens: Tokens, front: int
) -> Tensor:
    """Return the bits of each text behind the prefix of its image, on the CPU."""
    parts = range(0, len(seen), BATCH)
    return torch.cat(
        [
            code_after(encoder, prefix(seen[at : at + BATCH]), tokens[at : at + BATCH], front).cpu()
            for at in parts
        ]
    )


def _loss(
    encoder: LanguageEncoder, prefix: ImagePrefix, seen: Seen, tokens: Tokens, front: int
) -> Tensor:
    """Return the bits per token of a batch."""
    coded = sum(len(each) - front for each in tokens)
    return code_after(encoder, prefix(seen), tokens, front).sum() / coded


def _rate(step: int, steps: int) -> float:
    warmup = max(1, round(WARMUP * steps))
    return min((step + 1) / warmup, (1 + math.cos(math.pi * step / steps)) / 2)
