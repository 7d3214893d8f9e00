"""The hub's answers to whom nothing goes wrong: its API, its files, its CDN."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import parse_qs, unquote, urlsplit

from tests.hub.repositories import HostedFile, HostedRepository

API = re.compile(r"/api/(models|datasets)/(.+?)(?:/(revision|tree|paths-info)/([^/]+)(?:/(.*))?)?")
FILE = re.compile(r"/(?:(datasets)/)?(.+?)/resolve/([^/]+)/(.+)")


@dataclass(frozen=True)
class Answer:
    """What is sent back."""

    status: int
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Question:
    """What was asked. cdn: where the files of large storage are."""

    method: str
    address: str
    body: bytes
    range: str
    cdn: str

    @property
    def path(self) -> str:
        return unquote(urlsplit(self.address).path)


def answer(question: Question, repositories: Sequence[HostedRepository]) -> Answer:
    """Answer as the hub does."""
    if question.path.startswith("/cdn/"):
        return _from_cdn(question, repositories)
    if match := API.fullmatch(question.path):
        kind, name, verb, revision, folder = match.groups()
        hosted = _named(repositories, kind, name)
        return _of_commit(
            hosted,
            revision or "main",
            lambda own, commit: _api(own, commit, question, verb or "", folder or ""),
        )
    if match := FILE.fullmatch(question.path):
        kind, name, revision, path = match.groups()
        hosted = _named(repositories, kind or "models", name)
        if hosted and hosted.gated:
            return refusal(403, "GatedRepo", f"Access to model {name} is restricted")
        return _of_commit(hosted, revision, lambda own, commit: _file(own, commit, path, question))
    return refusal(404, "", "Not found")


def refusal(status: int, code: str, message: str, **headers: str) -> Answer:
    """Return an error as the hub words it; code: of its own, in a header."""
    named = {"X-Error-Code": code} if code else {}
    said = {"X-Error-Message": message, "Content-Type": "application/json"}
    return Answer(status, json.dumps({"error": message}).encode(), {**said, **named, **headers})


def _named(
    repositories: Sequence[HostedRepository], kind: str, name: str
) -> HostedRepository | None:
    return next((one for one in repositories if (one.kind, one.name) == (kind, name)), None)


def _of_commit(
    repository: HostedRepository | None,
    revision: str,
    then: Callable[[HostedRepository, str], Answer],
) -> Answer:
    if repository is None:
        return refusal(401, "RepoNotFound", "Repository not found")
    commit = repository.find(revision)
    if commit is None:
        return refusal(404, "RevisionNotFound", f"Invalid rev id: {revision}")
    return then(repository, commit)


def _api(
    repository: HostedRepository, commit: str, question: Question, verb: str, folder: str
) -> Answer:
    files = repository.commits[commit]
    if verb == "tree":
        entries = _listed(files, folder, "recursive=true" in question.address.lower())
        return _json(entries)
    if verb == "paths-info":
        paths = parse_qs(question.body.decode()).get("paths", [])
        folders = _folders(files)
        return _json(
            [files[path].listed() for path in paths if path in files]
            + [_folder(path) for path in paths if path in folders]
        )
    siblings = [{"rfilename": path, "size": len(file.data)} for path, file in files.items()]
    facts = {
        "private": False,
        "gated": repository.gated,
        "disabled": False,
        "tags": [],
        "downloads": 0,
    }
    return _json({"id": repository.name, "sha": commit, "siblings": siblings, **facts})


def _listed(
    files: Mapping[str, HostedFile], folder: str, recursive: bool
) -> list[dict[str, object]]:
    start = f"{folder}/" if folder else ""
    inside = [path for path in files if path.startswith(start)]
    if recursive:
        return [files[path].listed() for path in inside]
    folders = sorted(
        {start + path[len(start) :].split("/")[0] for path in inside if "/" in path[len(start) :]}
    )
    direct = [files[path].listed() for path in inside if "/" not in path[len(start) :]]
    return [*map(_folder, folders), *direct]


def _folders(files: Mapping[str, HostedFile]) -> set[str]:
    return {
        "/".join(path.split("/")[:depth])
        for path in files
        for depth in range(1, path.count("/") + 1)
    }


def _folder(path: str) -> dict[str, object]:
    return {"type": "directory", "path": path, "size": 0, "oid": "0" * 40}


def _file(repository: HostedRepository, commit: str, path: str, question: Question) -> Answer:
    file = repository.commits[commit].get(path)
    if file is None:
        return refusal(404, "EntryNotFound", "Entry not found", **{"X-Repo-Commit": commit})
    if not file.is_large:
        headers = {"X-Repo-Commit": commit, "ETag": f'"{file.blob}"'}
        return part(file.data, question.range, headers)
    headers = {
        "X-Repo-Commit": commit,
        "X-Linked-Etag": f'"{file.digest}"',
        "X-Linked-Size": str(len(file.data)),
        "Location": f"{question.cdn}/cdn/{file.digest}",
        "X-Xet-Hash": file.digest,
        "X-Xet-Refresh-Route": f"/api/{repository.kind}/{repository.name}/xet-read-token/{commit}",
    }
    return Answer(302, b"", headers)


def _from_cdn(question: Question, repositories: Sequence[HostedRepository]) -> Answer:
    digest = question.path.removeprefix("/cdn/")
    for repository in repositories:
        for files in repository.commits.values():
            for file in files.values():
                if file.digest == digest:
                    return part(file.data, question.range, {"ETag": f'"{digest}"'})
    return refusal(404, "", "Not found")


def part(data: bytes, wanted: str, headers: Mapping[str, str]) -> Answer:
    """Return a file, or the part that a Range header names."""
    match = re.fullmatch(r"bytes=(\d+)-(\d*)", wanted)
    if match is None:
        return Answer(200, data, headers)
    start, stop = int(match[1]), min(int(match[2] or len(data) - 1) + 1, len(data))
    shown = {"Content-Range": f"bytes {start}-{stop - 1}/{len(data)}"}
    return Answer(206, data[start:stop], {**headers, **shown})


def _json(value: object) -> Answer:
    return Answer(200, json.dumps(value).encode(), {"Content-Type": "application/json"})
