"""What a GPU does, in stages of at most eight minutes each:

    python -m tests.benchmarks.gpu STAGE [--out FOLDER] [--small]

    tests         the tests that need a GPU; ends with their exit code
    vision        extraction of two vision transformers, next to a bare loop over ready tensors that
                  keeps every layer, and to the forward pass alone
    language-1b   the same for a causal model of 1.2 billion parameters in bfloat16
    language-7b   the same for one of 6.7 billion
    study         all layer pairs of a study of published size, next to a direct computation there
    cave          steps a second of a training in the Cave

Each stage writes FOLDER/STAGE.json and prints the rows of all stages so far. Weights are random:
their vectors mean nothing, their cost is that of any model of this size. --small tries a stage in
a minute at most on any device.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor
from torch.nn import functional as F
from transformers import AutoModelForCausalLM, LlamaConfig

from core.cave.training.configs import CONFIGS
from core.cave.training.loop import advance, begin, open_feed, world_of
from core.cave.training.pool import Pool
from core.cave.training.train import make_model, make_task
from core.embedding.runner import auto_batch_size, embed
from core.encoders.catalog import open_encoder
from core.encoders.encoder import Encoder
from core.encoders.language.encoder import LanguageEncoder
from core.encoders.vision import VisionEncoder, open_vision
from core.metrics.catalog import make_engine
from core.settings import CAVE_WEIGHTS, choose_device
from core.stimuli.folder import open_folder
from core.store import add_dataset
from tests.benchmarks.all_pairs import compare, make_study, prepare
from tests.benchmarks.throughput import draw_photos, forward
from tests.benchmarks.throughput import prepare as prepare_photos

Row = dict[str, Any]
VISION = ("vit_large_patch14_dinov2", "vit_base_patch16_clip_224")
LANGUAGE = {  # of the sizes of Llama 3.2 1B and of LLaMA 7B, with a small vocabulary
    "language-1b": {"hidden_size": 2048, "intermediate_size": 8192, "num_hidden_layers": 16},
    "language-7b": {"hidden_size": 4096, "intermediate_size": 11008, "num_hidden_layers": 32},
}
TEXTS, WORDS = 1024, 60
CALLS = 200  # pairs of layers that are computed directly


def timed(work: Callable[[], object]) -> float:
    """Return the seconds of work, until the GPU is done."""
    _wait()
    began = time.perf_counter()
    work()
    _wait()
    return time.perf_counter() - began


def _wait() -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def run_tests(device: torch.device, small: bool) -> list[Row]:
    """Run what is marked `gpu`."""
    del device
    words = ["--collect-only"] if small else []
    command = [sys.executable, "-m", "pytest", "-q", "-m", "gpu", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    said = re.findall(r"(\d+) (passed|failed|skipped|error)", done.stdout)
    counts = {state: int(count) for count, state in said}
    return [{"what": "tests", "code": done.returncode, **counts, "output": done.stdout[-4000:]}]


def measure_vision(device: torch.device, small: bool) -> list[Row]:
    """Time `embed` from JPEGs to the store, a bare loop over ready tensors that copies what a layer
    gives, and the forward pass alone.
    """
    photos, rows = 24 if small else 2048, []
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        draw_photos(place / "photos", photos)
        dataset = open_folder(place / "photos", name="photos", images_only=True)
        add_dataset(place / "store", dataset)
        for name in ("vit_tiny_patch16_224",) if small else VISION:
            encoder = open_vision(f"timm:{name}@untrained", device=device)
            batches, _ = prepare_photos(encoder, dataset)
            bare = timed(lambda: forward(encoder, batches))  # noqa: B023 - called at once
            whole = timed(lambda: embed(place / "store", dataset, encoder))  # noqa: B023

            @torch.inference_mode()
            def alone(
                encoder: VisionEncoder = encoder, batches: Sequence[Tensor] = batches
            ) -> None:
                with encoder.arithmetic.forward_on(encoder.device):
                    for batch in batches:
                        encoder.model(batch)

            rows.append(_ratio(name, encoder, photos, bare, whole, timed(alone)))
    return rows


def measure_language(size: str, device: torch.device, small: bool) -> list[Row]:
    """Time `embed` from texts to the store, with bits, a bare loop over ready batches of the same
    size that averages every layer and computes the loss, and the forward pass alone.
    """
    shape = {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2}
    shape = shape if small else LANGUAGE[size]
    texts = 64 if small else TEXTS
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        spec = _save_model(place / size, shape, device)
        dataset = _captioned(place, texts)
        add_dataset(place / "store", dataset)
        encoder = open_encoder(spec, device=device)
        assert isinstance(encoder, LanguageEncoder)
        written = dataset.captions["text"].tolist()
        tokens = encoder.tokenizer(written, return_tensors="pt", padding=True).to(encoder.device)
        batch = auto_batch_size(encoder.device)
        ready = list(
            zip(
                tokens["input_ids"].split(batch), tokens["attention_mask"].split(batch), strict=True
            )
        )

        @torch.inference_mode()
        def bare() -> None:
            for ids, mask in ready:
                more = {"attention_mask": mask, "output_hidden_states": True, "use_cache": False}
                output = encoder.model(ids, **more)
                for state in output.hidden_states:
                    kept = mask.unsqueeze(2)
                    ((state * kept).sum(1) / kept.sum(1)).float().cpu()
                logits = output.logits[:, :-1].float()
                F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten(), reduction="none").cpu()

        @torch.inference_mode()
        def alone() -> None:
            for ids, mask in ready:
                encoder.model(ids, attention_mask=mask, use_cache=False)

        bare()  # what a first batch alone costs
        kept = timed(bare)
        whole = timed(lambda: embed(place / "store", dataset, encoder))
        return [_ratio(size, encoder, texts, kept, whole, timed(alone))]


def _save_model(folder: Path, shape: dict[str, int], device: torch.device) -> str:
    shutil.copytree(CAVE_WEIGHTS / "tokenizers" / "language", folder)
    heads = {"num_attention_heads": shape["hidden_size"] // 64 or 1, "vocab_size": 1280}
    config = LlamaConfig(**shape, **heads, dtype="bfloat16")
    with device:
        model = AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16)
    model.save_pretrained(folder)
    return f"hf:{folder}"


def _captioned(place: Path, texts: int) -> Any:
    draw_photos(place / "photos", texts)
    rng = np.random.default_rng(0)
    words = ["boat", "red", "house", "near", "the", "beach", "two", "birds", "at", "noon"]
    names = sorted(path.name for path in (place / "photos").glob("*.jpg"))
    rows = [(name, " ".join(rng.choice(words, WORDS))) for name in names]
    pd.DataFrame(rows, columns=["image", "caption"]).to_csv(
        place / "photos" / "captions.csv", index=False
    )
    return open_folder(place / "photos", name="texts")


def _ratio(
    name: str, encoder: Encoder, items: int, bare: float, whole: float, forward: float
) -> Row:
    speeds = {
        "per second": items / whole,
        "bare per second": items / bare,
        "ratio": bare / whole,
        "forward per second": items / forward,
    }
    return {"what": name, "parameters": encoder.card.parameters, "items": items, **speeds}


def measure_study(device: torch.device, small: bool) -> list[Row]:
    """Time all layer pairs of 17 × 12 models by mutual k-NN from raw features, and a direct
    computation of single pairs on the same device, times their number.
    """
    study = make_study(0.02 if small else 1.0)
    engine = make_engine("mutual_knn", device="cpu" if small else str(device))
    prepare(engine, study.vision[:1])  # what a first call alone costs
    sides = [prepare(engine, side) for side in (study.vision, study.language)]
    seconds = sum(taken for _, taken in sides) + compare(engine, sides[0][0], sides[1][0])
    calls = 4 if small else CALLS
    pairs = [tuple(torch.tensor(one, device=device) for one in two) for two in study.samples(calls)]
    _direct(*pairs[0])
    direct = timed(lambda: [_direct(*two) for two in pairs]) / calls * study.pairs
    size = {"what": "study", "pairs": study.pairs}
    return [{**size, "seconds": seconds, "direct seconds": direct, "ratio": direct / seconds}]


def _direct(x: torch.Tensor, y: torch.Tensor, k: int = 10) -> float:
    lists = []
    for space in (x, y):
        rows = F.normalize(space)
        lists.append((rows @ rows.T).fill_diagonal_(-1e8).topk(k).indices)
    masks = [torch.zeros(len(x), len(x), device=x.device).scatter_(1, one, 1.0) for one in lists]
    return float((masks[0] * masks[1]).sum(1).mean() / k)


def measure_training(device: torch.device, small: bool) -> list[Row]:
    """Time steps of two trainings."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        pool = Pool(Path(folder))
        for name in ("gpt2-xs",) if small else ("vit-multitask-m", "gpt2-m"):
            config = CONFIGS[name]
            model, tokenizer = make_model(config, pool)
            run = begin(
                config, make_task(config, model, tokenizer), device, world=world_of(config, pool)
            )
            feed = open_feed(config, pool, device)
            advance(run, feed)
            steps = 2 if small else 200
            seconds = timed(lambda: [advance(run, feed) for _ in range(steps)])  # noqa: B023
            rows.append({"what": name, "steps": steps, "steps per second": steps / seconds})
    return rows


