"""The `platoscope` command: parse, call, report. Results go to stdout, progress and errors to stderr."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core.errors import InputError, PlatoscopeError, StoreError, UnknownNameError
from core.settings import ROOT, choose_device, store_path
from core.training.command import add_arguments as add_training_arguments
from core.training.command import run as run_train

if TYPE_CHECKING:
    import pandas as pd

    from core.encoders.encoder import Modality
    from core.stimuli.folder import FolderDataset
    from core.stimuli.hub import HubDataset
    from core.study import Study

USER_MISTAKE = 2
INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code: 0 done, 2 a mistake of the user's, 130 interrupted."""
    given = make_parser().parse_args(arguments)
    given.store = store_path(given.store)
    try:
        if given.store.exists() and not given.store.is_dir():
            raise StoreError(f"a store is a folder, but {given.store} is a file; name another place with --store")
        code = given.run(given) or 0
        if sys.stdout:  # None where it was closed
            sys.stdout.flush()  # here, where a closed pipe is expected
        return code
    except PlatoscopeError as error:
        print(f"platoscope: {error}", file=sys.stderr)
        if isinstance(error, UnknownNameError):  # what is asked for may lie in a file that cannot be read
            from core.store import Store

            _report_problems(Store(given.store))
        return USER_MISTAKE
    except KeyboardInterrupt:
        print("\nplatoscope: stopped; finished batches are kept, the same command continues", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:  # `platoscope … | head` is no mistake
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        print(f"platoscope: the results could not be written: {error.strerror or error}", file=sys.stderr)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return USER_MISTAKE


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of every command; the README's test walks it."""
    parser = argparse.ArgumentParser(prog="platoscope", description="Do neural networks converge to the same representation?")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _add(commands, "demo", run_demo, "build the embedded demo store: the Cave and the models trained in it")
    _add_dataset_commands(commands)
    _add_model_commands(commands)
    _add_align(commands)
    _add_metric_commands(commands)
    _add_findings(commands)
    _add_probe(commands)
    train = _add(commands, "train", run_train, "train the Cave's models from their configs", store=False)
    add_training_arguments(train)
    app = _add(commands, "app", run_app, "the dashboard over a store, on localhost")
    app.add_argument("--port", type=int, default=8501)
    app.add_argument("--demo", action="store_true", help="build what is missing of the demo store meanwhile")
    return parser


def _add(commands: Any, name: str, run: Callable[[argparse.Namespace], int | None], text: str, *, store: bool = True) -> Any:
    command = commands.add_parser(name, help=text, description=text)
    command.set_defaults(run=run, store=None)
    if store:
        command.add_argument("--store", metavar="DIR", help="the store's folder (PLATOSCOPE_STORE, else ./store)")
    return command


def _add_dataset_commands(commands: Any) -> None:
    kinds = commands.add_parser("dataset", help="add or list datasets").add_subparsers(required=True, metavar="add|list")
    add = _add(kinds, "add", run_dataset_add, "add image-caption stimuli from a folder or the hub")
    add.add_argument("name", metavar="NAME")
    source = add.add_mutually_exclusive_group(required=True)
    source.add_argument("--folder", type=Path, metavar="DIR", help="images and a caption table")
    source.add_argument("--hub", metavar="ID", help="a Hugging Face data set, or the preset wit_1024")
    add.add_argument("--table", type=Path, metavar="FILE", help="the caption table, where the folder holds several")
    add.add_argument("--skip-broken", action="store_true", help="leave out stimuli that cannot be read, and say which")
    for option in ("revision", "split", "image-column", "text-column"):
        add.add_argument(f"--{option}", metavar=option[0].upper())
    listing = _add(kinds, "list", run_dataset_list, "list the store's datasets")
    listing.add_argument("--json", action="store_true")


def _add_model_commands(commands: Any) -> None:
    kinds = commands.add_parser("model", help="list models").add_subparsers(required=True, metavar="list")
    listing = _add(kinds, "list", run_model_list, "list the models embedded in the store")
    listing.add_argument("--dataset", metavar="D", help="of this dataset only")
    listing.add_argument("--json", action="store_true")

    embed = _add(commands, "embed", run_embed, "embed a dataset with models: timm:NAME, timm:NAME@CHECKPOINT, hf:ID, hf:FOLDER")
    embed.add_argument("--dataset", required=True, metavar="D")
    embed.add_argument("--model", required=True, nargs="+", action="extend", metavar="SPEC")
    embed.add_argument("--name", help="the model's name in the store, where the spec's own is taken")
    embed.add_argument("--device", default="auto", help="auto, cpu, cuda, cuda:1 or mps")
    embed.add_argument("--batch-size", default="auto", type=_batch_size, metavar="auto|N")
    embed.add_argument("--caption-level", metavar="L", help="which caption of a stimulus (the dataset's first level)")
    embed.add_argument("--pooling", choices=("mean", "last"), default="mean", help="language: mean over tokens, or the last one")

    features = _add(commands, "import", run_import, "import features made elsewhere: (n, d) or (n, layers, d)")
    features.add_argument("file", type=Path, metavar="FILE", help=".npy .npz .safetensors .pt .parquet")
    features.add_argument("--dataset", required=True, metavar="D")
    features.add_argument("--name", required=True, metavar="N")
    features.add_argument("--modality", required=True, choices=("vision", "language"))


def _add_align(commands: Any) -> None:
    align = _add(commands, "align", run_align, "align models: one row per pair, best pair of layers, chance beside it")
    align.add_argument("--dataset", required=True, metavar="D")
    align.add_argument("--x", nargs="+", action="extend", metavar="M", help="models (all language models)")
    align.add_argument("--y", nargs="+", action="extend", metavar="M", help="models (all vision models)")
    _add_metric(align)
    align.add_argument("--q", type=float, default=0.95, help="share of feature values left unclamped, 1 for all")
    align.add_argument("--layers", default="best", help="best, best+concatenated, last, all, A:B, or a depth from 0 to 1")
    align.add_argument("--null", type=_count, default=0, metavar="N", help="permutations: threshold, p, calibrated score")
    align.add_argument("--bootstrap", type=_count, default=0, metavar="N", help="draws of stimuli: 95 %% interval of the score")
    align.add_argument("--seed", type=_count, default=0, help="of permutations and draws")
    align.add_argument("--where", nargs="+", default=[], metavar="FACTOR=VALUE", help="only the stimuli with these factors")
    align.add_argument("--json", action="store_true")


def _add_metric(command: Any) -> None:
    command.add_argument("--metric", default="mutual_knn", help="see platoscope metrics")
    command.add_argument("--k", type=int, default=None, help="neighbors per stimulus, 1 … n - 1, of the metrics that have any (10)")
    command.add_argument("--set", nargs="+", default=[], metavar="NAME=VALUE", help="other parameters of the metric")


def _add_metric_commands(commands: Any) -> None:
    metrics = _add(commands, "metrics", run_metrics, "list the metrics: what each sees, its range and parameters", store=False)
    metrics.add_argument("--json", action="store_true")
    score = _add(commands, "score", run_score, "compare two feature files with no store: one row per pair of layers", store=False)
    score.add_argument("x", type=Path, metavar="FILE_X", help=".npy .npz .safetensors .pt .parquet")
    score.add_argument("y", type=Path, metavar="FILE_Y")
    _add_metric(score)
    score.add_argument("--q", type=float, default=1.0, help="share of feature values left unclamped, 1 for all")
    score.add_argument("--json", action="store_true")


def _add_findings(commands: Any) -> None:
    findings = _add(commands, "findings", run_findings, "do the models converge? trends, and means by objective, size, tasks")
    findings.add_argument("--dataset", required=True, metavar="D")
    findings.add_argument("--k", type=int, default=10, help="neighbors per stimulus, 1 … n - 1")
    findings.add_argument("--q", type=float, default=0.95, help="share of feature values left unclamped, 1 for all")
    findings.add_argument("--json", action="store_true")


def _add_probe(commands: Any) -> None:
    probe = _add(commands, "probe", run_probe, "measure models in the Cave: linear probes, exams, bits per byte; one row per task")
    probe.add_argument("--dataset", required=True, metavar="D")
    probe.add_argument("--model", nargs="+", action="extend", metavar="M", help="models (all that can be opened again)")
    probe.add_argument("--device", default="auto", help="auto, cpu, cuda, cuda:1 or mps")
    probe.add_argument("--json", action="store_true")


def _count(text: str) -> int:
    if not text.isdigit():
        raise argparse.ArgumentTypeError(f"expected a whole number, 0 or more, got {text!r}")
    return int(text)


def _batch_size(text: str) -> int | str:
    if text != "auto" and not (text.isdigit() and int(text) > 0):
        raise argparse.ArgumentTypeError(f"expected auto or a whole number above 0, got {text!r}")
    return text if text == "auto" else int(text)


def _print_table(table: pd.DataFrame, *, as_json: bool) -> None:
    if as_json:
        print(json.dumps(json.loads(table.to_json(orient="records", double_precision=15)), indent=1, ensure_ascii=False))
    elif len(table):
        print(table.to_string(index=False, float_format=lambda value: f"{value:.4g}", na_rep="-", justify="left"))
    else:
        print("nothing yet", file=sys.stderr)


def run_demo(given: argparse.Namespace) -> None:
    """Build the demo store, then measure its models; returns at once where both are done."""
    from core.competence.records import unmeasured
    from core.demo import build_demo, measure_demo, missing_specs
    from core.store import Store

    if missing_specs(given.store):
        build_demo(given.store)
    if unmeasured(Store(given.store), "cave"):
        measure_demo(given.store)
    print(f"the demo store in {given.store} is complete", file=sys.stderr)


def run_dataset_add(given: argparse.Namespace) -> None:
    """Add a dataset's stimuli, captions, factors and thumbnails to the store."""
    from core.embedding.progress import ConsoleProgress
    from core.store import Store, add_dataset

    dataset = _open_folder(given) if given.folder else _open_hub(given)
    for remark in (*(f"skipped {reason}" for reason in dataset.skipped), *dataset.notes):
        print(remark, file=sys.stderr)
    before = {card.name: card for card in Store(given.store).datasets()}.get(dataset.card.name)
    idle = len(Store(given.store).models(before.name)) if before else 0
    add_dataset(given.store, dataset, report=ConsoleProgress())
    if before and before.revision != dataset.card.revision:
        print(
            f"took the place of another revision of {before.name!r} with {before.size} stimuli; its {idle} models are left out "
            "until they are embedded again, or until the former one is added again",
            file=sys.stderr,
        )
    print(f"{dataset.card.name}: {dataset.card.size} stimuli, caption levels {', '.join(dataset.card.levels)}")


def _open_folder(given: argparse.Namespace) -> FolderDataset:
    from core.stimuli.folder import FolderDataset

    foreign = [name for name in ("revision", "split", "image_column", "text_column") if getattr(given, name)]
    if foreign:
        raise InputError(f"--{foreign[0].replace('_', '-')} belongs to --hub; a folder's table names its columns image and caption")
    return FolderDataset.open(given.folder, name=given.name, table=given.table, skip_broken=given.skip_broken)


def _open_hub(given: argparse.Namespace) -> HubDataset:
    from core.stimuli.hub import HubDataset

    if given.table:
        raise InputError("--table belongs to --folder; a hub data set has its columns: see --image-column and --text-column")
    chosen = {name: getattr(given, name) for name in ("revision", "split", "image_column", "text_column")}
    chosen["skip_broken"] = given.skip_broken
    return HubDataset.open(given.hub, name=given.name, **{name: value for name, value in chosen.items() if value})


def run_dataset_list(given: argparse.Namespace) -> None:
    """Print one row per dataset."""
    import pandas as pd  # a third of a second, which `platoscope app` must not pay

    from core.store import Store

    store = Store(given.store)
    rows = [
        {"name": card.name, "title": card.title, "stimuli": card.size, "levels": " ".join(card.levels),
         "models": len(store.models(card.name)), "revision": card.revision[:16]}
        for card in store.datasets()
    ]  # fmt: skip
    _report_problems(store)
    _print_table(pd.DataFrame(rows), as_json=given.json)


def run_model_list(given: argparse.Namespace) -> None:
    """Print one row per embedded model."""
    import pandas as pd  # as above

    from core.store import Store

    store = Store(given.store)
    datasets = [given.dataset] if given.dataset else [card.name for card in store.datasets()]
    rows = [
        {"dataset": dataset, "model": entry.card.name, "title": entry.card.title, "modality": entry.card.modality,
         "family": entry.card.family, "objective": entry.card.objective, "parameters": entry.card.parameters,
         "layers": len(entry.card.layers), "level": entry.level}
        for dataset in datasets for entry in store.models(dataset)
    ]  # fmt: skip
    _report_problems(store)
    _print_table(pd.DataFrame(rows).astype({"parameters": "Int64"} if rows else {}), as_json=given.json)


def _report_problems(store: Any) -> None:
    for problem in store.problems():
        print(f"left out: {problem}", file=sys.stderr)


def run_embed(given: argparse.Namespace) -> int:
    """Embed a dataset with each model; one that fails does not stop the others."""
    from core.embedding.progress import ConsoleProgress
    from core.embedding.runner import embed
    from core.encoders.catalog import open_encoder
    from core.stimuli.catalog import open_dataset
    from core.store import Store

    if given.name and len(given.model) > 1:
        raise InputError(f"--name names one model, but {len(given.model)} were given; embed them one at a time")
    device = choose_device(given.device)
    dataset = open_dataset(Store(given.store).dataset(given.dataset))
    failed = 0
    for spec in given.model:
        try:
            encoder = open_encoder(spec, device=device, pooling=given.pooling)
            path = embed(given.store, dataset, encoder, level=given.caption_level, batch_size=given.batch_size,
                         name=given.name, report=ConsoleProgress())  # fmt: skip
            print(path.stem)
        except PlatoscopeError as error:
            print(f"platoscope: {spec}: {error}", file=sys.stderr)
            failed += 1
    return USER_MISTAKE if failed else 0


def run_import(given: argparse.Namespace) -> None:
    """Import features made elsewhere as a model of a dataset."""
    from core.embedding.runner import import_features
    from core.encoders.imported import read_features
    from core.store import Store

    card = Store(given.store).dataset(given.dataset)
    layers = read_features(given.file)
    import_features(given.store, card, layers, name=given.name, modality=given.modality)
    print(f"{given.name}: {len(layers)} layers of {card.size} stimuli")


def run_align(given: argparse.Namespace) -> None:
    """Print the alignment of every pair of models: `model_x model_y layer_x layer_y score chance n`, the parameters, `reason`."""
    from core.calibration import align_calibrated
    from core.embedding.progress import ConsoleProgress
    from core.store import Store
    from core.study import Study

    study = Study(Store(given.store), given.dataset, q=given.q, where=dict(map(_named, given.where)))
    parameters = _parameters(given)
    study.engine(given.metric, **parameters)  # a wrong metric or k is told before anything is computed
    compared = {"metric": given.metric, "layers": given.layers, **parameters}
    x, y = given.x or _all(study, "language"), given.y or _all(study, "vision")
    if given.null or given.bootstrap:
        extra = {"null": given.null, "bootstrap": given.bootstrap, "seed": given.seed}
        table = align_calibrated(study, x, y, **compared, **extra, report=ConsoleProgress())
    else:
        table = study.align(x, y, **compared)
    _print_table(table, as_json=given.json)


def run_metrics(given: argparse.Namespace) -> None:
    """Print one row per metric, from its spec."""
    from core.metrics.catalog import metrics_table

    table = metrics_table()
    _print_table(table if given.json else table.drop(columns=["formula", "misses", "reference"]), as_json=given.json)


def run_score(given: argparse.Namespace) -> None:
    """Print the score of every pair of layers of two feature files: `layer_x layer_y score n`, the metric's parameters."""
    from core.encoders.imported import read_features
    from core.score import score_layers

    layers = [read_features(path) for path in (given.x, given.y)]
    _print_table(score_layers(*layers, metric=given.metric, q=given.q, **_parameters(given)), as_json=given.json)


def _parameters(given: argparse.Namespace) -> dict[str, Any]:
    """Return the metric's parameters that were given: k, and NAME=VALUE with numbers as numbers."""
    found: dict[str, Any] = {} if given.k is None else {"k": given.k}
    for name, value in map(_named, given.set):
        try:
            found[name] = json.loads(value)
        except ValueError:
            found[name] = value
    return found


def _named(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (name and equals and value):
        raise InputError(f"expected a name and its value, such as variant=released or scene=city; given {text!r}")
    return name, value


def _all(study: Study, modality: Modality) -> list[str]:
    """Return the names of all models of a modality, and say so where there is none."""
    names = study.names(modality)
    if not names:
        print(f"no {modality} model of {study.dataset.name!r} to align; embed or import one", file=sys.stderr)
    return names


def run_findings(given: argparse.Namespace) -> None:
    """Print the study's answer to the hypothesis, a row per figure: `finding group models value p chance reason`."""
    from core.store import Store
    from core.study import Study

    _print_table(Study(Store(given.store), given.dataset, q=given.q).findings(k=given.k), as_json=given.json)


def run_probe(given: argparse.Namespace) -> None:
    """Measure the models that have not been measured yet and print the competence of all that were named."""
    from core.competence.records import can_measure
    from core.competence.suite import measure_all
    from core.embedding.progress import ConsoleProgress
    from core.store import Store

    models = given.model or [entry.card.name for entry in Store(given.store).models(given.dataset) if can_measure(entry)]
    device = choose_device(given.device)
    _print_table(measure_all(given.store, given.dataset, models, device=device, report=ConsoleProgress()), as_json=given.json)


def run_app(given: argparse.Namespace) -> None:
    """Become the dashboard's server, on localhost; the demo is completed beside it, at a lower priority."""
    os.environ["PLATOSCOPE_STORE"] = str(given.store.resolve())
    if given.demo:
        subprocess.Popen([sys.executable, "-m", "core", "demo"], cwd=ROOT, preexec_fn=lambda: os.nice(5))
    command = [sys.executable, "-m", "pages._shared.serve", "run", "app.py", "--server.port", str(given.port)]
    print(f"Platoscope over {given.store} on http://localhost:{given.port}", file=sys.stderr)
    os.chdir(ROOT)  # where app.py, pages/ and .streamlit/config.toml are
    os.execv(sys.executable, command)
