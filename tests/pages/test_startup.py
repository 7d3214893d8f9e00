"""Opening the dashboard must not pay for what only embedding and training need."""

import subprocess
import sys

from core.settings import ROOT

HEAVY = ("torch", "transformers", "timm", "umap", "numba", "sklearn", "datasets")


def test_the_pages_import_nothing_heavy():
    code = (
        "import sys; import pages._shared.frame, pages._shared.exportbar,"
        " pages._parts.stimuli.opened, pages._parts.stimuli.ends; import"
        " pages._parts.stimuli.plane, pages._parts.dispersion.why; print([name for name in"
        f" {HEAVY!r} if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_a_process_that_is_started_for_work_draws_nothing():
    code = "import runpy; runpy.run_path('app.py', run_name='__mp_main__')"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout == ""
