"""`python -m tests.benchmarks.large_model`: peak memory and seconds of embedding 16 captions with a
language model of two billion parameters.

The model is of LLaMA's kind and random, made from its config alone, in bfloat16: its vectors mean
nothing, its cost is that of any of this size. It takes 5 GB of memory to make and as much of the
disk, and nothing of it is left.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM, LlamaConfig

from core.encoders.language.folder import quiet
from core.stimuli.cave import CaveDataset
from core.store import Store, add_dataset
from tests.encoders.tiny_models import save_tokenizer

CAPTIONS = 16
LIMIT = 12.0  # GB, of memory
CONFIG = {
    "hidden_size": 2560,
    "intermediate_size": 6720,
    "num_hidden_layers": 26,
    "num_attention_heads": 20,
    "vocab_size": 32_000,
}


def main(config: dict[str, int]) -> None:
    """Make the model and a store, embed, and print what that took."""
    with tempfile.TemporaryDirectory() as place:
        folder, store = Path(place) / "large", Path(place) / "store"
        parameters = make_model(folder, LlamaConfig(**config))
        add_dataset(store, CaveDataset(CAPTIONS))
        memory, seconds = embed(store, folder)
        model = Store(store).model("cave", "large")
        layers = f"{len(model.card.layers)} layers of {max(model.dims)}"
    size = (
        f"{parameters / 1e9:.2f} billion parameters, {model.recipe.choices['encoder']['precision']}"
    )
    print(f"{size}, {layers}, over {CAPTIONS} captions")
    print(f"peak {memory:.1f} GB (at most {LIMIT:.0f} wanted), {seconds:.0f} s with loading")


def make_model(folder: Path, config: LlamaConfig) -> int:
    """Write a random model in bfloat16 with a tokenizer of bytes; return its parameters."""
    torch.manual_seed(0)
    model: Any = AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16)
    with quiet():
        model.save_pretrained(folder)
    save_tokenizer(folder)
    return int(model.num_parameters())


def embed(store: Path, folder: Path) -> tuple[float, float]:
    """Run `platoscope embed` in a process of its own; return its peak memory in GB, and seconds."""
    began = time.perf_counter()
    words = ["embed", "--store", str(store), "--dataset", "cave", "--model", f"hf:{folder}"]
    process = subprocess.Popen([sys.executable, "-m", "core", *words])
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(process.returncode)
    unit = 1 if sys.platform == "darwin" else 1024  # bytes
    return used.ru_maxrss * unit / 1e9, time.perf_counter() - began


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    main(CONFIG)
