"""The demo's answers ship with the project, so that a fresh clone opens on the finished dashboard.

    make answers        builds the demo from nothing and copies its answers

`data/demo` holds the results as a store does, but for the lists of neighbors, and what each
embedding will say of itself. Installed into a store, they are checked like any other answer: one
that no longer follows from the weights, the metrics or the questions is computed again.
"""

from __future__ import annotations

import json
import shutil
from functools import partial
from pathlib import Path

from core.progress import ConsoleProgress
from core.settings import DEMO_ANSWERS, ROOT
from core.store.examine import examine, examine_if_usable
from core.store.expected import FILE, TEXTS, expect
from core.store.publishing import locked, replace
from core.store.schema import load_meta, published_files, result_file

DATASET = "cave"
PLACE = "{ROOT}"  # stands for the folder of the project in paths
PATIENCE = 60.0  # seconds to wait for another process that writes the same file


def install(store: Path, shipped: Path = DEMO_ANSWERS) -> None:
    """Put the Cave's stimuli and all that ships into a store. A result that is there already is
    replaced if it was made by another recipe or from something else.
    """
    from core.demo.building import is_current, missing_specs
    from core.stimuli.cave import CaveDataset
    from core.store import add_dataset

    store = Path(store).absolute()
    add_dataset(store, CaveDataset(), report=ConsoleProgress())
    folder, lacking = Path("embeddings") / DATASET, missing_specs(store)
    text = (shipped / folder / FILE).read_text("utf-8").replace(PLACE, str(ROOT))
    metas = [(said, load_meta(said)) for said in json.loads(text)]
    coming = [said for said, meta in metas if meta.name in lacking and is_current(meta.entry.card)]
    with locked(store / folder / FILE, patience=PATIENCE):
        expect(store / folder, coming)
        replace(store / folder / TEXTS, partial(shutil.copyfile, shipped / folder / TEXTS))
    for path in published_files(shipped / "results" / DATASET):
        target = result_file(store, DATASET, path.stem)
        with locked(target, patience=PATIENCE):
            held, new = examine_if_usable(target), examine(path)
            if held is None or (held.recipe, held.reads) != (new.recipe, new.reads):
                replace(target, partial(shutil.copyfile, path))
