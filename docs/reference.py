"""`make docs`: write the reference of commands, metrics and published figures; a test compares."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from pathlib import Path

from core.cli import make_parser
from core.metrics import METRICS
from core.metrics.catalog import PRINTED_PROPERTIES, PROPERTIES, printed_table, range_text
from core.metrics.spec import MetricSpec
from docs.published import published_page

FOLDER = Path(__file__).resolve().parent
MADE = "<!-- Made by `make docs`; edit the code, not this page. -->"


def commands_page() -> str:
    """Return every command with what it does or asks, as Markdown."""
    lines = [
        "# Commands",
        "",
        MADE,
        "",
        "`platoscope COMMAND --help` lists a command's options with their defaults and ranges.",
        "Results go to stdout, progress and findings to stderr; `--json` prints numbers in full.",
        "The exit code is 0, or 2 after a mistake, which one sentence explains. Most commands take",
        "`--store DIR` and `--dataset D`. `python -m core` is the same program.",
        "",
        "| command | purpose |",
        "|---|---|",
    ]
    for words, parser in commands(make_parser(), "platoscope"):
        lines.append(f"| `{words.removeprefix('platoscope ')}` | {_sentence(parser.description)} |")
    return "\n".join(lines) + "\n"


def commands(
    parser: argparse.ArgumentParser, words: str
) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """Yield every command's words and parser."""
    nested = [one for one in parser._actions if isinstance(one, argparse._SubParsersAction)]
    if not nested:
        yield words, parser
    for action in nested:
        for name, command in action.choices.items():
            yield from commands(command, f"{words} {name}")


def metrics_page() -> str:
    """Return every metric from its spec, as Markdown."""
    lines = ["# Metrics", "", MADE, "", *_printed()]
    for metric in METRICS.values():
        lines += ["", *_metric(metric.spec)]
    return "\n".join(lines) + "\n"


def _printed() -> list[str]:
    """Return the table of properties as the paper prints it."""
    rows = printed_table().drop(columns="metric").to_numpy().tolist()
    return [
        f"As Huh et al. 2024 print them (table 11): {PRINTED_PROPERTIES}",
        "",
        f"| metric | {' | '.join(PROPERTIES)} |",
        f"|---|{':-:|' * len(PROPERTIES)}",
        *(f"| {' | '.join(row)} |" for row in rows),
    ]


def _metric(spec: MetricSpec) -> list[str]:
    direction = "higher" if spec.higher_is_more_aligned else "lower"
    parameters = ", ".join(_parameter(spec, name) for name in spec.defaults) or "none"
    ignores = ", ".join(sorted(spec.invariances)).replace("_", " ") or "nothing"
    return [
        f"## `{spec.id}`: {spec.title}",
        "",
        f"$${spec.formula}$$",
        "",
        f"- Range {range_text(spec)}; {direction} is more aligned.",
        f"- Scope: {spec.scope}. Symmetric: {'yes' if spec.symmetric else 'no'}. Ignores:"
        f" {ignores}.",
        f"- Parameters: {parameters}.",
        f"- Sees: {spec.sees}",
        f"- Misses: {spec.misses}",
        f"- Source: {spec.reference}.",
    ]


def _parameter(spec: MetricSpec, name: str) -> str:
    """Return a parameter with its default, and what else it may be: k = 10 (1 to 1,000,000)."""
    values = spec.ranges.get(name) or " or ".join(spec.choices[name])
    return f"{name} = {spec.defaults[name]} ({values})"


def _sentence(text: str | None) -> str:
    text = text or ""
    end = "" if text.endswith((".", "?")) else "."
    return f"{_escape(text[:1].upper() + text[1:])}{end}"


def _escape(text: str) -> str:
    return re.sub(r"([|<>*_])", r"\\\1", text)


PAGES = {
    "commands.md": commands_page,
    "metrics.md": metrics_page,
    "published.md": published_page,
}

if __name__ == "__main__":
    for name, page in PAGES.items():
        (FOLDER / name).write_text(page(), encoding="utf-8")
