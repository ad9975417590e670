"""What an archive asks of a bank that gets a DOI: in, a bank; out, `.zenodo.json` and `datacite.json`.

Zenodo reads `.zenodo.json` of a deposited folder; other archives take the fields of DataCite 4.5. Nothing is made up:
what the bank does not state is left out, or the error says how to state it.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pairbank.cards.bank.layout import read_manifest
from pairbank.cards.bank.redistribution import licence_of
from pairbank.cards.card.hub_values import hub_licence
from pairbank.cards.card.render import TAGS, pretty_name
from pairbank.errors import BankError
from pairbank.files import write_json

ZENODO, DATACITE = ".zenodo.json", "datacite.json"


def export_deposit(bank: str | Path, out: str | Path, *, publisher: str = "", on_hub: str = "") -> list[Path]:
    """Write the descriptions of a bank that archives read; return the files.

    Args:
        bank: folder of the bank; its makers have stated title, authors and date.
        out: a folder; for Zenodo, that of the deposit.
        publisher: the archive that gives the DOI; "" = not stated, as where it is Zenodo.
        on_hub: ORG/NAME where the bank is published.

    Raises:
        BankError: no bank, or it does not state what a citation needs.
    """
    root = Path(bank)
    manifest = read_manifest(root)
    lacking = [name for name in ("title", "authors", "published") if not manifest.get(name)]
    if lacking:
        raise BankError(
            f"{root}: the bank does not state {', '.join(lacking)}, which a citation needs; pairbank bank --out {root} "
            '--title "…" --author "Family, Given" --published YYYY-MM-DD'
        )
    records = {ZENODO: _zenodo(manifest, on_hub), DATACITE: _datacite(manifest, publisher, on_hub)}
    for name, value in records.items():
        (Path(out) / name).parent.mkdir(parents=True, exist_ok=True)
        write_json(Path(out) / name, value)
    return [Path(out) / name for name in records]


def _description(manifest: Mapping[str, Any]) -> str:
    n_items = sum(facts["n_items"] for facts in manifest["corpora"].values())
    models = {slug for scored in manifest["scores"].values() for slug in scored}
    corpora = ", ".join(str(facts.get("title") or name) for name, facts in manifest["corpora"].items())
    return (
        f"{n_items:,} linguistic judgment items ({corpora}) and the scores of {len(models)} language models, "
        "by log-probability and when prompted. Made with pairbank; README.md describes every column."
    )


def _licences(manifest: Mapping[str, Any]) -> list[str]:
    return sorted({licence_of(name, facts).split(". ")[0] for name, facts in manifest["corpora"].items()})


def _version(manifest: Mapping[str, Any]) -> str:
    return str(max(1, len(manifest.get("history", []))))


def _sources(manifest: Mapping[str, Any]) -> list[str]:
    homes = {str((facts.get("source") or {}).get("homepage") or "") for facts in manifest["corpora"].values()}
    return sorted(home for home in homes if home.startswith(("http://", "https://")))


def _zenodo(manifest: Mapping[str, Any], on_hub: str) -> dict[str, Any]:
    licences = _licences(manifest)
    known = hub_licence(licences[0]) if len(licences) == 1 else "other"
    is_derived = [{"relation": "isDerivedFrom", "identifier": home} for home in _sources(manifest)]
    copy = [{"relation": "isIdenticalTo", "identifier": f"https://huggingface.co/datasets/{on_hub}"}] if on_hub else []
    return {
        "upload_type": "dataset",
        "title": pretty_name(manifest),
        "creators": [{"name": str(name)} for name in manifest["authors"]],
        "description": _description(manifest),
        "publication_date": manifest["published"],
        "version": _version(manifest),
        "keywords": list(TAGS),
        **({} if known in ("other", "unknown") else {"license": known}),
        "notes": f"Licences of the corpora: {'; '.join(licences)}",
        "related_identifiers": [*is_derived, *copy],
    }


def _datacite(manifest: Mapping[str, Any], publisher: str, on_hub: str) -> dict[str, Any]:
    url = f"https://huggingface.co/datasets/{on_hub}" if on_hub else ""
    related = [
        {"relatedIdentifier": home, "relatedIdentifierType": "URL", "relationType": "IsDerivedFrom"}
        for home in _sources(manifest)
    ]
    return {
        "schemaVersion": "http://datacite.org/schema/kernel-4",
        "types": {"resourceTypeGeneral": "Dataset", "resourceType": "Bank of judgment items and scores"},
        "titles": [{"title": pretty_name(manifest)}],
        "creators": [{"name": str(name)} for name in manifest["authors"]],
        "publicationYear": manifest["published"][:4],
        "dates": [{"date": manifest["published"], "dateType": "Issued"}],
        **({"publisher": {"name": publisher}} if publisher else {}),
        "version": _version(manifest),
        "subjects": [{"subject": tag} for tag in TAGS],
        "descriptions": [{"description": _description(manifest), "descriptionType": "Abstract"}],
        "rightsList": [{"rights": text} for text in _licences(manifest)],
        "relatedIdentifiers": related,
        **({"url": url} if url else {}),
    }
