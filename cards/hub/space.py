"""A bank's site as a Space: in, the bank's name on the Hub and a written site; out, the files of a static Space.

A static Space is plain files: nothing runs, nothing sleeps. The bank's commit stands in the site's manifest.
"""

from __future__ import annotations

from pathlib import Path

from pairbank.cards.hub.changes import LocalFile


def space_files(repo_id: str, site: Path) -> dict[str, LocalFile]:
    """Return the files of the Space that shows a bank, by path.

    Args:
        repo_id: the bank's dataset on the Hub.
        site: the folder that `write_site` wrote.
    """
    from huggingface_hub import SpaceCardData

    head = SpaceCardData(
        title=repo_id.rpartition("/")[2],
        emoji="📚",
        colorFrom="indigo",
        colorTo="green",
        sdk="static",
        app_file="index.html",
        datasets=[repo_id],
        tags=["pairbank", "linguistics"],
        pinned=False,
    )
    page = f"The items, scores and results of the dataset `{repo_id}`: plain files that `pairbank site` wrote.\n"
    files = {path.relative_to(site).as_posix(): LocalFile(content=path) for path in site.rglob("*") if path.is_file()}
    return {"README.md": LocalFile(content=f"---\n{head.to_yaml()}\n---\n\n{page}".encode())} | dict(
        sorted(files.items())
    )
