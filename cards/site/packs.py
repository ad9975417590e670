"""Many small pieces in few files: in, columns under a name each; out, which file holds which piece.

A bank of hundreds of models would else be tens of thousands of files of some kilobytes, which no host likes. A piece
that is large by itself gets a file of its own, so that nobody loads more than what is looked at.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pairbank.cards.site.columns import SUFFIX, write_text_packed

OWN_FILE = 2**17
"""Characters of JSON from which a piece stands alone."""
FULL = 2**19
"""Characters of JSON at which a file of pieces is closed."""


class Packs:
    """Pieces of one kind, written to `packs/<kind>-<number>` as they come; `close` writes the last."""

    def __init__(self, folder: Path, kind: str) -> None:
        """Make an empty one.

        Args:
            folder: of the corpus.
            kind: what the pieces are, for the files' names.
        """
        self._folder, self._kind = folder, kind
        self._pieces: dict[str, str] = {}
        self._n_characters = self._number = 0

    def put(self, name: str, columns: Mapping[str, Any]) -> str | None:
        """Take a piece; return the name of the file of pieces that it will be in, None where it got its own."""
        text = json.dumps({"columns": dict(columns)}, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        if len(text) >= OWN_FILE:
            write_text_packed(self._folder / "models" / f"{name}{SUFFIX}", text)
            return None
        if self._n_characters and self._n_characters + len(text) > FULL:
            self.close()
        self._pieces[name] = text
        self._n_characters += len(text)
        return f"{self._kind}-{self._number}"

    def close(self) -> None:
        """Write what has been taken since the last file."""
        if self._pieces:
            inner = ",".join(f"{json.dumps(name)}:{text}" for name, text in self._pieces.items())
            path = self._folder / "packs" / f"{self._kind}-{self._number}{SUFFIX}"
            write_text_packed(path, f'{{"pieces":{{{inner}}}}}')
            self._pieces, self._n_characters, self._number = {}, 0, self._number + 1
