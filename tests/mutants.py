"""Would a test notice a mistake? Small mistakes, one at a time, in the packages that compute.

    python -m tests.mutants draw LIST.json                      draw the same mutants each time
    python -m tests.mutants judge LIST RESULTS.json --tree DIR  run tests on each; can be resumed
    python -m tests.mutants table LIST RESULTS.json FILE.csv    write both as one table

A mutant is known by its file, its function and the text of its line, so that a later commit can be
judged by the same list, or by the table: what is no longer there exactly once is called gone. Only
the tests of the mutant's own package run, so that some survivors may be killed by other tests.
"""

from __future__ import annotations

import argparse
import ast
import csv
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, astuple, dataclass, replace
from io import StringIO
from itertools import accumulate, pairwise
from pathlib import Path
from random import Random
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
PACKAGES = tuple(
    f"core/{name}"
    for name in ("metrics", "pairs", "spaces", "statistics", "store", "embedding", "questions")
)
MUTANTS, LEAST, SEED = 150, 10, 38
TIMES, LONGEST = 10, 600  # a mutant may take so many times as long as the code, and so many seconds
SWAPS = {ast.Add: ("+", "-"), ast.Sub: ("-", "+"), ast.Mult: ("*", "/"), ast.Div: ("/", "*")}
COMPARED = {  # as written, one step aside, and swapped
    ast.Lt: ("<", "<=", ">"),
    ast.LtE: ("<=", "<", ">="),
    ast.Gt: (">", ">=", "<"),
    ast.GtE: (">=", ">", "<="),
    ast.Eq: ("==", "", "!="),
    ast.NotEq: ("!=", "", "=="),
}
COLUMNS = ("id", "file", "function", "line text", "replacement", "kind", "before")
Scope = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@dataclass(frozen=True)
class Mutant:
    """Whole lines of a function, without the indent of the first, and what they become."""

    id: str
    file: str
    function: str  # qualified name; of a class between its functions; empty at the module's level
    line: str
    replacement: str
    kind: str


class Place(NamedTuple):
    """Where in a file's text something can be replaced, and by what."""

    function: str
    kind: str
    start: int
    stop: int
    after: str


