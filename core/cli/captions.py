"""`platoscope summarize`: captions in fewer words."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from core.cli.shared import add_command, add_dataset, add_number
from core.options import WORDS
from core.settings import choose_device


def add(commands: Any) -> None:
    """Add `summarize`."""
    summarize = add_command(
        commands,
        "summarize",
        run_summarize,
        "put captions into fewer words with an instruction-tuned model",
        job=True,
    )
    add_dataset(summarize)
    summarize.add_argument(
        "--model", required=True, metavar="SPEC", help="hf:ID or hf:FOLDER, with a chat template"
    )
    add_number(
        summarize,
        "--words",
        WORDS,
        "about so many, a level for each",
        required=True,
        nargs="+",
        metavar="N",
    )
    summarize.add_argument(
        "--caption-level",
        metavar="L",
        help="which captions to summarize (the dataset's first level)",
    )
    summarize.add_argument(
        "--instruction",
        type=Path,
        metavar="FILE",
        help="what the model is told, {words} in place of the number (an instruction of our own)",
    )
    summarize.add_argument("--device", default="auto", help="auto, cpu, cuda, cuda:1 or mps")


def run_summarize(arguments: argparse.Namespace) -> None:
    """Write captions of each number of words and print the names of their levels, for `embed
    --caption-level`.
    """
    from core.embedding.summaries import INSTRUCTION, read_instruction, summarize
    from core.encoders.language.chat import open_chat
    from core.progress import ConsoleProgress
    from core.store import Store

    Store(arguments.store).dataset(
        arguments.dataset
    )  # a wrong name is refused before a model is opened
    file = arguments.instruction
    instruction = read_instruction(file) if file else INSTRUCTION
    writer = open_chat(arguments.model, device=choose_device(arguments.device))
    for words in dict.fromkeys(arguments.words):
        print(
            summarize(
                arguments.store,
                arguments.dataset,
                writer,
                words=words,
                level=arguments.caption_level,
                instruction=instruction,
                report=ConsoleProgress(),
            )
        )
