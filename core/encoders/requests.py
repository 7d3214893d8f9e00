"""How a model comes in: the options of `platoscope embed` and `import`, and of their form on the
Library page.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal, cast

from core.options import MOST_SEED, argument, option, part, required

MOST_BATCH = 10_000
UNTRAINED = "untrained"  # in place of a checkpoint: the weights before any training
HUB = "hf-hub:"  # in timm's own names of models, what those on the hub begin with
# at the end of a spec: read out the patches, not the class token; the part that reads texts, or
# images, of a model that has both
PATCHES, TEXT, VISION = "#patches", "#text", "#vision"
FORMS = "timm:NAME, timm:NAME@CHECKPOINT, timm:hf-hub:ID, hf:ID or hf:FOLDER"
Pooling = Literal["auto", "mean", "last", "first", "max"]
Prompt = Literal["none", "paper"]
# what a language model reads of a caption; the paper is Huh et al. 2024, appendix C.2
PROMPTS: Mapping[Prompt, str] = {
    "none": "{}",
    "paper": "An image with the caption '{}'. This is an image of a",
}
Repeats = Literal["none", "trials", "subjects"]
Precision = Literal["auto", "fp32", "bf16", "fp16"]
# bytes of a weight in memory, at most: `auto` keeps what is stored
BYTES: Mapping[Precision, int] = {"auto": 4, "fp32": 4, "bf16": 2, "fp16": 2}
TYPES: Mapping[str, Precision] = {"float32": "fp32", "bfloat16": "bf16", "float16": "fp16"}


@dataclass(frozen=True)
class Facts:
    """What a person says of a model; "" or None if it says nothing."""

    family: str = option(
        "", metavar="F", help="its architecture, such as ViT; models of one family count as one"
    )
    objective: str = option("", metavar="O", help="what it was trained for, such as CLIP")
    parameters: int | None = option(
        None, metavar="N", help="how many parameters it has", least=1, most=10**15
    )
    seed: int | None = option(
        None,
        metavar="N",
        help="of its training: models of one family, objective and size that differ in their seed"
        " count as one",
        least=0,
        most=MOST_SEED,
    )
    competence: tuple[str, ...] = option(
        (),
        metavar="VALUE",
        help="its own score, higher is better: 0.71, or TASK=0.71 for each task",
    )


@dataclass(frozen=True)
class EmbedRequest:
    """Embed a dataset with models, each at every caption level that is named."""

    command: ClassVar[str] = "embed"

    dataset: str = required("", help="the dataset", metavar="D")
    model: tuple[str, ...] = required(
        (),
        help=f"{FORMS}; ID@COMMIT for a commit, NAME@{UNTRAINED} for no weights, {PATCHES} after a"
        f" vision model for the mean of its patches, not its class token, {TEXT} or {VISION} for a"
        " part of CLIP's kind",
        label="Models",
        metavar="SPEC",
    )
    name: str = option("", help="the model's name in the store, if the spec's own is taken")
    device: str = option("auto", help="auto, cpu, cuda, cuda:1 or mps", metavar="DEVICE")
    batch_size: str = option(
        "auto",
        help=f"stimuli at a time, 1 to {MOST_BATCH:,}, or auto, what the device holds",
        metavar="N",
    )
    caption_level: tuple[str, ...] = option(
        (),
        help="which captions of the stimuli, one embedding for each (the dataset's first level)",
        label="Caption levels",
        metavar="L",
    )
    pooling: Pooling = option(
        "auto",
        help="language: mean over tokens, their maximum, or one; auto: as the model's folder says,"
        " else the mean",
    )
    prompt: Prompt = option(
        "none",
        help="language: what is read; paper: the caption in the sentence of Huh et al. 2024, for"
        " --pooling last",
    )
    precision: Precision = option(
        "auto", help="of weights and forward pass; auto: as the weights are stored"
    )
    title: str = option("", metavar="T", help="its title in figures (its own)")
    facts: Facts = part(Facts)


@dataclass(frozen=True)
class ImportRequest:
    """Import features computed elsewhere, (n, d) or (n, layers, d), or measurements of brains
    and people.
    """

    command: ClassVar[str] = "import"

    file: str = argument(
        help=".npy .npz .safetensors .pt .h5 .mat .parquet .csv; or a table of models, .csv with a"
        " row for each: file, and these options as columns; other columns of numbers are own"
        " scores",
        label="Feature file",
        metavar="FILE",
    )
    dataset: str = required("", help="the dataset", metavar="D")
    name: str = option(
        "",
        metavar="N",
        help="its name in the store (the file's name); NAME~LEVEL for NAME at another level",
    )
    modality: str = option(
        "",
        metavar="KIND",
        help="the kind of model: vision, language, music, brain, people or any other word",
    )
    repeats: Repeats = option(
        "none",
        help="the file holds (repeats, n, units): each stimulus was measured several times, over"
        " trials of the same units or over subjects with units of their own",
    )
    dissimilarities: bool = option(
        False,
        help="the file holds how different stimuli are: (n, n), (layers, n, n) or the pairs i < j",
    )
    id_column: str = option(
        "",
        label="Column of ids",
        metavar="NAME",
        help="the array or column that names the rows (the one that names the stimuli best); else"
        " the file's order is the dataset's",
    )
    feature_column: tuple[str, ...] = option(
        (),
        label="Feature columns",
        metavar="NAME",
        help="arrays that are layers, or a table's dims, in this order (all that can be)",
    )
    drop: tuple[str, ...] = option(
        (), label="Left out", metavar="NAME", help="arrays or columns that are left out"
    )
    subset: str = option(
        "",
        metavar="NAME",
        help="import over a new dataset of this name, of the stimuli that have a row; all that is"
        " embedded over the dataset comes along",
    )
    title: str = option("", metavar="T", help="its title in figures (its name)")
    level: str = option("", metavar="L", help="the caption level that it read")
    facts: Facts = part(Facts)


@dataclass(frozen=True)
class FactsRequest:
    """Set facts about a model of the store; those not named stay as they are."""

    command: ClassVar[str] = "model set"

    name: str = argument(help="the model", label="Model", metavar="NAME")
    dataset: str = required("", help="the dataset", metavar="D")
    level: str = option("", metavar="L", help="the caption level that it read")
    facts: Facts = part(Facts)


def split_marks(spec: str) -> tuple[str, str]:
    """Return a spec without the marks PATCHES, TEXT and VISION at its end, and these."""
    marks = ""
    while mark := next((one for one in (PATCHES, TEXT, VISION) if spec.endswith(one)), ""):
        spec, marks = spec.removesuffix(mark), mark + marks
    return spec, marks


def pooling_of(recipe: Mapping[str, object]) -> Pooling:
    """Return the option that gives the pooling of a language model's recipe again."""
    first = str(recipe.get("pooling", "")).partition(" ")[0]
    prompt = recipe.get("prompt")
    is_own = "sentence" in recipe or prompt not in (None, *PROMPTS.values())
    if is_own or (first in ("", "mean") and "own pooling" not in recipe):
        return "auto"
    return "max" if first == "maximum" else cast(Pooling, first)


def precision_of(name: str) -> Precision:
    """Return the option that gives the precision of this name, as recipes have it, again."""
    return TYPES.get(name, "auto")
