"""Opening the dashboard must not pay for what only embedding and training need."""

import subprocess
import sys

from core.settings import ROOT

HEAVY = ("torch", "transformers", "timm", "umap", "numba", "sklearn", "datasets")


def test_the_pages_import_nothing_heavy():
    code = (
        f"import sys; import views._shared.frame, views._shared.exportbar, views._shared.gallery; "
        f"print([name for name in {HEAVY!r} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_no_page_has_the_folder_that_breaks_the_first_deep_link():
    assert not (ROOT / "pages").exists()
