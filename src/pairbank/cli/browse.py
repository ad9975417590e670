"""`pairbank site` and `browse`: a bank as a website, written to a folder or shown on this machine."""

from __future__ import annotations

import tempfile
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pairbank.cli.display.console import quiet_bars, status
from pairbank.cli.display.output import answer, hint, say
from pairbank.errors import PairbankError
from pairbank.files import reading
from pairbank.stats.wording import number

if TYPE_CHECKING:
    from pairbank.cards.site.site import Texts
    from pairbank.stats.analyses.introspection.model_features import ModelFeatures

AnyBank = Annotated[str, typer.Argument(help="Bank folder, or ORG/NAME on the Hub.")]
Declared = Annotated[
    Path | None,
    typer.Option(help="TOML file whose [[models]] declare family, generation, size_billions and type."),
]


def site(
    bank: AnyBank,
    out: Annotated[Path, typer.Option(help="Folder to write; an existing site is replaced.")],
    name: Annotated[str, typer.Option(help="Name to show in load_dataset examples. [default: BANK]")] = "",
    features: Declared = None,
    all_texts: Annotated[  # noqa: FBT002
        bool, typer.Option("--all-texts", help="Include texts that may not be redistributed.")
    ] = False,
) -> None:
    """Write a bank as a static website.

    Example: pairbank site demo-bank --out demo-site
    """
    import pairbank

    with quiet_bars(), status("writing the site"):
        texts: Texts = "all" if all_texts else "redistributable"
        folder = pairbank.write_site(bank, out, name=name, texts=texts, features=_features(features))
    n_bytes = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    answer(site=folder, n_bytes=n_bytes)
    if not all_texts and (Path(bank) / "manifest.json").is_file():
        say_texts_left_out(Path(bank))
    say(f"{folder}: {number(n_bytes / 2**20, digits=1)} MiB; put it on any web server, or look at it with")
    hint(f"  python -m http.server --directory {folder} --bind 127.0.0.1")


def browse(
    bank: AnyBank,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 picks a free one.")] = 0,
    host: Annotated[
        str, typer.Option(help="Address to bind; 0.0.0.0 accepts connections from other machines.")
    ] = "127.0.0.1",
    features: Declared = None,
    no_open: Annotated[bool, typer.Option("--no-open", help="Do not open the web browser.")] = False,  # noqa: FBT002
) -> None:
    """Explore a bank in the web browser: leaderboard, plots, every item.

    Example: pairbank browse demo-bank
    """
    import pairbank
    from pairbank.cards.site.serving import SiteServer

    with tempfile.TemporaryDirectory(prefix="pairbank-site-") as folder:
        with quiet_bars(), status("writing the page"):
            written = pairbank.write_site(
                bank, Path(folder) / "site", name=bank, texts="all", features=_features(features)
            )
        try:
            server = SiteServer(written, host=host, port=port)
        except OSError as error:
            raise PairbankError(f"{host}, port {port or 'any'}: {error}; choose another with --port") from error
        with server:
            say(f"{bank} on {server.url} (Ctrl+C stops)")
            if not no_open:
                typer.launch(server.url)
            try:
                server.serve_forever()
            except KeyboardInterrupt:
                say("stopped")


def say_texts_left_out(bank: Path) -> None:
    """Say of which corpora a site shows no texts, why, and what shows them."""
    from pairbank.builders.corpora.registry import CORPORA
    from pairbank.cards.bank.layout import read_manifest
    from pairbank.cards.bank.redistribution import locked

    names = locked(read_manifest(bank)["corpora"])
    answer(texts_left_out=names)
    own = f"no licence is stated (pairbank bank --out {bank} --licence NAME=cc-by-4.0)"
    for is_shipped, why in ((False, own), (True, "their terms forbid redistribution")):
        if kept := [name for name in names if (name in CORPORA) == is_shipped]:
            say(f"Texts of {', '.join(kept)} are left out: {why}; --all-texts includes them, for your own use")


def _features(path: Path | None) -> dict[str, ModelFeatures] | None:
    """Return the features that a file declares."""
    if path is None:
        return None
    from pairbank.stats.analyses.introspection.model_features import features_from_entries

    with reading(path, PairbankError, saying="not readable as TOML", remedy="correct it"):
        declared = tomllib.loads(path.read_text(encoding="utf-8"))
    return features_from_entries(declared.get("models", []))
