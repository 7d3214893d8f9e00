"""`platoscope captions` and `summarize`: does a caption that says more align better, and captions in fewer words."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from core.cli.shared import add_command, add_metric, count, parameters, print_table
from core.errors import InputError
from core.settings import choose_device

if TYPE_CHECKING:
    import pandas as pd

    from core.study import Study


def add(commands: Any) -> None:
    """Add `captions` and `summarize`."""
    captions = add_command(commands, "captions", run_captions, "alignment by caption level, with a trend test over language models")
    captions.add_argument("--dataset", required=True, metavar="D")
    captions.add_argument(
        "--x", nargs="+", action="extend", metavar="M", help="language models (all trained ones of two or more levels)"
    )
    captions.add_argument("--y", nargs="+", action="extend", metavar="M", help="models (all trained vision models, and reality)")
    add_metric(captions)
    captions.add_argument("--q", type=float, default=0.95, help="share of feature values left unclamped, 1 for all")
    captions.add_argument("--layers", default="best", help="best, best+concatenated, last, A:B, or a depth from 0 to 1")
    captions.add_argument("--by", default="objective", choices=("objective", "model"), help="what a row is a mean over or of")
    other = captions.add_mutually_exclusive_group()
    other.add_argument("--levels", action="store_true", help="print words, bytes and share of the facts told of each level instead")
    other.add_argument("--told", action="store_true", help="print mutual kNN of single stimuli by what their captions tell instead")
    captions.add_argument("--json", action="store_true")

    summarize = add_command(commands, "summarize", run_summarize, "put captions into fewer words with an instruction-tuned model")
    summarize.add_argument("--dataset", required=True, metavar="D")
    summarize.add_argument("--model", required=True, metavar="SPEC", help="hf:ID or hf:FOLDER, with a chat template")
    summarize.add_argument("--words", required=True, nargs="+", type=count, metavar="N", help="about so many, a level for each")
    summarize.add_argument("--caption-level", metavar="L", help="which captions to summarize (the dataset's first level)")
    summarize.add_argument("--device", default="auto", help="auto, cpu, cuda, cuda:1 or mps")


def run_captions(given: argparse.Namespace) -> None:
    """Print a row per target and level: `model_y level words mean deviation models chance slope low high p p_adjusted reason`."""
    from core.density import caption_levels, compare_told
    from core.embedding.progress import ConsoleProgress
    from core.store import Store
    from core.study import Study

    study, report = Study(Store(given.store), given.dataset, q=given.q), ConsoleProgress()
    chosen = {"models": given.x, "against": given.y, **parameters(given)}
    if given.levels:
        table = caption_levels(study, report=report)
    elif given.told:
        if (given.metric, given.layers) != ("mutual_knn", "best"):
            raise InputError("--told compares single stimuli by mutual_knn in the best layers; leave out --metric and --layers")
        table = compare_told(study, report=report, **chosen)
    else:
        table = _by_level(study, given.by, metric=given.metric, layers=given.layers, report=report, **chosen)
    print_table(table, as_json=given.json)


def _by_level(study: Study, by: str, **chosen: Any) -> pd.DataFrame:
    from core.analyses.density import by_group, by_level, level_trends
    from core.density import compare_levels

    rows = compare_levels(study, **chosen)
    if by == "objective":
        models = study.models()
        rows = by_group(rows, dict(zip(models["model"], models["group"], strict=True)))
    trends = level_trends(rows).drop(columns=["models", "levels"])
    return by_level(rows).merge(trends, on="model_y", how="left")


def run_summarize(given: argparse.Namespace) -> None:
    """Write captions of each number of words and print the names of their levels, for `embed --caption-level`."""
    from core.embedding.progress import ConsoleProgress
    from core.encoders.chat import open_chat
    from core.store import Store
    from core.summaries import summarize

    Store(given.store).dataset(given.dataset)  # a wrong name is told before a model is opened
    writer = open_chat(given.model, device=choose_device(given.device))
    for words in given.words:
        print(summarize(given.store, given.dataset, writer, words=words, level=given.caption_level, report=ConsoleProgress()))
