"""Where a bank's files are: in, a folder or ORG/NAME on the Hub; out, paths of files, fetched when first asked for."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from pairbank.cards.bank.layout import MANIFEST
from pairbank.errors import BankError
from pairbank.files import sha256_of_file

_HUB_NAME = re.compile(r"[\w.-]+/[\w.-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A bank in a folder, or on the Hub at one commit; a file there is downloaded when it is first read."""

    name: str
    """What `load_dataset` calls it: a folder or ORG/NAME."""
    root: Path | None = None
    """The folder; None on the Hub."""
    commit: str = ""
    """Of the Hub."""

    @property
    def revision(self) -> str:
        """What tells two states of the bank apart; the manifest holds the hash of every other file."""
        return self.commit if self.root is None else sha256_of_file(self.root / MANIFEST)

    def path(self, relative: str) -> Path:
        if self.root is None:
            return _downloaded(self.name, relative, self.commit)
        path = self.root / relative
        if not path.is_file():
            raise BankError(f"{path} is missing, though {MANIFEST} names it; write the bank again")
        return path


def open_source(source: str, revision: str | None = None) -> Source:
    root = Path(source).expanduser()
    if root.is_dir():
        if not (root / MANIFEST).is_file():
            raise BankError(f"{source}: not a bank (no {MANIFEST}); give a folder that `pairbank run` or `bank` wrote")
        return Source(name=str(root.resolve()), root=root.resolve())
    if not _HUB_NAME.fullmatch(source):
        raise BankError(f"no folder {source}; expected a bank's folder, or ORG/NAME of a bank on the Hub")
    # The snapshot's folder is named by the commit, also when the Hub cannot be reached and the cache answers.
    commit = _downloaded(source, MANIFEST, revision).parent.name
    return Source(name=source, commit=commit)


def _downloaded(name: str, relative: str, revision: str | None) -> Path:
    from huggingface_hub import errors, hf_hub_download

    try:
        return Path(hf_hub_download(name, relative, repo_type="dataset", revision=revision))
    except errors.RepositoryNotFoundError as error:
        raise BankError(
            f"no folder {name} here, and no dataset of this name on the Hub that you may read; check the name, "
            "or log in with `hf auth login`"
        ) from error
    except errors.LocalEntryNotFoundError as error:
        raise BankError(f"{name}: {relative} is not in the cache and the Hub cannot be reached; go online") from error
    except errors.EntryNotFoundError as error:
        raise BankError(f"the dataset {name} on the Hub has no {relative}; expected a bank of pairbank's") from error
