"""A hub on this machine: it speaks the HTTP that its library speaks, and fails when told to."""

from __future__ import annotations

from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Lock, Thread

from tests.hub.answers import Answer, Question, answer
from tests.hub.misbehavior import FAULTS, Wrong, body, head
from tests.hub.repositories import HostedRepository

RIGHT = Wrong()


@dataclass
class Ordered:
    """A fault that was ordered. path: of the addresses that it befalls, a part. times: how often
    still.
    """

    fault: Wrong
    path: str
    times: float


class LocalHub:
    """A hub that hosts folders, on an address of this machine.

    asked: the method and path of every request so far.
    """

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.closing = Event()
        self._repositories: list[HostedRepository] = []
        self._faults: list[Ordered] = []
        self._lock = Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self.port = self._server.server_address[1]
        self.address = f"http://127.0.0.1:{self.port}"
        Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def add_model(self, name: str, folder: Path) -> str:
        """Host a folder as the newest commit of a model and return the commit."""
        return self.repository("models", name).commit(folder)

    def add_dataset(self, name: str, folder: Path, branch: str = "main") -> str:
        """Host a folder as the newest commit of a dataset's branch and return the commit."""
        return self.repository("datasets", name).commit(folder, branch)

    def fail(self, fault: str, path: str = "", *, times: float = float("inf")) -> None:
        """Let requests fail whose path has a part, the first of them or all; fault: of FAULTS."""
        self._faults.append(Ordered(FAULTS[fault], path, times))

    def heal(self) -> None:
        """Let nothing fail from now on."""
        self._faults.clear()

    def close(self) -> None:
        """Stop, and let go of those whom it keeps waiting."""
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()

    def answer(self, question: Question) -> tuple[Answer, Wrong]:
        """Return the answer to a question, and how it is sent."""
        self.asked.append(f"{question.method} {question.path}")
        fault = self._fault_for(question.path)
        right = answer(question, self._repositories)
        return fault.answered(right, question.address), fault

    def _fault_for(self, path: str) -> Wrong:
        with self._lock:
            for ordered in self._faults:
                if ordered.path in path and ordered.times > 0:
                    ordered.times -= 1
                    return ordered.fault
        return RIGHT

    def repository(self, kind: str, name: str) -> HostedRepository:
        """Return a repository, made where it is not there; kind: `models` or `datasets`."""
        for repository in self._repositories:
            if (repository.kind, repository.name) == (kind, name):
                return repository
        self._repositories.append(HostedRepository(kind, name))
        return self._repositories[-1]


def _handler(hub: LocalHub) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _do(self) -> None:
            data = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            wanted = self.headers.get("Range", "")
            cdn = f"http://localhost:{hub.port}"  # another host, as the hub's CDN is
            question = Question(self.command, self.path, data, wanted, cdn)
            given, fault = hub.answer(question)
            if fault.sent:
                self.close_connection = True
                fault.sent(self, given, hub.closing)
            else:
                head(self, given)
                body(self, given.body)

        do_GET = do_HEAD = do_POST = _do  # noqa: N815, the names that http.server calls

        def handle(self) -> None:
            try:
                super().handle()
            except OSError:  # who asked has hung up
                self.close_connection = True

        def log_message(self, *_: object) -> None:
            """Keep the terminal free."""

    return Handler
