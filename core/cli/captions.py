"""`platoscope captions` and `summarize`: does a caption that says more align better, and captions
in fewer words.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from functools import partial
from typing import Any

from core.cli.shared import add_command, add_metric, count, parameters, print_table
from core.errors import InputError
from core.settings import choose_device

USUAL: Mapping[str, Any] = {
    "x": None,
    "y": None,
    "metric": "mutual_knn",
    "k": None,
    "set": [],
    "q": 0.95,
    "layers": "best",
    "by": "objective",
}


def add(commands: Any) -> None:
    """Add `captions` and `summarize`."""
    captions = add_command(
        commands,
        "captions",
        run_captions,
        "alignment by caption level, with a trend test over families of language models",
    )
    captions.add_argument("--dataset", required=True, metavar="D")
    captions.add_argument(
        "--x",
        nargs="+",
        action="extend",
        metavar="M",
        help="language models (all trained ones of two or more levels)",
    )
    captions.add_argument(
        "--y",
        nargs="+",
        action="extend",
        metavar="M",
        help="models (all trained vision models, and reality)",
    )
    add_metric(captions)
    captions.add_argument(
        "--q",
        type=float,
        default=USUAL["q"],
        help="share of feature values left unclamped, 1 for all",
    )
    captions.add_argument(
        "--layers",
        default=USUAL["layers"],
        help="best, best+concatenated, last, A:B, or a depth from 0 to 1",
    )
    captions.add_argument(
        "--by",
        default=USUAL["by"],
        choices=("objective", "model"),
        help="what a row is a mean over or of",
    )
    other = captions.add_mutually_exclusive_group()
    other.add_argument(
        "--levels",
        action="store_true",
        help="print words, bytes and share of the facts told of each level instead",
    )
    other.add_argument(
        "--told",
        action="store_true",
        help="print mutual kNN of single stimuli by what their captions tell instead",
    )
    captions.add_argument("--json", action="store_true")

    summarize = add_command(
        commands,
        "summarize",
        run_summarize,
        "put captions into fewer words with an instruction-tuned model",
    )
    summarize.add_argument("--dataset", required=True, metavar="D")
    summarize.add_argument(
        "--model", required=True, metavar="SPEC", help="hf:ID or hf:FOLDER, with a chat template"
    )
    summarize.add_argument(
        "--words",
        required=True,
        nargs="+",
        type=partial(count, least=1),
        metavar="N",
        help="about so many, a level for each",
    )
    summarize.add_argument(
        "--caption-level",
        metavar="L",
        help="which captions to summarize (the dataset's first level)",
    )
    summarize.add_argument("--device", default="auto", help="auto, cpu, cuda, cuda:1 or mps")


def run_captions(given: argparse.Namespace) -> None:
    """Print a row per target and level: `model_y level words mean deviation models chance`, then
    the target's trend on each.

    The trend is `families slope low high rho p p_adjusted reason`; see
    `core.questions.captions.trends.level_trends`. --told and --levels print another table, and
    refuse the options that it does not depend on.
    """
    from core.progress import ConsoleProgress
    from core.questions.captions.answer import (
        caption_levels,
        compare_levels,
        compare_told,
        tell_outdated,
    )
    from core.questions.captions.trends import by_group, by_level, level_trends, told_by_group
    from core.store import Store
    from core.study.models import families
    from core.study.study import Study

    study, report = Study(Store(given.store), given.dataset, q=given.q), ConsoleProgress()
    for sentence in tell_outdated(study):
        print(sentence, file=sys.stderr)
    chosen = {"models": given.x, "against": given.y, "report": report, **parameters(given)}
    models = study.models()
    groups = dict(
        zip(models["model"], models["group" if given.by == "objective" else "model"], strict=True)
    )
    if given.levels:
        _refuse(given, "--levels tells of captions, whatever reads them", *USUAL)
        table = caption_levels(study, report=report)
    elif given.told:
        _refuse(
            given,
            "--told compares single stimuli by mutual_knn in the best layers",
            "metric",
            "layers",
            "set",
        )
        table = told_by_group(compare_told(study, **chosen), groups)
    else:
        rows = by_group(
            compare_levels(study, metric=given.metric, layers=given.layers, **chosen), groups
        )
        trends = level_trends(rows, families(models)).drop(columns=["models", "levels"])
        table = by_level(rows).merge(trends, on="model_y", how="left")
    print_table(table, as_json=given.json)


def _refuse(given: argparse.Namespace, why: str, *names: str) -> None:
    """Raise InputError where an option of these was given."""
    if other := [f"--{name}" for name in names if getattr(given, name) != USUAL[name]]:
        raise InputError(f"{why}; leave out {' and '.join(other)}")


def run_summarize(given: argparse.Namespace) -> None:
    """Write captions of each number of words and print the names of their levels, for `embed
    --caption-level`.
    """
    from core.embedding.summaries import summarize
    from core.encoders.chat import open_chat
    from core.progress import ConsoleProgress
    from core.store import Store

    Store(given.store).dataset(given.dataset)  # a wrong name is told before a model is opened
    writer = open_chat(given.model, device=choose_device(given.device))
    for words in dict.fromkeys(given.words):
        print(
            summarize(
                given.store,
                given.dataset,
                writer,
                words=words,
                level=given.caption_level,
                report=ConsoleProgress(),
            )
        )
