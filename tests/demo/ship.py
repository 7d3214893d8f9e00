"""Makes again what ships of the demo's answers:

    make answers        python -m tests.demo.ship build/demo

Packs the weights of new trainings, builds the demo from nothing, opens each page and part of it
once, so that whatever it asks at first is kept, asks what pages offer behind a button, and writes
what is fresh to `data/demo.tar.xz`.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import tarfile
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd
from streamlit.components.v2 import manifest_scanner
from streamlit.testing.v1 import AppTest
from streamlit.util import calc_hash

from core.cave.demo import DATASET, PLACE, answer_demo, build_demo, measure_demo
from core.cave.weights import pack
from core.options import build
from core.questions.asking import ask
from core.questions.kept import FRESH, list_results
from core.questions.topics import find_kind
from core.settings import CAVE_WEIGHTS, DEMO_ANSWERS, ROOT
from core.store import Store
from core.store.files import examine
from core.store.listing import FILE, TEXTS
from core.store.schema import dump_meta, published_files
from core.study.study import Study
from pages._shared import frame, runner
from tests.navigation import VIEWS

OFFERED: Sequence[tuple[str, dict[str, Any]]] = (  # behind a button: command, choices
    ("dispersion effect", {"by": "pc1"}),
    ("swap", {}),
    ("adapt", {"of": "kernels"}),
    ("adapt", {"of": "probes"}),
    ("neurons share", {}),
    ("stitch", {"all_layers": True}),
)
SHIPPED = ("answer-", "competence-", "head-", "stitches-")  # beginnings of names


def visit(store: Path) -> None:
    """Open each page over a store, and wait for whatever it shows; raises if one is in error."""
    os.environ["PLATOSCOPE_STORE"] = str(store)
    frame.FOLDED = False
    runner.LONGEST_WAIT = 60.0  # seconds; what takes longer is left to a job, as for a visitor
    manifest_scanner.scan_component_manifests = list  # type: ignore[assignment]
    for page in VIEWS:
        app = AppTest.from_file(str(ROOT / "pages" / "frame.py"), default_timeout=7200)
        app._page_hash = calc_hash(page.path)
        app.query_params.update({"tab": page.tab} if page.tab else {})
        app.run()
        if app.exception or app.error:
            raise RuntimeError(
                f"{page.name}: {[one.value for one in (*app.exception, *app.error)]}"
            )
        print(page.name, file=sys.stderr)


def ship(store: Path, archive: Path = DEMO_ANSWERS) -> None:
    """Replace the shipped answers by the fresh results of a complete demo store."""
    with TemporaryDirectory() as folder:
        collect(store, Path(folder))
        with tarfile.open(archive, "w:xz") as answers:
            answers.add(folder, ".")


def collect(store: Path, to: Path) -> None:
    kept = list_results(Study(Store(store), DATASET))
    fresh = set(kept.loc[kept["state"] == FRESH, "name"])
    results, embeddings = to / "results" / DATASET, to / "embeddings" / DATASET
    results.mkdir(parents=True)
    embeddings.mkdir(parents=True)
    for path in published_files(store / "results" / DATASET):
        if path.name.startswith(SHIPPED) and path.stem in fresh:
            shutil.copyfile(path, results / path.name)
    said = [dump_meta(examine(path)) for path in published_files(store / "embeddings" / DATASET)]
    text = json.dumps(said, indent=0, ensure_ascii=False)
    place = CAVE_WEIGHTS.relative_to(ROOT).as_posix()  # below the checkout that embedded the models
    text = re.sub(rf"/[^\"@:]*/{place}/", f"{PLACE}/{place}/", text)
    (embeddings / FILE).write_text(f"{text}\n", encoding="utf-8")
    reader, costs = Store(store), []
    for entry in reader.embeddings(DATASET):
        own = reader.text_costs(DATASET, entry.card.name)
        if own is not None:
            costs.append(own.assign(model=entry.card.name))
    pd.concat(costs).to_parquet(embeddings / TEXTS, index=False, compression=None)


def main(store: Path) -> None:
    """Build the demo from nothing, visit it and ship its answers."""
    pack(CAVE_WEIGHTS)
    build_demo(store)
    measure_demo(store)
    answer_demo(store)
    visit(store)
    study = Study(Store(store), DATASET)
    for command, choices in OFFERED:
        ask(build(find_kind(command), {"dataset": DATASET, **choices}), study)
    ship(store)


if __name__ == "__main__":
    main(Path(sys.argv[1]).absolute())
