"""The store: a folder of immutable DuckDB files; the only place that imports duckdb.

Readers see whole files only, any number of them at any time; a writer publishes a file in one step.
"""

from core.store.editing import (
    Deletion,
    carry_out,
    check_facts,
    delete_results,
    plan_dataset_deletion,
    plan_model_deletion,
    rename_dataset,
    rename_model,
    set_facts,
)
from core.store.publishing import is_locked, locked
from core.store.reader import Store
from core.store.schema import ModelEntry
from core.store.view import View
from core.store.writer import Embedding, add_dataset, write_embedding, write_result

__all__ = [
    "Deletion",
    "Embedding",
    "ModelEntry",
    "Store",
    "View",
    "add_dataset",
    "carry_out",
    "check_facts",
    "delete_results",
    "is_locked",
    "locked",
    "plan_dataset_deletion",
    "plan_model_deletion",
    "rename_dataset",
    "rename_model",
    "set_facts",
    "write_embedding",
    "write_result",
]
