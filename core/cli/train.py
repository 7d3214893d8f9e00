"""`platoscope train`: train the Cave's models from their configs."""

from __future__ import annotations

import argparse
import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core.cli.shared import add_command, add_number
from core.errors import InputError
from core.machine.processes import count_cores, end_with_parent, interrupts_held, naming_killed
from core.options import Range
from core.settings import CAVE_WEIGHTS, choose_device

if TYPE_CHECKING:
    import torch

    from core.cave.training.configs import Config, Tier

RUNS = Path("runs")


def add(commands: Any) -> None:
    """Add `train`."""
    parser = add_command(
        commands,
        "train",
        run,
        "train the Cave's models from their configs",
        store=False,
        job=True,
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="configs to train, in any order")
    parser.add_argument(
        "--starter", action="store_true", help="the eight models of the smallest demo"
    )
    parser.add_argument(
        "--core",
        action="store_true",
        help="these and the rest that two CPU cores train in under three hours",
    )
    parser.add_argument("--all", action="store_true", help="the whole family; best on a GPU")
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda or mps")
    add_number(
        parser,
        "--jobs",
        Range(1, 1_024),
        "models trained at once, one CPU thread each (as many as there are cores)",
    )
    parser.add_argument(
        "--runs", type=Path, default=RUNS, help="folder of checkpoints and of the training pool"
    )
    parser.add_argument(
        "--weights",
        type=Path,
        default=CAVE_WEIGHTS,
        help="folder that finished models are published in",
    )


def run(options: argparse.Namespace) -> None:
    """Train what the options name and print the published folders; raises InputError where they
    name nothing.
    """
    from core.cave.training.configs import (  # the Cave, whose tasks it names, takes pandas
        CONFIGS,
        select,
    )

    configs = select(options.names, tiers=_tiers(options))
    if not configs:
        raise InputError(
            "no model to train; give names or --starter, --core, --all; there are:"
            f" {', '.join(CONFIGS)}"
        )
    train_all(
        configs,
        device=choose_device(options.device),
        runs=options.runs,
        weights=options.weights,
        jobs=options.jobs or count_cores(),
    )


def train_all(
    configs: Sequence[Config], *, device: torch.device, runs: Path, weights: Path, jobs: int
) -> None:
    """Train models side by side: first those that begin from nothing, then those that begin with
    one of these.
    """
    from core.cave.training.pool import Pool  # seconds that the other commands must not pay
    from core.cave.training.train import train

    job = partial(
        train, pool=Pool(runs / "pool", jobs=jobs), device=device, runs=runs, weights=weights
    )
    for wave in (
        [c for c in configs if c.start is None],
        [c for c in configs if c.start is not None],
    ):
        for folder in _side_by_side(job, wave, min(jobs, len(wave))):
            print(folder, flush=True)


def _side_by_side(
    job: Callable[[Config], Path], configs: Sequence[Config], jobs: int
) -> Iterator[Path]:
    """Yield each job's result in order; raises DeviceError where a process was killed.

    The first error waits for the trainings that have begun; an interrupt ends them at once, and
    their checkpoints let them go on.
    """
    if jobs <= 1:
        _take_one_thread()
        yield from map(job, configs)
        return
    context = multiprocessing.get_context("spawn")  # CUDA and torch's threads do not survive a fork
    pool = ProcessPoolExecutor(jobs, context, _begin)
    with pool, naming_killed(jobs), _ending_interrupted():
        with interrupts_held():
            trainings = [pool.submit(job, config) for config in configs]
        try:
            for training in trainings:
                yield training.result()
        except Exception:
            pool.shutdown(cancel_futures=True)
            raise


@contextmanager
def _ending_interrupted() -> Iterator[None]:
    """End the processes that began here where an interrupt, or whoever stops, ends the block: a
    pool would wait for them, and for what lies in its queue.
    """
    try:
        yield
    except (KeyboardInterrupt, GeneratorExit):
        for process in multiprocessing.active_children():
            process.terminate()
        raise


def _begin() -> None:
    end_with_parent()
    _take_one_thread()


def _take_one_thread() -> None:
    """Compute with one CPU thread: models this small gain nothing from more, and sums stay the
    same.
    """
    import torch  # as above

    torch.set_num_threads(1)


def _tiers(options: argparse.Namespace) -> list[Tier]:
    chosen: list[Tier] = ["starter"] * (options.starter or options.core or options.all)
    return chosen + ["core"] * (options.core or options.all) + ["family"] * options.all
