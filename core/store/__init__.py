"""The store: a folder of immutable DuckDB files; the only place that imports duckdb.

Readers see whole files only, any number of them at any time; a writer publishes a file in one step.
"""

from core.store.publishing import is_locked, locked
from core.store.reader import Store
from core.store.schema import ModelEntry
from core.store.views import SavedView, read_views, remove_view, save_view
from core.store.writer import Embedding, add_dataset, write_embedding, write_result

__all__ = [
    "Embedding",
    "ModelEntry",
    "SavedView",
    "Store",
    "add_dataset",
    "is_locked",
    "locked",
    "read_views",
    "remove_view",
    "save_view",
    "write_embedding",
    "write_result",
]