class Source:
    """One file: its text, and where the mutants can be: not in strings, types or decorators."""

    def __init__(self, root: Path, file: str) -> None:
        self.file, self.text = file, (root / file).read_text("utf-8")
        self.lines = self.text.split("\n")
        self._starts = [0, *accumulate(len(line) + 1 for line in self.lines)]
        self._tokens = [
            (self._starts[token.start[0] - 1] + token.start[1], token.string)
            for token in tokenize.generate_tokens(StringIO(self.text).readline)
        ]
        self._spans = defaultdict(list, {"": [range(len(self.lines))]})  # lines of each function
        self.tree = ast.parse(self.text)
        self.places = list(self._places(self.tree, ()))

    def _places(self, node: ast.AST, scopes: tuple[Scope, ...]) -> Iterator[Place]:
        if _is_left_out(node):
            return
        if isinstance(node, Scope):
            scopes = (*scopes, node)
        function = ".".join(scope.name for scope in scopes)
        if isinstance(node, Scope):
            self._spans[function].append(range(node.lineno - 1, node.end_lineno))
        for kind, start, stop, after in self._edits(node):
            if kind != "statement" or (scopes and not isinstance(scopes[-1], ast.ClassDef)):
                yield Place(function, kind, start, stop, after)
        for field, value in ast.iter_fields(node):
            if field not in ("annotation", "returns", "decorator_list"):
                for child in value if isinstance(value, list) else [value]:
                    if isinstance(child, ast.AST):
                        yield from self._places(child, scopes)

    def _edits(self, node: ast.AST) -> Iterator[tuple[str, int, int, str]]:  # noqa: C901 - a case each
        """Yield what can be replaced of a node itself: kind, start, stop and what comes instead."""
        match node:
            case ast.BinOp(left, op, right) if type(op) in SWAPS:
                if not (_is_text(left) or _is_text(right)):
                    sign, other = SWAPS[type(op)]
                    yield "operator", *self._between(left, right, sign), other
            case ast.AugAssign(target, op, value) if type(op) in SWAPS and not _is_text(value):
                sign, other = SWAPS[type(op)]
                yield "operator", *self._between(target, value, f"{sign}="), f"{other}="
            case ast.Compare(left, ops, rights):
                for one, op, two in zip([left, *rights], ops, rights, strict=False):
                    sign, aside, swapped = COMPARED.get(type(op), ("", "", ""))
                    if aside:
                        yield "boundary", *self._between(one, two, sign), aside
                    if swapped:
                        yield "comparison", *self._between(one, two, sign), swapped
            case ast.BoolOp(op, values):
                word, other = ("and", "or") if isinstance(op, ast.And) else ("or", "and")
                for one, two in pairwise(values):
                    yield "logic", *self._between(one, two, word), other
            case ast.UnaryOp(ast.Not()):
                start, _ = self._span(node)
                yield "logic", start, start + len("not "), ""
            case ast.Constant(bool() as value):
                yield "constant", *self._span(node), str(not value)
            case ast.Constant(int() | float() as value) if value + 1 != value:
                yield "constant", *self._span(node), str(value + 1)
            case ast.Expr() | ast.Assign() | ast.AugAssign() | ast.AnnAssign(value=ast.expr()):
                yield "statement", *self._span(node), "pass"

    def _span(self, node: ast.AST) -> tuple[int, int]:
        return (
            self._at(node.lineno, node.col_offset),
            self._at(node.end_lineno, node.end_col_offset),
        )

    def _at(self, line: int, byte: int) -> int:
        """Return where in the text a byte of a line is; the tree counts bytes of UTF-8."""
        return self._starts[line - 1] + len(self.lines[line - 1].encode()[:byte].decode())

    def _between(self, left: ast.AST, right: ast.AST, sign: str) -> tuple[int, int]:
        (_, first), (last, _) = self._span(left), self._span(right)
        at = next(at for at, each in self._tokens if first <= at < last and each == sign)
        return at, at + len(sign)

    def mutant(self, place: Place) -> Mutant | None:
        """Return the mutant of a place; None where its line cannot be told from others, or where
        the outcome is no Python.
        """
        outcome = self.text[: place.start] + place.after + self.text[place.stop :]
        start = self.text.rfind("\n", 0, place.start) + 1
        end = self.text.find("\n", place.stop) - len(self.text)  # from the end: the same in both
        indent = _indent(self.text[start:])
        texts = [
            "\n".join(_without(indent, text[start:end].split("\n")))
            for text in (self.text, outcome)
        ]
        mutant = Mutant("", self.file, place.function, texts[0], texts[1], place.kind)
        try:
            ast.parse(outcome)
        except SyntaxError:
            return None
        return mutant if self.mutated(mutant) == outcome else None

    def mutated(self, mutant: Mutant) -> str | None:
        """Return the text with a mutant in it; None where its line is not in its function once."""
        line = mutant.line.split("\n")
        found = {
            at
            for span in self._spans[mutant.function]
            for at in span
            if _without(_indent(self.lines[at]), self.lines[at : at + len(line)]) == line
        }
        if len(found) != 1:
            return None
        (at,) = found
        indent = _indent(self.lines[at])
        new = [indent + each if each else "" for each in mutant.replacement.split("\n")]
        return "\n".join([*self.lines[:at], *new, *self.lines[at + len(line) :]])


def _is_left_out(node: ast.AST) -> bool:
    match node:
        case ast.JoinedStr() | ast.Expr(ast.Constant()) | ast.Assign([ast.Name("__all__")]):
            return True
        case ast.If(test):
            return "TYPE_CHECKING" in ast.unparse(test)
    return False


def _is_text(node: ast.AST) -> bool:
    return isinstance(getattr(node, "value", None), str) or isinstance(node, ast.JoinedStr)


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip(" "))]


def _without(indent: str, lines: Sequence[str]) -> list[str]:
    return [line.removeprefix(indent) for line in lines]


