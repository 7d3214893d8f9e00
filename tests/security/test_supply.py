"""What is installed is what was tested: every package has a version, a hash and a reason."""

from __future__ import annotations

import re
import sys
import tomllib
from importlib.metadata import packages_distributions

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from core.settings import ROOT
from tests.sources import imports_of

LOCKS = ("torch", "app", "extras")
TEXT = (ROOT / "pyproject.toml").read_text()
PROJECT = tomllib.loads(TEXT)["project"]
DECLARED = {
    "app": [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["dev"]],
    "extras": PROJECT["optional-dependencies"]["cluster"],
}
COMING = re.findall(r"^    # (.*?) come with", TEXT, re.MULTILINE | re.DOTALL)
NAMED = {
    whose: {canonicalize_name(name) for name in re.findall(r"[\w-]+", comment)}
    | {canonicalize_name(Requirement(text).name) for text in declared}
    for whose, comment, declared in (
        ("app", COMING[0], [*PROJECT["dependencies"], *DECLARED["extras"]]),
        ("tests", COMING[1], PROJECT["optional-dependencies"]["dev"]),
    )
}
HELPERS = {
    "app",
    "core",
    "pages",
    "docs",
    "platoscope",
    "tests",
    *(each.stem for each in ROOT.glob("tests/**/*")),
}


def entries(lock: str) -> dict[str, tuple[Version, int]]:
    """Return the version of every package of a lock, and how many hashes it has."""
    text = (ROOT / "locks" / f"{lock}.txt").read_text()
    blocks = re.split(r"\n(?=[a-z0-9])", re.sub(r"^#.*\n", "", text, flags=re.MULTILINE))
    heads = [re.match(r"([\w.-]+)==([^ ;]+)", block) for block in blocks]
    assert all(heads), "every line of a lock is a package with its version, or a hash"
    return {
        canonicalize_name(head[1]): (Version(head[2]), block.count("--hash=sha256:"))
        for head, block in zip(heads, blocks, strict=True)
        if head
    }


@pytest.mark.parametrize("lock", LOCKS)
def test_every_locked_package_has_hashes_and_no_place(lock):
    assert all(hashes for _, hashes in entries(lock).values())
    text = (ROOT / "locks" / f"{lock}.txt").read_text()
    assert not re.search(r"://|--index-url|--find-links|^-e|@", text, re.MULTILINE)


@pytest.mark.parametrize("lock", ["app", "extras"])
def test_what_is_declared_is_locked_within_its_bounds(lock):
    locked = entries("torch") | entries(lock)
    for text in DECLARED[lock]:
        one = Requirement(text)
        assert one.specifier.contains(locked[canonicalize_name(one.name)][0]), text


@pytest.mark.parametrize(
    ("places", "ours", "named"),
    [
        (
            ("app.py", "core/**/*.py", "platoscope/*.py", "pages/**/*.py"),
            {"core", "pages"},
            NAMED["app"],
        ),
        (("setup.py", "docs/**/*.py", "tests/**/*.py"), HELPERS, NAMED["app"] | NAMED["tests"]),
    ],
    ids=["app", "tests"],
)
def test_what_is_imported_is_declared_or_said_to_come_with_it(places, ours, named):
    sources = [path for place in places for path in ROOT.glob(place)]
    names = set[str]().union(*(those for path in sources for those in imports_of(path).values()))
    imported = {name.partition(".")[0] for name in names} - sys.stdlib_module_names
    sold_as = packages_distributions()
    assert {
        name
        for name in imported - ours
        if named.isdisjoint(map(canonicalize_name, sold_as.get(name, [name])))
    } == set()
