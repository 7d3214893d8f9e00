"""The demo's answers ship with the project, so that a fresh clone opens on the finished dashboard.

    make answers        builds the demo from nothing and copies its answers

`data/demo` holds the results as a store does, but for the lists of neighbors, and what each
embedding will say of itself. Installed into a store, they are checked like any other answer: one
that no longer follows from the weights, the metrics or the questions is computed again.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

from core.progress import ConsoleProgress
from core.settings import DEMO_ANSWERS, ROOT
from core.store.files import examine_if_usable
from core.store.listing import FILE, TEXTS, expect
from core.store.publishing import locked, replace
from core.store.schema import Meta, load_meta, published_files, result_file

DATASET = "cave"
PLACE = "{ROOT}"  # stands for the folder of the project in paths
PATIENCE = 60.0  # seconds to wait for another process that writes the same file


def install(store: Path, shipped: Path = DEMO_ANSWERS) -> None:
    """Put the Cave's stimuli and all that ships into a store, in place of nothing that is of use
    there.
    """
    from core.competence.records import suite_recipe
    from core.demo.building import is_current, missing_specs
    from core.stimuli.cave import CaveDataset
    from core.store import View, add_dataset

    store = Path(store).absolute()
    add_dataset(store, CaveDataset(), report=ConsoleProgress())
    folder, lacking = Path("embeddings") / DATASET, missing_specs(store)
    text = (shipped / folder / FILE).read_text("utf-8").replace(PLACE, str(ROOT))
    metas = [(rows, load_meta(rows)) for rows in json.loads(text)]
    coming = [rows for rows, meta in metas if meta.name in lacking and is_current(meta.entry.card)]
    expect(store / folder, coming, costs=shipped / folder / TEXTS)
    measured = {suite_recipe(entry) for entry in View(store).embeddings(DATASET)}
    files = published_files(shipped / "results" / DATASET)
    answers = [path for path in files if path.stem.startswith("answer-")]
    for path in (path for path in files if path not in answers):
        _take(path, store, lambda new: new.recipe in measured)
    view = View(store)  # answers depend on what was measured
    for path in answers:
        _take(path, store, lambda new: view.is_fresh(new.reads))


def _take(path: Path, store: Path, is_true: Callable[[Meta], bool]) -> None:
    """Copy a result that ships into a store that has none under its name, or another one where the
    shipped one is true of the store. One of another version is made again when it is needed.
    """
    target, new = result_file(store, DATASET, path.stem), examine_if_usable(path)
    if new is None:
        return
    with locked(target, patience=PATIENCE):
        held = examine_if_usable(target)
        same = held is not None and (held.recipe, held.reads) == (new.recipe, new.reads)
        if held is None or (not same and is_true(new)):
            replace(target, partial(shutil.copyfile, path))
