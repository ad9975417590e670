"""A site shown on this machine: in, its folder; out, a small server of plain files on one port.

It lists no folder, serves what is inside the folder only, and lets a page keep nothing that may have changed.
"""

from __future__ import annotations

import posixpath
from functools import partial
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import IO, Any
from urllib.parse import unquote, urlsplit

TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".gz": "application/gzip",
    ".json": "application/json",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".csv": "text/csv; charset=utf-8",
}
"""Endings of what a site has; the machine's own table of types may lack or change them."""
LOCAL = ("localhost", "127.0.0.1", "::1")
"""Names of this machine for itself."""


class _Handler(SimpleHTTPRequestHandler):
    """Plain files of one folder."""

    protocol_version = "HTTP/1.1"

    def send_head(self) -> Any:  # noqa: ANN401 - as the standard library's: a file or None
        """Answer with a file of the site; a folder is no file, and neither is a link out of it."""
        if isinstance(self.server, SiteServer) and not self.server.is_host(self.headers.get("Host", "")):
            self.send_error(HTTPStatus.MISDIRECTED_REQUEST)
            return None
        root = Path(self.directory).resolve()
        requested = posixpath.normpath(unquote(urlsplit(self.path).path)).lstrip("/")
        path = (root / ("index.html" if requested in ("", ".") else requested.replace("\0", "\ufffd"))).resolve()
        if not path.is_relative_to(root) or not path.is_file():
            self.send_error(HTTPStatus.NOT_FOUND)
            return None
        self.path = "/index.html" if requested in ("", ".") else self.path
        return super().send_head()

    def guess_type(self, path: Any) -> str:  # noqa: ANN401 - as the standard library's
        """Return a file's type."""
        return TYPES.get(Path(str(path)).suffix.lower(), "application/octet-stream")

    def end_headers(self) -> None:
        """Add that a page asks anew each time, and takes a file for what it is said to be."""
        self.send_header("Cache-Control", "no-cache")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Referrer-Policy", "no-referrer")
        super().end_headers()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002, ANN401 - as the standard library's
        """Say nothing of each request."""

    def copyfile(self, source: IO[bytes], outputfile: IO[bytes]) -> None:  # type: ignore[override]
        """Send a file; a reader who left is no error."""
        try:
            super().copyfile(source, outputfile)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True


class SiteServer(ThreadingHTTPServer):
    """A server of a site's files."""

    daemon_threads = True

    def __init__(self, folder: Path, *, host: str = "127.0.0.1", port: int = 0) -> None:
        """Listen; `port` 0 takes a free one.

        Raises:
            OSError: the port is taken, or not ours to take.
        """
        super().__init__((host, port), partial(_Handler, directory=str(folder)))

    def is_host(self, name: str) -> bool:
        """Return whether a request's `Host` is one that this server answers.

        A server that only this machine reaches answers only to its local names: another site's script could otherwise
        let its own name resolve to this address, and read the pages (DNS rebinding).
        """
        if self.server_address[0] not in LOCAL:
            return True
        try:
            return urlsplit(f"//{name}").hostname in LOCAL
        except ValueError:  # no name at all: a bracket that is not closed
            return False

    @property
    def url(self) -> str:
        """Where the page is."""
        host, port = self.server_address[:2]
        return f"http://{host!s}:{port}/"