def draw(root: Path) -> list[Mutant]:
    """Draw mutants of every package, each kind as likely as another and one a line at most."""
    chance = Random(SEED)
    sources = {
        package: [
            Source(root, path.relative_to(root).as_posix())
            for path in sorted((root / package).rglob("*.py"))
        ]
        for package in PACKAGES
    }
    drawn = [
        mutant
        for package, count in _shares(sources).items()
        for mutant in _drawn(sources[package], count, chance)
    ]
    chance.shuffle(drawn)  # those judged first are a fair sample of all
    return [replace(mutant, id=f"m{at:03}") for at, mutant in enumerate(drawn, 1)]


def _shares(sources: Mapping[str, Sequence[Source]]) -> dict[str, int]:
    """Return how many mutants each package has: by its statements, but at least LEAST."""
    sizes = {
        package: sum(isinstance(node, ast.stmt) for each in files for node in ast.walk(each.tree))
        for package, files in sources.items()
    }
    shares = dict.fromkeys(sources, LEAST)
    while sum(shares.values()) < MUTANTS:
        shares[max(sizes, key=lambda package: sizes[package] / (2 * shares[package] + 1))] += 1
    return shares


def _drawn(sources: Sequence[Source], count: int, chance: Random) -> list[Mutant]:
    kinds: dict[str, list[tuple[Source, Place]]] = defaultdict(list)
    for source in sources:
        for place in source.places:
            kinds[place.kind].append((source, place))
    drawn: dict[tuple[str, str, str], Mutant] = {}
    while len(drawn) < count:
        places = kinds[chance.choice([kind for kind in sorted(kinds) if kinds[kind]])]
        source, place = places.pop(chance.randrange(len(places)))
        if mutant := source.mutant(place):
            drawn.setdefault((mutant.file, mutant.function, mutant.line), mutant)
    return list(drawn.values())


def judge(mutants: Sequence[Mutant], results: Path, tree: Path) -> None:
    """Run the tests on each mutant that has no verdict yet, and keep it at once."""
    status = ["git", "-C", str(tree), "status", "--porcelain", "--", "core"]
    if subprocess.run(status, check=True, capture_output=True, text=True).stdout:
        sys.exit(f"{tree}/core has changes. Commit them, or undo a mutant that was left there.")
    known = _results(results)
    for mutant in mutants:
        if mutant.id in known["verdicts"]:
            continue
        path = tree / mutant.file
        text = Source(tree, mutant.file).mutated(mutant) if path.exists() else None
        verdict: dict[str, str | float] = {"verdict": "gone", "by": "", "seconds": 0}
        if text is not None:
            tests, name = tests_of(tree, mutant.file)
            if name not in known["baselines"]:
                known["baselines"][name] = run(tree, tests, TIMES * LONGEST)
            verdict = _verdict(tree, mutant, text, tests, known["baselines"][name])
        known["verdicts"][mutant.id] = verdict
        results.write_text(json.dumps(known, indent=1), "utf-8")
        print(mutant.id, mutant.file, *verdict.values(), flush=True)


def _verdict(
    tree: Path, mutant: Mutant, text: str, tests: Sequence[str], baseline: Mapping
) -> dict[str, str | float]:
    options = ["-x", *(f"--deselect={test}" for test in baseline["failed"])]
    limit = min(TIMES * baseline["seconds"], LONGEST)
    with _written(tree / mutant.file, text), tempfile.TemporaryDirectory() as cache:
        extra = {"PYTHONDONTWRITEBYTECODE": "1"}
        if "loops" in mutant.file:  # numba's cache does not see a change in a function called
            extra["NUMBA_CACHE_DIR"] = cache
        ran = run(tree, tests, limit, options, extra)
    verdict = {None: "timeout", 0: "survived"}.get(ran["code"], "killed")
    by = next(iter(ran["failed"]), f"exit {ran['code']}") if verdict == "killed" else ""
    return {"verdict": verdict, "by": by, "seconds": ran["seconds"]}


@contextmanager
def _written(path: Path, text: str) -> Iterator[None]:
    """Let a file have another text; then give it back its own, and its times, by which Python knows
    what it has compiled.
    """
    content, stat = path.read_bytes(), path.stat()
    try:
        path.write_text(text, "utf-8")
        yield
    finally:
        path.write_bytes(content)
        os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))


