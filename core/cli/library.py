"""`platoscope dataset|model rename|delete` and `platoscope result`: what a person changes of a
store.

A command that deletes says what would go, and deletes when it is told `--yes`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from core.cli.shared import add_command, add_dataset, add_json, group, print_table
from core.encoders.requests import FactsRequest
from core.errors import MISTAKE
from core.machine.memory import size_text
from core.questions.words import add_options, read_question

if TYPE_CHECKING:
    from core.store.editing import Deletion

DATASET_TITLE = 'what people call it; "" for its own title'


def add(commands: Any) -> None:
    """Add `dataset rename`, `dataset delete`, `model rename|set|delete` and `result`."""
    _add_to_dataset(group(commands, "dataset"))
    _add_to_model(group(commands, "model"))
    _add_result(group(commands, "result"))


def _add_to_dataset(kinds: Any) -> None:
    rename = add_command(kinds, "rename", run_dataset_rename, "give a dataset another title")
    rename.add_argument("name", metavar="NAME", help="the dataset")
    rename.add_argument("title", metavar="TITLE", help=DATASET_TITLE)
    delete = add_command(
        kinds, "delete", run_dataset_delete, "delete a dataset and all that was made over it"
    )
    delete.add_argument("name", metavar="NAME", help="the dataset")
    _add_yes(delete)


def _add_to_model(kinds: Any) -> None:
    rename = add_command(kinds, "rename", run_model_rename, "give a model another title")
    rename.add_argument("name", metavar="NAME", help="the model")
    rename.add_argument("title", metavar="TITLE", help=DATASET_TITLE)
    add_dataset(rename)
    facts = add_command(kinds, "set", run_model_set, "say what is known of a model")
    add_options(facts, FactsRequest)
    delete = add_command(
        kinds, "delete", run_model_delete, "delete a model of a dataset and what depends on it"
    )
    delete.add_argument("name", metavar="NAME", help="the model")
    add_dataset(delete)
    _add_yes(delete)


def _add_result(kinds: Any) -> None:
    listing = add_command(
        kinds,
        "list",
        run_result_list,
        "list what is kept over a dataset: answers, neighbors and more",
    )
    add_dataset(listing)
    add_json(listing)
    delete = add_command(
        kinds, "delete", run_result_delete, "delete results by name, or all that are stale"
    )
    delete.add_argument("name", nargs="*", metavar="NAME", help="results (all that are stale)")
    add_dataset(delete)
    _add_yes(delete)


def _add_yes(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--yes", action="store_true", help="delete; without this, say what would go"
    )


def run_dataset_rename(arguments: argparse.Namespace) -> None:
    """Give a dataset another title."""
    from core.store import Store, rename_dataset

    rename_dataset(arguments.store, arguments.name, arguments.title)
    print(f"{arguments.name}: {Store(arguments.store).dataset(arguments.name).title}")


def run_model_rename(arguments: argparse.Namespace) -> None:
    """Give a model another title."""
    from core.store import Store, rename_model

    rename_model(arguments.store, arguments.dataset, arguments.name, arguments.title)
    entry = Store(arguments.store).model(arguments.dataset, arguments.name)
    print(f"{arguments.name}: {entry.card.title}")


def run_model_set(arguments: argparse.Namespace) -> None:
    """Keep what a person says of a model."""
    from core.competence.scores import tell_model
    from core.store import Store

    request = read_question(FactsRequest, arguments)
    tell_model(arguments.store, request.dataset, request.name, request.facts, level=request.level)
    entry = Store(arguments.store).model(request.dataset, request.name)
    said = {
        "family": entry.card.family,
        "objective": entry.card.objective,
        "parameters": entry.card.parameters,
        "seed": entry.card.training.get("seed"),
        "level": entry.level,
    }
    facts = ", ".join(f"{name} {value}" for name, value in said.items() if value is not None)
    print(f"{request.name}: {facts}")


def run_dataset_delete(arguments: argparse.Namespace) -> int:
    """Delete a dataset and all that was made over it."""
    from core.store import plan_dataset_deletion

    return _delete(arguments, plan_dataset_deletion(arguments.store, arguments.name))


def run_model_delete(arguments: argparse.Namespace) -> int:
    """Delete a model of a dataset and what depends on it."""
    from core.store import plan_model_deletion

    plan = plan_model_deletion(arguments.store, arguments.dataset, arguments.name)
    return _delete(arguments, plan)


def _delete(arguments: argparse.Namespace, plan: Deletion) -> int:
    from core.store import carry_out

    lines = [*plan.sentences, f"{len(plan.files)} files, {size_text(plan.size)}"]
    return _confirmed(arguments, lines, lambda: carry_out(arguments.store, plan))


def run_result_list(arguments: argparse.Namespace) -> None:
    """Print one row per result over a dataset."""
    print_table(_results(arguments), as_json=arguments.json)


def run_result_delete(arguments: argparse.Namespace) -> int:
    """Delete results over a dataset, those that are stale where none is named."""
    from core.store import delete_results

    table, names = _results(arguments), arguments.name
    names = names or table.loc[table["state"] == "stale", "name"].tolist()
    size = size_text(int(table.loc[table["name"].isin(names), "bytes"].sum()))
    if not names:
        print("no stale results")
        return 0
    lines = [*names, f"{len(names)} results, {size}"]
    listed = dict(zip(table["name"], table["made_at"], strict=True))
    made = {name: listed.get(name, "") for name in names}
    return _confirmed(
        arguments, lines, lambda: delete_results(arguments.store, arguments.dataset, made)
    )


def _results(arguments: argparse.Namespace) -> Any:
    from core.questions.kept import list_results
    from core.store import Store
    from core.study.study import Study

    return list_results(Study(Store(arguments.store), arguments.dataset))


def _confirmed(
    arguments: argparse.Namespace, lines: Sequence[str], delete: Callable[[], object]
) -> int:
    """Say what goes, and delete it where the person said `--yes`."""
    print("\n".join(lines))
    if not arguments.yes:
        print("platoscope: nothing is deleted yet; add --yes to delete it", file=sys.stderr)
        return MISTAKE
    delete()
    print("deleted", file=sys.stderr)
    return 0
