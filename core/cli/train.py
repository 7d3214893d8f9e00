"""`platoscope train`: train the Cave's models from their configs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from core.cave.training.configs import CONFIGS, Config, Tier, select
from core.cli.command import Command, device_option
from core.errors import InputError
from core.machine.processes import count_cores, spread
from core.options import argument, option
from core.settings import CAVE_WEIGHTS, choose_device

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class Train(Command):
    """Train the Cave's models from their configs."""

    command = "train"
    is_job = True
    over_store = False

    names: tuple[str, ...] = argument(
        metavar="NAME", help="configs to train, in any order", optional=True
    )
    starter: bool = option(False, help="the eight models of the smallest demo")
    core: bool = option(
        False, help="these and the rest that two CPU cores train in under four hours"
    )
    all: bool = option(False, help="the whole family; best on a GPU")
    device: str = device_option()
    jobs: int | None = option(
        None,
        metavar="JOBS",
        least=1,
        most=1_024,
        help="models trained at once, one CPU thread each (as many as there are cores)",
    )
    runs: str = option(
        "runs", metavar="RUNS", help="folder of checkpoints and of the training pool"
    )
    weights: str = option(
        str(CAVE_WEIGHTS),
        metavar="WEIGHTS",
        help="folder that finished models are published in",
    )

    def run(self, _: Path) -> None:
        chosen = {"starter": self.starter or self.core, "core": self.core, "family": False}
        tiers: list[Tier] = [tier for tier in get_args(Tier) if chosen[tier] or self.all]
        configs = select(self.names, tiers=tiers)
        if not configs:
            raise InputError(
                "no model to train; give names or --starter, --core, --all; there are:"
                f" {', '.join(CONFIGS)}"
            )
        train_all(
            configs,
            device=choose_device(self.device),
            runs=Path(self.runs),
            weights=Path(self.weights),
            jobs=self.jobs or count_cores(),
        )


def train_all(
    configs: Sequence[Config], *, device: torch.device, runs: Path, weights: Path, jobs: int
) -> None:
    """Train models in parallel, those that start from another one last."""
    import torch  # seconds that the other commands must not pay

    from core.cave.training.pool import Pool
    from core.cave.training.train import train

    job = partial(
        train, pool=Pool(runs / "pool", jobs=jobs), device=device, runs=runs, weights=weights
    )
    for wave in (
        [c for c in configs if c.start is None],
        [c for c in configs if c.start is not None],
    ):
        torch.set_num_threads(1)  # models this small gain nothing from more
        processes = max(1, min(jobs, len(wave)))
        for _, folder in spread(job, wave, processes=processes, threads=1):
            print(folder, flush=True)
