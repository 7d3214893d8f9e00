"""A wheel built from the repository runs outside of it: the command, the dashboard and its data."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
import urllib.request
import zipfile
from pathlib import Path

import pytest

from core.settings import ROOT
from tests.ports import find_free_port

pytestmark = pytest.mark.slow
FILES = ("app.py", "setup.py", "pyproject.toml", "README.md", "LICENSE")
FOLDERS = (".streamlit", "core", "platoscope", "pages", "data")
MODEL = "gpt2-xs"  # stands for all the Cave's weights, which take seconds to pack


def left_out(folder: str, names: list[str]) -> list[str]:
    """Return what a folder's copy lacks."""
    if Path(folder) == ROOT / "data" / "cave":
        return [name for name in names if name not in (MODEL, "tokenizers")]
    unpacked = ("model.safetensors", "tokenizer.json") if Path(folder).name == MODEL else ()
    return [name for name in names if name in ("__pycache__", "screenshots", *unpacked)]


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the repository's sources, since building leaves files next to them."""
    copy = tmp_path_factory.mktemp("source")
    for name in FILES:
        shutil.copy(ROOT / name, copy)
    for name in FOLDERS:
        shutil.copytree(ROOT / name, copy / name, ignore=left_out)
    return copy


@pytest.fixture(scope="module")
def installed(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder that the wheel is unpacked into."""
    folder = tmp_path_factory.mktemp("installed")
    build = [sys.executable, "-m", "pip", "wheel", ".", "-q", "-w", str(folder)]
    offline = ["--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run([*build, *offline], cwd=source, check=True)
    (wheel,) = folder.glob("platoscope-*.whl")
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(folder)
    wheel.unlink()
    return folder


def environment(installed: Path) -> dict[str, str]:
    """Return one that knows the wheel, and of the repository nothing."""
    return os.environ | {"PYTHONPATH": str(installed), "PYTHONWARNINGS": "error"}


def run(installed: Path, *arguments: str, at: Path) -> str:
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=at,
        env=environment(installed),
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def test_the_wheel_holds_every_file_of_the_program(source: Path, installed: Path) -> None:
    def files(folder: Path, *names: str) -> set[str]:
        inside = [path for name in names for path in (folder / name).rglob("*") if path.is_file()]
        return {str(path.relative_to(folder)) for path in inside}

    app = installed / "platoscope_app"
    assert files(installed, "core", "platoscope") == files(source, "core", "platoscope")
    tracked = files(source, "pages", "data", ".streamlit")
    packed = {name for name in tracked if name.endswith("model.xz") or "/tokenizers/" in name}
    assert files(app, "pages", "data", ".streamlit") == tracked - packed
    assert (app / "data/cave" / MODEL / "model.safetensors").exists()
    assert (app / "app.py").read_text() == (ROOT / "app.py").read_text()


def test_the_command_finds_its_data_outside_the_repository(installed: Path, tmp_path: Path) -> None:
    assert "usage: platoscope" in run(installed, "-m", "core", "--help", at=tmp_path)
    code = "from core.settings import ROOT; from core.cave.demo import shipped_specs;"
    code += " print(ROOT); print(*shipped_specs())"
    assert run(installed, "-c", code, at=tmp_path).split() == [
        str(installed / "platoscope_app"),
        MODEL,
    ]
    assert list(tmp_path.iterdir()) == []


def test_the_dashboard_starts_over_an_empty_store(installed: Path, tmp_path: Path) -> None:
    port = find_free_port()
    command = ["-m", "core", "app", "--port", str(port), "--store", "store"]
    surroundings = environment(installed) | {"PYTHONWARNINGS": "default"}  # Streamlit's are its own
    with (
        (tmp_path / "log").open("w") as log,
        subprocess.Popen(
            [sys.executable, *command], cwd=tmp_path, env=surroundings, stdout=log, stderr=log
        ) as server,
    ):
        try:
            assert fetch(f"http://localhost:{port}/_stcore/health") == "ok"
            assert "<title>Streamlit</title>" in fetch(f"http://localhost:{port}/trends")
        finally:
            server.terminate()
    assert "Platoscope over store on" in (tmp_path / "log").read_text()


def fetch(address: str) -> str:
    """Return a page, as soon as the server is up."""
    for _ in range(900):
        try:
            with urllib.request.urlopen(address) as page:
                return str(page.read().decode())
        except OSError:
            time.sleep(0.2)
    raise AssertionError(f"{address} does not answer after three minutes")


def test_the_first_page_is_drawn_from_the_wheel(installed: Path, tmp_path: Path) -> None:
    code = """
import sys
from streamlit.testing.v1 import AppTest
from core.settings import ROOT
sys.path.append(str(ROOT))  # as `streamlit run app.py` does
app = AppTest.from_file(str(ROOT / "pages" / "frame.py"), default_timeout=180).run()
assert not app.exception, app.exception
print(app.main.title[0].value, app.main.code[0].value)
import pages._shared.frame as frame
print(frame.__file__)
"""
    surroundings = environment(installed) | {"PYTHONWARNINGS": "default"}
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env=surroundings | {"PLATOSCOPE_STORE": str(tmp_path / "none")},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "platoscope demo" in done.stdout
    assert str(installed / "platoscope_app" / "pages") in done.stdout
