"""HTTP to a server: many questions at once, each asked again where the server or the line failed. Safe in threads.

The key comes from the environment (`KEY_VARIABLE`), goes to this address alone (redirects are not followed) and stands
in no message.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from typing import Any, TypeVar
from urllib.parse import SplitResult, urlsplit

import httpx2

from pairbank.errors import ModelChangedError, ModelLoadError, ScoringError

KEY_VARIABLE = "PAIRBANK_API_KEY"
logger = logging.getLogger(__name__)
T = TypeVar("T")
TRIES = 6
MALFORMED_TRIES = 2
"""For an answer that came whole and cannot be read: a passing fault gives a right one at the second try."""
LONGEST_TIMEOUTS = 10
"""The timeout doubles with every try that ran into it, up to this many times the first one."""
SAY_SECONDS = 10.0
"""Between two messages about requests that are repeated: many fail at once."""
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.5, 30.0
"""Before the second try, and before any later one; a pause is twice the one before, or longer if the server asks."""
PASSING = (408, 409, 425, 429)
"""Refusals that are worth another try, beside all of 500 and above."""
SHOWN_CHARACTERS = 300
_AGAIN = "see that the server runs, and run the same command again"
LOOPBACK = ("127.0.0.1", "localhost", "::1")


class ServerError(ScoringError):
    def __init__(self, message: str, *, status: int | None = None, url: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.url = url


class ServerGoneError(ServerError):
    """A server that did not answer, however often it was asked."""


def model_changed(model_name: str, url: str, problem: str) -> ModelChangedError:
    """Return the error of a server whose answers to fixed questions are no longer those given at load."""
    return ModelChangedError(
        f"{model_name} at {url}: another model answers than at load; {problem}. What was scored since the last check "
        "is in doubt and is not stored; all that is stored was checked. See which model the server runs, and run the "
        "same command again"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """A server's address, and how it is asked."""

    url: str
    """Where the API begins, `http://127.0.0.1:8000/v1`."""
    concurrency: int
    """Questions under way at once."""
    timeout_s: float
    """Longest wait for an answer, at the first try."""
    key: str = field(default="", repr=False)
    others: tuple[Client, ...] = ()
    """Replicas: servers that run the same model, among which questions are shared out."""
    gone: set[str] = field(default_factory=set, repr=False, compare=False)
    _said: list[float] = field(default_factory=list, repr=False, compare=False)

    @property
    def servers(self) -> list[Client]:
        return [replace(one, others=()) for one in (self, *self.others) if one.url not in self.gone]

    def goes_on_without(self, error: ServerGoneError) -> bool:
        """Return whether replicas are left when one has stopped to answer, which gets no more questions."""
        if error.url in self.gone or len(self.servers) < 2:
            return False
        self.gone.add(error.url)
        left = ", ".join(one.url for one in self.servers)
        logger.warning("%s; going on with %s", self.without_key(str(error)), left)
        return True

    def _http(self) -> httpx2.Client:
        return httpx2.Client(
            headers={"Authorization": f"Bearer {self.key}"} if self.key else {},
            timeout=self._timeout(0),
            limits=httpx2.Limits(max_connections=self.concurrency, max_keepalive_connections=self.concurrency),
            trust_env=urlsplit(self.url).hostname not in LOOPBACK,  # no proxy stands before this machine itself
        )

    def _timeout(self, n_timeouts: int) -> httpx2.Timeout:
        """Return how long to wait after so many tries that waited in vain: a busy server may need longer."""
        longest = self.timeout_s * min(LONGEST_TIMEOUTS, 2**n_timeouts)
        return httpx2.Timeout(longest, connect=min(10.0, self.timeout_s), pool=None)

    def get(self, path: str) -> Any:  # noqa: ANN401 - JSON is any
        """Return what stands at a path, or None where the server has nothing there."""
        try:
            with self._http() as http:
                return self._asked(http, "GET", path, None, threading.Event())
        except ServerError as error:
            if error.status in (404, 405):
                return None
            raise

    def post(self, path: str, body: Mapping[str, Any]) -> Any:  # noqa: ANN401
        with self._http() as http:
            return self._asked(http, "POST", path, body, threading.Event())

    def post_all(
        self, path: str, bodies: Iterable[Mapping[str, Any]], read: Callable[[int, Any], T]
    ) -> Iterator[tuple[int, T]]:
        """Yield (number of the question, what `read` makes of the answer), asked once more on a ServerError."""
        stop = threading.Event()
        under_way: dict[Future[T], tuple[int, int]] = {}
        numbered = enumerate(bodies)
        servers = self.servers
        connections = [server._http() for server in servers]
        pool = ThreadPoolExecutor(self.concurrency * len(servers), "pairbank-server")
        n_at: Counter[int] = Counter(range(len(servers)))

        def ask(n: int) -> None:
            for number, body in islice(numbered, n):
                at = min(range(len(servers)), key=n_at.__getitem__)
                n_at[at] += 1
                asked = partial(servers[at]._asked, connections[at], "POST", path, body, stop)
                under_way[pool.submit(asked, read=partial(read, number))] = (number, at)

        try:
            ask(self.concurrency * len(servers))
            while under_way:
                done, _ = wait(under_way, return_when=FIRST_COMPLETED)
                for future in done:
                    number, at = under_way.pop(future)
                    n_at[at] -= 1
                    answer = future.result()
                    ask(1)
                    yield number, answer
        finally:
            stop.set()
            pool.shutdown(wait=True, cancel_futures=True)
            for http in connections:
                http.close()

    def _asked(
        self,
        http: httpx2.Client,
        verb: str,
        path: str,
        body: Mapping[str, Any] | None,
        stop: threading.Event,
        *,
        read: Callable[[Any], Any] = lambda answer: answer,
    ) -> Any:  # noqa: ANN401 - JSON is any
        """Ask until there is an answer that can be read, a refusal that will not pass, or no try left."""
        address = (self.url.removesuffix("/v1") if path in ("/tokenize", "/version") else self.url) + path
        problem, status, pause_s, n_timeouts, n_malformed = "", None, FIRST_PAUSE_S, 0, 0
        for n_tries in range(1, TRIES + 1):
            asked_for_s = 0.0
            try:
                answer = http.request(verb, address, json=body, timeout=self._timeout(n_timeouts))
                if answer.status_code == httpx2.codes.OK:
                    return read(self._json(answer))
            except httpx2.RequestError as error:
                problem, status = f"{type(error).__name__}: {error}", None
                n_timeouts += isinstance(error, httpx2.TimeoutException)
            except ServerError as error:
                problem, status = self.without_key(str(error)), None
                n_malformed += 1
                if n_malformed == MALFORMED_TRIES:
                    raise ServerError(problem) from error
            else:
                said = self.without_key(answer.text)[:SHOWN_CHARACTERS]
                problem, status = f"{answer.status_code}: {said}", answer.status_code
                if status < httpx2.codes.INTERNAL_SERVER_ERROR and status not in PASSING:
                    raise ServerError(self._refusal(path, problem, status), status=status)
                pause = answer.headers.get("retry-after", "").strip()
                asked_for_s = float(pause) if pause.isdigit() else 0.0  # it can be a date
            pause_now_s = min(LONGEST_PAUSE_S, max(pause_s, asked_for_s))
            if n_tries < TRIES:
                self._say(f"{problem}; {path} is repeated in {pause_now_s:.1f} s (try {n_tries + 1} of {TRIES})")
                if stop.wait(pause_now_s):
                    break
            pause_s *= 2
        message = f"no answer to {path} after {n_tries} tries ({problem}); what was scored before is stored: {_AGAIN}"
        raise ServerGoneError(f"{self.url}: {message}", status=status, url=self.url)

    def _say(self, message: str) -> None:
        """Warn of a repeated request, unless another was reported just now."""
        now = time.monotonic()
        if not self._said or now - self._said[-1] > SAY_SECONDS:
            self._said[:] = [now]
            logger.warning("%s: %s", self.url, self.without_key(message))

    def without_key(self, text: str) -> str:
        """Return a message without the key, which a server may have put into its answer."""
        return text.replace(self.key, "[key]") if self.key else text

    def _json(self, answer: httpx2.Response) -> Any:  # noqa: ANN401
        try:
            return answer.json()
        except ValueError as error:
            said = self.without_key(answer.text)[:SHOWN_CHARACTERS]
            raise ServerError(
                f"{self.url}: answered with something else than JSON ({said!r}); expected an OpenAI-compatible server: "
                "see that the address ends as its API does (…/v1)"
            ) from error

    def _refusal(self, path: str, problem: str, status: int) -> str:
        remedy = {
            401: f"put the server's key into the environment variable {KEY_VARIABLE}",
            403: f"put a key that may use this model into the environment variable {KEY_VARIABLE}",
            404: "see that the address ends as the server's API does (…/v1), and name a model that it serves",
        }.get(status, "see the server's own log")
        return f"{self.url}: refused {path} ({problem}); {remedy}"


def client_for(address: str, *, concurrency: int, timeout_s: float) -> Client:
    """Return a client for an address as users write it, with the key from the environment."""
    parts: SplitResult | None
    try:
        parts = urlsplit(address)
        (parts.hostname or "").encode("idna")
        parts = parts if parts.port != 0 else None
    except ValueError:  # its host or its port can be none
        parts = None
    if parts is None or parts.username or parts.password or parts.query or parts.fragment or not parts.hostname:
        raise ModelLoadError(
            f"the address of a server is http://HOST:PORT/v1, with no user, key or query in it (they would end up "
            f"in files); put the key into the environment variable {KEY_VARIABLE}"
        )
    if concurrency < 1 or timeout_s <= 0:
        raise ModelLoadError(
            f"concurrency {concurrency} and timeout_s {timeout_s}: expected 1 or more, and more than 0"
        )
    path = parts.path.rstrip("/") or "/v1"
    url = f"{parts.scheme}://{parts.netloc}{path}"
    return Client(url=url, concurrency=concurrency, timeout_s=timeout_s, key=os.environ.get(KEY_VARIABLE, "").strip())
