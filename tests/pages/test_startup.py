"""Opening the dashboard must not pay for what only embedding and training need."""

import subprocess
import sys

from core.settings import ROOT

HEAVY = ("torch", "transformers", "timm", "umap", "numba", "sklearn", "datasets")


def test_the_pages_import_nothing_heavy_and_a_process_that_is_started_for_work_draws_nothing():
    code = (
        "import runpy, sys; runpy.run_path('pages/frame.py', run_name='__mp_main__');"
        " import pages._shared.frame, pages._shared.exportbar, pages._parts.images.opened,"
        " pages._parts.images.extremes, pages._parts.images.explore, pages._parts.images.language,"
        " pages._parts.transfer.adapters, pages._parts.transfer.prefixes,"
        " pages._parts.transfer.probes, pages._parts.transfer.unpaired,"
        " pages._parts.robustness.controls, pages._parts.theory.deep_linear,"
        " core.questions.benefits;"
        f" print([name for name in {HEAVY!r} if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"
