"""The HTTP client of the hub's library: it asks again, and knows when to give up."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from functools import cache
from math import inf
from typing import Any

import httpx2
from httpx2 import USE_CLIENT_DEFAULT
from huggingface_hub import constants, set_client_factory
from huggingface_hub.utils._http import hf_request_event_hook

from core.hub.patience import Patience, current

AGAIN = (408, 429, 500, 502, 503, 504)  # answers after which it is worth asking again
NEVER_MET = (
    httpx2.ConnectError,
    httpx2.ConnectTimeout,
    httpx2.ProxyError,
    httpx2.UnsupportedProtocol,
)
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 8.0  # seconds between two requests
LEAST_TIME = 0.1  # seconds: with none at all, a connection fails in odd ways
NO_XET = "HF_HUB_DISABLE_XET"
CHUNK = 1 << 20  # bytes: of a body that breaks off the library keeps whole chunks
# parts of addresses that the library asks, once each and in its own time, for what it can spare
ASIDE = ("datasets-server.", "s3.amazonaws.com/", "/api/agent-harnesses")


@cache
def use_patient_client() -> None:
    """Let the hub's library talk through a PatientClient, and fetch all files by it: another way,
    Xet, keeps trying for minutes, and is taken only where HF_HUB_DISABLE_XET=0 asks for it.
    """
    constants.DOWNLOAD_CHUNK_SIZE = CHUNK
    constants.HF_HUB_DISABLE_XET |= NO_XET not in os.environ
    set_client_factory(_make_client)


def _make_client() -> PatientClient:
    hooks = {"request": [hf_request_event_hook]}
    return PatientClient(event_hooks=hooks, follow_redirects=True, timeout=None)


class PassingError(Exception):
    """A failure that may pass. wanted: for how many seconds the hub asks to be left alone."""

    def __init__(self, reason: str, wanted: float = 0.0) -> None:
        super().__init__(reason)
        self.wanted = wanted


class PatientClient(httpx2.Client):
    """A client that repeats requests while the patience of the work at hand lasts."""

    def send(
        self,
        request: httpx2.Request,
        *,
        stream: bool = False,
        auth: Any = USE_CLIENT_DEFAULT,  # as the library has it, whose type is not public
        follow_redirects: Any = USE_CLIENT_DEFAULT,
    ) -> httpx2.Response:
        """Send a request, and read the answer unless it is streamed; raises HubTroubleError where
        none comes in time, or where the hub was never met.
        """
        patience, pause = current(), FIRST_PAUSE
        if any(part in f"{request.url.host}{request.url.path}" for part in ASIDE):
            own = min(request.extensions["timeout"]["read"] or inf, patience.left())
            patience.begin()
            try:
                return self._attempt(request, Patience(own), stream, auth, follow_redirects)
            finally:
                patience.end()
        while True:
            try:
                return self._attempt(request, patience, stream, auth, follow_redirects)
            except PassingError as error:
                patience.failed(str(error))
                pause = max(pause, error.wanted)
                if patience.left() <= pause:
                    raise patience.give_up(str(error)) from error
                time.sleep(pause)
                pause = min(2 * pause, LONGEST_PAUSE)

    def _attempt(
        self,
        request: httpx2.Request,
        patience: Patience,
        stream: bool,
        auth: Any,
        follow_redirects: Any,
    ) -> httpx2.Response:
        since = patience.begin()
        _limit(request, patience.left())
        try:
            response = super().send(
                request, stream=True, auth=auth, follow_redirects=follow_redirects
            )
        except httpx2.RequestError as error:
            patience.end()
            raise _weighed(error, patience) from error
        except BaseException:
            patience.end()
            raise
        response.stream = WatchedStream(response.stream, patience, since)
        return _checked(response, patience, stream)


class WatchedStream(httpx2.SyncByteStream):
    """A body that counts as heard while it comes."""

    def __init__(self, stream: Any, patience: Patience, since: float) -> None:
        self._stream, self._patience, self._since = stream, patience, since

    def __iter__(self) -> Iterator[bytes]:
        count = 0
        try:
            for part in self._stream:
                self._patience.received(len(part))
                count += len(part)
                yield part
        except httpx2.TransportError as error:
            reason = reason_of(error, self._patience.limit)
            self._patience.failed(reason, since=self._since if count < CHUNK else None)
            if isinstance(error, httpx2.TimeoutException) or not self._patience.left():
                raise self._patience.give_up(reason) from error
            # the one error after which the library goes on where the body broke off
            raise httpx2.RemoteProtocolError(str(error)) from error

    def close(self) -> None:
        """Close the body and its request."""
        self._patience.end()
        self._stream.close()


def reason_of(error: httpx2.RequestError, limit: float) -> str:
    """Return what went wrong, to be read after "the hub"."""
    if isinstance(error, httpx2.TooManyRedirects):
        return "redirects without end; HF_ENDPOINT or a proxy may be wrong"
    if isinstance(error, httpx2.TimeoutException):
        return f"has not answered for {limit:g} s"
    if isinstance(error, NEVER_MET):
        return f"cannot be reached ({error})"
    return f"breaks off the connection ({error})"


def _weighed(error: httpx2.RequestError, patience: Patience) -> Exception:
    """Return the error to raise in place of a request's: whether it may pass."""
    is_cut_short = isinstance(error, httpx2.TimeoutException) and patience.failure
    reason = patience.failure if is_cut_short else reason_of(error, patience.limit)
    is_final = isinstance(error, httpx2.TimeoutException | httpx2.TooManyRedirects)
    if is_final or (isinstance(error, NEVER_MET) and not patience.was_answered):
        return patience.give_up(reason)
    return PassingError(reason)


def _checked(response: httpx2.Response, patience: Patience, stream: bool) -> httpx2.Response:
    """Return an answer that can be used, read unless it is streamed; raises PassingError and
    HubTroubleError.
    """
    try:
        if response.status_code in AGAIN:
            raise PassingError(status_of(response), _wanted(response))
        if not stream:
            response.read()
            _check_json(response, patience)
    except httpx2.RequestError as error:
        raise _weighed(error, patience) from error
    except BaseException:
        response.close()
        raise
    patience.answered()
    return response


def _check_json(response: httpx2.Response, patience: Patience) -> None:
    """Raise HubTroubleError for a page where the hub's API was asked for data."""
    if not (response.is_success and response.request.url.path.startswith("/api/")):
        return
    try:
        response.json()
    except ValueError as error:
        reason = "answers with something other than data; HF_ENDPOINT or a proxy may be wrong"
        raise patience.give_up(reason) from error


def status_of(response: httpx2.Response) -> str:
    """Return what was answered, to be read after "the hub"."""
    code = response.status_code
    phrase = httpx2.codes.get_reason_phrase(code)  # none for a code of the server's own
    return f"answers with error {code}{f' ({phrase})' if phrase else ''}"


def _wanted(response: httpx2.Response) -> float:
    text = response.headers.get("Retry-After", "")
    return float(text) if text.isascii() and text.isdecimal() else 0.0


def _limit(request: httpx2.Request, seconds: float) -> None:
    """Let no step of a request take longer than this."""
    steps = ("connect", "read", "write", "pool")
    timeout = dict.fromkeys(steps, max(seconds, LEAST_TIME))
    request.extensions = {**request.extensions, "timeout": timeout}