STAGES: dict[str, Callable[[torch.device, bool], list[Row]]] = {
    "tests": run_tests,
    "vision": measure_vision,
    "language-1b": lambda device, small: measure_language("language-1b", device, small),
    "language-7b": lambda device, small: measure_language("language-7b", device, small),
    "study": measure_study,
    "cave": measure_training,
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("stage", choices=STAGES)
    parser.add_argument("--out", type=Path, default=Path("build/gpu"))
    parser.add_argument("--small", action="store_true")
    given = parser.parse_args()
    device = choose_device("auto")
    if device.type != "cuda" and not given.small:
        sys.exit("no CUDA device; --small tries the stage on this one")
    name = torch.cuda.get_device_name() if device.type == "cuda" else "cpu"
    began = time.perf_counter()
    rows = STAGES[given.stage](device, given.small)
    took = time.perf_counter() - began  # at most 480
    rows = [{"device": name, "stage seconds": took, **row} for row in rows]
    given.out.mkdir(parents=True, exist_ok=True)
    text = json.dumps(rows, indent=1)
    (given.out / f"{given.stage}.json").write_text(f"{text}\n", encoding="utf-8")
    every = [
        row for file in sorted(given.out.glob("*.json")) for row in json.loads(file.read_text())
    ]
    print(pd.DataFrame(every).drop(columns="output", errors="ignore").to_string(index=False))
    sys.exit(max(row.get("code", 0) for row in rows))


if __name__ == "__main__":
    main()
