"""Downloads: one pinned file from its address to a path; resumable, retried, checked, with progress.

What has arrived is in `<name>.part`: the next call asks only for the rest (HTTP Range). Mirrors: `MIRRORS`.
"""

from __future__ import annotations

import http.client
import logging
import os
import socket
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pairbank.errors import CorpusError, CorpusFileNotFoundError
from pairbank.files import sha256_of_file

logger = logging.getLogger(__name__)
CHUNK_BYTES = 1 << 20
TIMEOUT_S = 60
TRIES, FIRST_WAIT_S = 4, 0.5
"""How often a cut or refused transfer is taken up again, and the first wait, which then doubles."""
GITHUB_RAW = "https://raw.githubusercontent.com"
MIRRORS = {GITHUB_RAW: "PAIRBANK_GITHUB_RAW", "https://huggingface.co": "HF_ENDPOINT"}
"""Host -> the environment variable that names another one with the same paths."""
PASSING = frozenset({408, 425, 429, 500, 502, 503, 504})
"""HTTP answers that may be different the next time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DownloadProgress:
    name: str
    done_bytes: int
    total_bytes: int | None
    """None where the server does not say."""


Progress = Callable[[DownloadProgress], None]


def mirrored(url: str) -> str:
    """Return the address with its host replaced where the environment names a mirror."""
    for host, variable in MIRRORS.items():
        if (mirror := os.environ.get(variable)) and url.startswith(host + "/"):
            return mirror.rstrip("/") + url.removeprefix(host)
    return url


def page_of(url: str, *, folder: bool = False) -> str:
    """Return the address that a person opens to see the file or folder of a raw GitHub address."""
    if not url.startswith(GITHUB_RAW + "/"):
        return url
    owner, repo, rest = url.removeprefix(GITHUB_RAW + "/").split("/", 2)
    return f"https://github.com/{owner}/{repo}/{'tree' if folder else 'blob'}/{rest}"


def download(
    url: str,
    path: Path,
    *,
    sha256: str,
    corpus: str,
    remedy: str,
    progress: Progress | None = None,
) -> None:
    """Bring one pinned file to `path`; nothing is done where it is there already."""
    from filelock import FileLock

    address = mirrored(url)
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.part")
    with FileLock(f"{path}.lock"):
        if path.is_file() and sha256 in ("", sha256_of_file(path)):
            return
        left_over = part.is_file() and part.stat().st_size > 0
        digest = sha256_of_file(part) if left_over else ""
        for from_zero in (False, True) if left_over else (True,):
            if digest and digest == sha256:
                break
            if from_zero:
                part.unlink(missing_ok=True)
            if reason := _receive(address, part, path.name, progress):
                raise CorpusFileNotFoundError(f"corpus {corpus!r}: cannot download {address} ({reason}); {remedy}")
            digest = sha256_of_file(part)
        if sha256 not in ("", digest):
            part.unlink()
            raise CorpusError(
                f"corpus {corpus!r}: {address} has sha256 {digest}, expected {sha256}: it is not the version that "
                f"pairbank pins; {remedy}"
            )
        part.replace(path)


def _receive(url: str, part: Path, name: str, progress: Progress | None) -> str:
    """Fill `part` up to the announced length, over several connections; return why that failed, "" if it did not."""
    reason = ""
    for attempt in range(1, TRIES + 1):
        try:
            _receive_once(url, part, name, progress)
        except urllib.error.HTTPError as error:
            reason = f"HTTP {error.code} {error.reason}"
            error.close()
            if error.code == http.client.REQUESTED_RANGE_NOT_SATISFIABLE:
                part.unlink(missing_ok=True)
            elif error.code not in PASSING:
                return reason
        except urllib.error.URLError as error:
            reason = str(error.reason)
            if isinstance(error.reason, socket.gaierror):
                return f"no connection: {reason}"
        except (TimeoutError, ConnectionError, http.client.HTTPException) as error:
            reason = str(error) or type(error).__name__
        else:
            return ""
        logger.info("%s: %s (try %d of %d)", url, reason, attempt, TRIES)
        if attempt < TRIES:
            time.sleep(FIRST_WAIT_S * 2 ** (attempt - 1))
    return f"{reason}, {TRIES} tries; what came is kept, so the next call goes on from there"


def _receive_once(url: str, part: Path, name: str, progress: Progress | None) -> None:
    have = part.stat().st_size if part.is_file() else 0
    request = urllib.request.Request(url, headers={"User-Agent": "pairbank"})  # noqa: S310 - pinned, or the user's mirror
    if have:
        request.add_header("Range", f"bytes={have}-")
    with urllib.request.urlopen(request, timeout=TIMEOUT_S) as answer:  # noqa: S310 - the same
        goes_on = answer.status == http.client.PARTIAL_CONTENT
        done = have if goes_on else 0
        length = answer.headers.get("Content-Length")
        total = None if length is None else done + int(length)
        with part.open("ab" if goes_on else "wb") as out:
            while piece := answer.read1(CHUNK_BYTES):
                out.write(piece)
                done += len(piece)
                if progress is not None:
                    progress(DownloadProgress(name=name, done_bytes=done, total_bytes=total))
    if total is not None and done < total:
        raise ConnectionError(f"the connection ended after {done:,} of {total:,} bytes")
