"""Models whose embeddings are still to come: a store lists them, and only vectors are missing.

`embeddings/DATASET/expected.json` holds what each file will say about itself once it is written,
`expected-texts.parquet` what its texts cost: model, index, bits, bytes.
Answers that ship with the project are checked against that like against any embedding, so that the
demo is complete before anything is embedded. A model whose file is there is no longer expected,
even if that file cannot be used.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache, partial
from pathlib import Path

import pandas as pd

from core.store.examine import Stamp, stamp
from core.store.publishing import locked, publish_json, replace
from core.store.schema import Meta, dump_meta, load_meta
from core.store.tables import read_frame
from core.store.versions import is_present

FILE = "expected.json"
TEXTS = "expected-texts.parquet"
PATIENCE = 60.0  # seconds to wait for another process that writes the list
Rows = Mapping[str, str]  # what `dump_meta` returns


def expect(folder: Path, rows: Sequence[Rows], costs: Path | None = None) -> None:
    """List the models of a folder of embeddings that are to come; none removes the list.

    costs: a file with what their texts cost; without it, what is there already stays.
    """
    with locked(folder / FILE, patience=PATIENCE):
        if costs is not None:  # before the list, which makes them readable
            replace(folder / TEXTS, partial(shutil.copyfile, costs))
        if rows:
            publish_json(folder / FILE, list(rows))
        else:
            remove(folder)


def remove(folder: Path) -> None:
    """Remove the list, and what texts cost."""
    for name in (FILE, TEXTS):
        (folder / name).unlink(missing_ok=True)


def text_costs(folder: Path, model: str) -> pd.DataFrame | None:
    """Return index, bits and bytes of each text of a model that is to come, None if it codes no
    texts.
    """
    if not (folder / TEXTS).exists():
        return None
    costs = _costs_once(folder / TEXTS, stamp(folder / TEXTS))
    own = costs[costs["model"] == model]
    return None if own.empty else own.drop(columns="model").reset_index(drop=True)


@lru_cache(maxsize=2)
def _costs_once(path: Path, _: Stamp) -> pd.DataFrame:
    return read_frame(path)


def forget(folder: Path, names: Collection[str]) -> None:
    """Expect these models no longer."""
    if (folder / FILE).exists():
        metas = _read_once(folder / FILE, stamp(folder / FILE))
        expect(folder, [dump_meta(meta) for meta in metas if meta.name not in names])


def expected(folder: Path, published: Collection[str]) -> list[Meta]:
    """Return the metas of the models that are to come; published: names of those whose files are
    there.
    """
    try:
        metas = _read_once(folder / FILE, stamp(folder / FILE))
    except (FileNotFoundError, NotADirectoryError):
        return []
    coming = [meta for meta in metas if meta.name not in published]
    return [meta for meta in coming if is_present(meta.recipe)]


@lru_cache(maxsize=8)
def _read_once(path: Path, _: Stamp) -> list[Meta]:
    try:
        return [load_meta(rows) for rows in json.loads(path.read_text("utf-8"))]
    except (AttributeError, KeyError, TypeError, ValueError):  # an edited file lists nothing
        return []
