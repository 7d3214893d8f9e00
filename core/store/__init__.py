"""The store: a folder of immutable DuckDB files; the only place that imports duckdb.

Readers see whole files only, any number of them at any time; a writer publishes a file in one step.
"""

from core.store.publishing import is_locked, locked
from core.store.reader import Store
from core.store.schema import ModelEntry
from core.store.writer import Embedding, add_dataset, write_embedding, write_result

__all__ = [
    "Embedding",
    "ModelEntry",
    "Store",
    "add_dataset",
    "is_locked",
    "locked",
    "write_embedding",
    "write_result",
]
