"""Numbers that many questions ask for, each declared once."""

from __future__ import annotations

from typing import Any

from core.options.declaring import option
from core.options.ranges import MOST_DRAWS, MOST_SEED, MOST_STIMULI

PER_STIMULUS = "neighbors per stimulus, 1 … n − 1"


def seed_option(help: str) -> Any:
    """Declare the seed of whatever a question draws."""
    return option(0, least=0, most=MOST_SEED, label="Seed", help=help)


def neighbors_option(
    default: int | tuple[int, ...] | None = 10, *, help: str = PER_STIMULUS, name: str = ""
) -> Any:
    """Declare how many neighbors count: k, or several ks."""
    return option(default, name=name, least=1, most=MOST_STIMULI, label="Neighbors k", help=help)


def draws_option(default: int, *, least: int, help: str, label: str = "") -> Any:
    """Declare how often something is drawn: permutations, halves or draws with replacement."""
    return option(default, least=least, most=MOST_DRAWS, label=label, help=help)
