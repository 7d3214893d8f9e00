"""`python -m tests.benchmarks.throughput`: how many photographs a second are embedded, next to a
bare forward loop over tensors that are there, and a plain script with timm and a DataLoader.

Photographs of noise and models of random weights: their vectors mean nothing, their cost is that of
any of this size. Ratios are of one run, in which the ways take turns. With OMP_NUM_THREADS=1 those
of processor time hold on a busy machine too; threads that wait for each other count as working.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import torch
from PIL import Image
from timm.data import create_transform, resolve_data_config
from torch import Tensor
from torch.utils.data import DataLoader

from core.embedding.runner import auto_batch_size, embed
from core.encoders.vision import VisionEncoder, open_vision, read_layers
from core.settings import choose_device
from core.stimuli.dataset import Dataset
from core.stimuli.folder import open_folder
from core.store import add_dataset

MODELS = ("vit_small_patch16_224", "resnet50")
SHAPE = (480, 640)
BARE = "bare forward loop"
Ways = dict[str, Callable[[], object]]


def main(models: Sequence[str], photos: int, rounds: int, device: torch.device) -> None:
    """Print each way's throughput, and how much of the processor's work preparing is."""
    print(f"{photos} JPEGs of {SHAPE[1]} × {SHAPE[0]}, {device}, {os.cpu_count()} cores")
    with tempfile.TemporaryDirectory() as place:
        draw_photos(Path(place) / "photos", photos)
        dataset = open_folder(Path(place) / "photos", name="photos", images_only=True)
        add_dataset(Path(place) / "store", dataset)
        for name in models:
            encoder = open_vision(f"timm:{name}@untrained", device=device)
            batches, share = prepare(encoder, dataset)
            ways = ways_of(encoder, batches, dataset, Path(place))
            times = [{way: timed(run) for way, run in ways.items()} for _ in range(rounds)]
            print(name)
            for way in ways:
                report(way, times, photos)
            print(f"  preparing is {share:.0%} of the processor time of preparing and {BARE}")


def draw_photos(folder: Path, number: int) -> None:
    """Write JPEGs of soft patches with a grain, which take about as many bytes as photographs."""
    folder.mkdir()
    rng = np.random.default_rng(0)
    for index in range(number):
        patches = Image.fromarray(rng.integers(0, 256, (30, 40, 3), np.uint8))
        soft = np.asarray(patches.resize(SHAPE[::-1], Image.Resampling.BICUBIC), np.int16)
        pixels = (soft + rng.integers(-12, 13, soft.shape, np.int16)).clip(0, 255)
        Image.fromarray(pixels.astype(np.uint8)).save(folder / f"{index:05}.jpg", quality=85)


def prepare(encoder: VisionEncoder, dataset: Dataset) -> tuple[Sequence[Tensor], float]:
    """Return batches on the device, and the share of processor time that a single thread took to
    prepare them.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # waiting threads would count as working
    began = time.process_time()
    pixels = [encoder.prepare(dataset.image(index)) for index in range(dataset.card.size)]
    prepared = time.process_time()
    torch.set_num_threads(threads)
    batches = torch.stack(pixels).to(encoder.device).split(auto_batch_size(encoder.device))
    forward(encoder, batches[:1])  # what a first batch alone costs
    middle = time.process_time()
    forward(encoder, batches[:1])
    looked = (time.process_time() - middle) * len(pixels) / len(batches[0])
    return batches, (prepared - began) / (prepared - began + looked)


def ways_of(
    encoder: VisionEncoder, batches: Sequence[Tensor], dataset: Dataset, place: Path
) -> Ways:
    """Return what is timed by its name, the bare loop first."""
    numbers = count()
    last = replace(encoder, model=deepcopy(encoder.model).to(memory_format=torch.channels_last))
    turned = [batch.contiguous(memory_format=torch.channels_last) for batch in batches]
    return {
        BARE: partial(forward, encoder, batches),
        "platoscope embed": lambda: embed(
            place / "store", dataset, encoder, name=f"{encoder.card.name}-{next(numbers)}"
        ),
        "timm and a DataLoader": partial(plain_script, encoder, place / "photos"),
        f"{BARE}, channels last": partial(forward, last, turned),
    }


@torch.inference_mode()
def forward(encoder: VisionEncoder, batches: Sequence[Tensor]) -> list[list[Tensor]]:
    """Return the vectors of batches that lie on the device."""
    with encoder.arithmetic.forward_on(encoder.device):
        return [[each.cpu() for each in read_layers(encoder.model, batch)] for batch in batches]


class Photos:
    """What such a script calls its dataset."""

    def __init__(self, folder: Path, transform: Any) -> None:
        self.files, self.transform = sorted(folder.glob("*.jpg")), transform

    def __len__(self) -> int:
        return len(self.files)

    def __getitem__(self, index: int) -> Any:
        return self.transform(Image.open(self.files[index]).convert("RGB"))


@torch.inference_mode()
def plain_script(encoder: VisionEncoder, folder: Path) -> Tensor:
    """Return one vector a photograph, as a script of a dozen lines would make them."""
    model, device = encoder.model, encoder.device
    transform = create_transform(**resolve_data_config({}, model=model), is_training=False)
    loader = DataLoader(
        Photos(folder, transform),
        batch_size=auto_batch_size(device),
        num_workers=os.cpu_count() or 1,
        pin_memory=device.startswith("cuda"),
    )
    parts = []
    for batch in loader:
        with encoder.arithmetic.forward_on(device):
            features = model.forward_features(batch.to(device, non_blocking=True))
            parts.append(model.forward_head(features, pre_logits=True).float().cpu())
    return torch.cat(parts)


def timed(run: Callable[[], object]) -> tuple[float, float]:
    """Return the seconds that something takes: of the clock, and of processors."""
    began, worked = time.perf_counter(), sum(os.times()[:4])
    run()
    return time.perf_counter() - began, sum(os.times()[:4]) - worked


def report(way: str, times: Sequence[dict[str, tuple[float, float]]], photos: int) -> None:
    """Print a way's throughput and its ratios to that of the bare loop, each the median of all
    rounds.
    """
    speed = median(photos / each[way][0] for each in times)
    clock, worked = (median(each[BARE][of] / each[way][of] for each in times) for of in (0, 1))
    ratios = f"{clock:5.2f} of the bare loop, {worked:5.2f} by processor time"
    print(f"  {way:32} {speed:8.1f} images/s {ratios}", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", nargs="+", default=MODELS)
    parser.add_argument("--photos", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--device", default="auto")
    given = parser.parse_args()
    main(given.models, given.photos, given.rounds, choose_device(given.device))
