"""Results of earlier versions, which were DuckDB files, become Parquet files."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from core.errors import StoreError
from core.settings import is_read_only
from core.store.examine import examine
from core.store.publishing import locked
from core.store.schema import RESULT, SUFFIX
from core.store.tables import read_frame
from core.store.writer import write_table


def convert_results(root: Path) -> None:
    """Rewrite the results that are DuckDB files; a damaged one stays as it is."""
    if is_read_only():
        return
    for old in root.glob(f"results/*/*{SUFFIX}"):
        with suppress(StoreError, OSError), locked(old):
            meta, new = examine(old), old.with_suffix(RESULT)
            if not new.exists():
                write_table(new, read_frame(old), meta)
            if examine(new).recipe == meta.recipe:  # else two versions wrote: neither is lost
                old.unlink()