def tests_of(tree: Path, file: str) -> tuple[list[str], str]:
    """Return the test files of a module, those first that name it, and what they are tests of: a
    package, or a topic of the questions.
    """
    parts = Path(file).with_suffix("").parts
    folder = tree / "tests" / parts[1]
    texts = {path: path.read_text("utf-8") for path in sorted(folder.rglob("test_*.py"))}
    name = ".".join(parts[:2])
    if parts[1] == "questions":
        topic = re.compile(rf"core\.questions\.{parts[2]}\b")
        of_topic = [
            path
            for path, text in texts.items()
            if path.is_relative_to(folder / parts[2]) or topic.search(text)
        ]
        name = ".".join(parts[:3]) if of_topic else name
        texts = {path: texts[path] for path in of_topic or texts}
    naming = re.compile(rf"{re.escape('.'.join(parts))}\b")
    first = sorted(texts, key=lambda path: not naming.search(texts[path]))
    return [path.relative_to(tree).as_posix() for path in first], name


def run(
    tree: Path,
    tests: Sequence[str],
    limit: float,
    options: Sequence[str] = (),
    extra: Mapping[str, str] | None = None,
) -> dict:
    """Run test files in a tree; return pytest's code, None where the time was over, the seconds and
    the tests that failed.
    """
    pytest = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=no", "-rfE"]
    command = [*pytest, *options, *tests]
    env = {**os.environ, "PYTHONPATH": str(tree), "CI": "1", **(extra or {})}  # CI: same examples
    began = time.monotonic()
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen(
            command, cwd=tree, env=env, stdout=output, stderr=output, start_new_session=True
        )
        try:
            code: int | None = process.wait(limit)
        except subprocess.TimeoutExpired:
            code = None
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        output.seek(0)
        failed = re.findall(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", output.read(), re.MULTILINE)
    if code not in (None, 0) and not extra and not failed:
        sys.exit(f"pytest ended with {code} and no failed test: {' '.join(tests)}")
    return {"code": code, "seconds": round(time.monotonic() - began, 1), "failed": failed}


def read(path: Path) -> list[Mutant]:
    """Return the mutants of a list, or of the table."""
    if path.suffix == ".json":
        return [Mutant(**each) for each in json.loads(path.read_text("utf-8"))]
    with path.open(encoding="utf-8", newline="") as file:
        return [Mutant(*(row[name] for name in COLUMNS[:6])) for row in csv.DictReader(file)]


def _results(path: Path) -> dict:
    if path.exists():
        return json.loads(path.read_text("utf-8"))
    return {"baselines": {}, "verdicts": {}}


def write_table(mutants: Sequence[Mutant], results: Path, path: Path) -> None:
    """Write the mutants with their verdicts, and print how many of each a package has."""
    verdicts = {name: each["verdict"] for name, each in _results(results)["verdicts"].items()}
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(COLUMNS)
        table.writerows((*astuple(each), verdicts.get(each.id, "")) for each in mutants)
    for package in PACKAGES:
        of = [verdicts.get(each.id, "-") for each in mutants if each.file.startswith(package)]
        print(package, len(of), dict(sorted(Counter(of).items())))


def main() -> None:
    """Do what the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants")
    commands = parser.add_subparsers(dest="command", required=True)
    for command, paths in (("draw", 1), ("judge", 2), ("table", 3)):
        part = commands.add_parser(command)
        for name in ("list", "results", "csv")[:paths]:
            part.add_argument(name, type=Path)
        part.add_argument("--tree", type=Path, default=ROOT)
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended"))  # so that a mutant is undone
    if given.command == "draw":
        drawn = [asdict(each) for each in draw(given.tree)]
        given.list.write_text(json.dumps(drawn, indent=1, ensure_ascii=False), "utf-8")
    elif given.command == "judge":
        judge(read(given.list), given.results, given.tree.resolve())
    else:
        write_table(read(given.list), given.results, given.csv)


if __name__ == "__main__":
    main()
