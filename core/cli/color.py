"""`platoscope color`: the geometry of colors by eyes, pixels and words, laid out and compared."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from core.cli.shared import add_command, count, print_table
from core.errors import InputError

if TYPE_CHECKING:
    from core.questions.color.sources import Source

KINDS = ("perception", "cooccurrence", "captions", "language", "vectors")
ALL = "all"
OWN = {  # options that belong to a kind of source
    "cooccurrence": ("images", "by", "radius", "pairs", "grid", "side", "smoothing", "least"),
    "captions": ("smoothing", "least"),
    "language": ("model", "layer", "sentences", "device"),
    "vectors": ("file",),
}


def add(commands: Any) -> None:
    """Add `color`."""
    color = add_command(
        commands,
        "color",
        run_color,
        "lay colors out by one source, a row per color, or compare several",
    )
    color.add_argument(
        "--source",
        nargs="+",
        required=True,
        choices=KINDS,
        help="one lays out, several are compared by pairs",
    )
    color.add_argument(
        "--dataset", default="cave", metavar="D", help="its captions and language models (cave)"
    )
    color.add_argument(
        "--words", nargs="+", metavar="W", help="of the 24 color words (all that a source has)"
    )
    color.add_argument(
        "--survey",
        choices=("xkcd", "uw"),
        default="xkcd",
        help="which tells the colors that words mean",
    )
    _add_counting(color)
    color.add_argument(
        "--model",
        nargs="+",
        metavar="M",
        help="best, worst, a model of the dataset, simcse, roberta, hf:ID, or all",
    )
    color.add_argument("--layer", metavar="L", help="last, 'last 4', or a layer's name or number")
    color.add_argument(
        "--sentences", nargs="+", metavar="S", help="with <col> where the color stands"
    )
    color.add_argument("--device", help="auto, cpu, cuda, cuda:1 or mps")
    color.add_argument(
        "--file", metavar="FILE", help="vectors made elsewhere, a row for each of --words"
    )
    color.add_argument("--dims", type=int, default=3, help="of layouts, 2 or 3")
    color.add_argument("--starts", type=count, default=1000, help="random starts of each layout")
    color.add_argument("--permutations", type=count, default=1000, help="of colors, for p")
    color.add_argument(
        "--bootstrap",
        dest="draws",
        type=count,
        metavar="N",
        help="draws of colors, for intervals between several sources (1000)",
    )
    color.add_argument(
        "--k", type=int, metavar="K", help="nearest colors that several sources may share (3)"
    )
    color.add_argument("--seed", type=count, default=0, help="of starts, permutations and draws")
    color.add_argument("--json", action="store_true")


def _add_counting(color: argparse.ArgumentParser) -> None:
    color.add_argument(
        "--images",
        nargs="+",
        metavar="I",
        help="cifar10 (counts that come along), a dataset, a folder or .npz file",
    )
    color.add_argument(
        "--by", choices=("words", "cells"), help="lay out color words, or the grid's own colors"
    )
    color.add_argument("--radius", type=float, help="between two pixels of a pair, in pixels (4)")
    color.add_argument("--pairs", type=count, metavar="N", help="of pixels (300000)")
    color.add_argument("--grid", type=int, metavar="N", help="steps per channel (8)")
    color.add_argument(
        "--side", type=int, metavar="N", help="shrink pictures to so many pixels first"
    )
    color.add_argument(
        "--smoothing",
        type=float,
        metavar="N",
        help="added to each count; without, an unseen pair is refused (1)",
    )
    color.add_argument(
        "--least", type=count, metavar="N", help="times that a color was seen, to be kept"
    )


def run_color(given: argparse.Namespace) -> None:
    """Print a row per color of one source; a row per pair and measure of several; a row per model
    for `--model all`.
    """
    from core.progress import ConsoleProgress
    from core.questions.color.answer import compare_colors, compare_models, lay_out_colors
    from core.store import Store
    from core.study.study import Study

    _check(given)
    study, report = Study(Store(given.store), given.dataset), ConsoleProgress()
    chosen = {
        "words": given.words,
        "survey": given.survey,
        "starts": given.starts,
        "permutations": given.permutations,
        "seed": given.seed,
    }
    if given.model == [ALL]:
        table = compare_models(
            study, **_given(given, "layer", "sentences"), **chosen, report=report
        )
    else:
        sources = [
            source for kind in dict.fromkeys(given.source) for source in _sources(kind, given)
        ]
        more = _given(given, "draws", "k")
        if len(sources) == 1 and more:
            raise InputError(
                f"--{'bootstrap' if 'draws' in more else 'k'} belongs to several sources, which it"
                " compares; name another"
            )
        if len(sources) == 1:
            table = lay_out_colors(study, sources[0], dims=given.dims, **chosen, report=report)
        else:
            table = compare_colors(study, sources, dims=given.dims, **chosen, **more, report=report)
    print_table(table, as_json=given.json)


def _sources(kind: str, given: argparse.Namespace) -> Iterator[Source]:
    """Make one source of a kind for each of the images or models that were named."""
    from core.questions.color.sources import (
        BEST,
        Captions,
        Cooccurrence,
        Language,
        Perception,
        Vectors,
    )

    if kind == "perception":
        yield Perception()
    elif kind == "captions":
        yield Captions(**_given(given, *OWN[kind]))
    elif kind == "cooccurrence":
        rest = _given(given, *OWN[kind][1:])
        for images in given.images or ["cifar10"]:
            yield Cooccurrence(images, **rest)
    elif kind == "language":
        rest = _given(given, "layer", "device") | (
            {"sentences": tuple(given.sentences)} if given.sentences else {}
        )
        for model in given.model or [BEST]:
            yield Language(model, **rest)
    else:
        yield Vectors(given.file, tuple(given.words))


def _given(given: argparse.Namespace, *names: str) -> dict[str, Any]:
    return {name: getattr(given, name) for name in names if getattr(given, name) is not None}


def _check(given: argparse.Namespace) -> None:
    """Refuse options that none of the sources has, and a source without what it needs."""
    wanted = {option for kind in given.source for option in OWN.get(kind, ())}
    for kind, options in OWN.items():
        if foreign := [name for name in _given(given, *options) if name not in wanted]:
            raise InputError(
                f"--{foreign[0]} belongs to --source {kind}; leave it out, or add that source"
            )
    if "vectors" in given.source and not (given.file and given.words):
        raise InputError("vectors need --file and --words, a word for each row of the file")
    if (
        given.model
        and ALL in given.model
        and (len(given.model) > 1 or given.source != ["language"])
    ):
        raise InputError(
            "--model all stands alone, with --source language: it prints a row per model"
        )
