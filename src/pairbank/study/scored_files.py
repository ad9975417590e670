"""Where scored tables are that a user names: in, files, banks and folders; out, the files, and what banks add."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pairbank.errors import BankError
from pairbank.study.model_list import ModelChoice
from pairbank.study.one_model import ProgressOf, loaded, options_of, silent

if TYPE_CHECKING:
    from pairbank.scoring.api.model import Scorer
    from pairbank.scoring.run.work import Part
    from pairbank.scoring.score import PartScored
    from pairbank.scoring.scored import Scored
    from pairbank.stats.analyses.neuro import Probed
    from pairbank.stats.scored_table.model_features import ModelFeatures
    from pairbank.study.preflight import Plan


RATINGS = ".ratings.parquet"
"""What the name of a file of individual ratings beside a scored table ends with."""


def score_study_part(
    plan: Plan, part: Part, *, load: Callable[[ModelChoice], Scorer] = loaded, progress: ProgressOf = silent
) -> Iterator[PartScored]:
    """Score a part of a run, one model after the other; numbers are stored, nothing else is written."""
    from pairbank.scoring.score import PartScored, score_part
    from pairbank.study.preflight import scored_by

    n_before = 0
    for model in plan.models:
        scorer = load(model) if isinstance(model, ModelChoice) else model
        n_units, n_of_earlier_models = 0, n_before
        for corpus in scored_by(model, plan.corpora):
            options = options_of(plan.study, plan.counts.of(plan.study, corpus, scorer))
            notify = progress(f"scoring {corpus.name}", scorer.info.name)
            done = score_part(corpus.items, scorer, part, options, n_before=n_before, progress=notify)
            n_units += done.n_units
            n_before += done.n_units_of_all
        yield PartScored(n_units=n_units, n_units_of_all=n_before - n_of_earlier_models)


def scored_files(places: Iterable[Path]) -> list[Path]:
    paths = [path for place in places for path in (_in_folder(place) if place.is_dir() else [place])]
    return [path for path in paths if not path.name.endswith(RATINGS)]


def ratings_file(scored: Path) -> Path:
    """Return where `score` writes the individual ratings of a table's items.

    >>> ratings_file(Path("scored.parquet")).name
    'scored.ratings.parquet'
    """
    return scored.with_name(f"{scored.stem}{RATINGS}")


def banks_of(files: Iterable[Path]) -> list[Path]:
    """Return the banks whose scored tables some of these files are (`BANK/scores/CORPUS/MODEL.parquet`)."""
    paths = [path.absolute() for path in files]
    return list(dict.fromkeys(path.parents[2] for path in paths if path.parent.parent.name == "scores"))


def features_beside(files: Iterable[Path], given: Mapping[str, ModelFeatures]) -> dict[str, ModelFeatures]:
    """Return what is declared of models: by the user, else by the banks that the files are of."""
    from pairbank.cards.bank.beside_tables import contradictions, declared_in, united
    from pairbank.cards.bank.layout import MANIFEST, read_manifest

    features: dict[str, ModelFeatures] = {}
    for root in banks_of(files):
        manifest = read_manifest(root) if (root / MANIFEST).is_file() else {}
        of_bank = {name: declared for name, declared in declared_in(manifest).items() if name not in given}
        if different := list(contradictions(features, of_bank)):
            raise BankError(
                f"the banks declare different features: {'; '.join(different)}. Say which holds: --models LIST"
            )
        features = united(features, of_bank)
    return features | dict(given)


def probes_beside(
    files: Iterable[Path], tables: Sequence[Scored], features: Mapping[str, ModelFeatures]
) -> list[Probed]:
    """Return what the banks that files are of hold of probes of these tables, from small to large models."""
    from pairbank.cards.bank.beside_tables import probes_in
    from pairbank.stats.scored_table.model_features import from_small_to_large

    probes = {(probed.corpus, probed.model): probed for root in banks_of(files) for probed in probes_in(root)}
    ordered, _ = from_small_to_large(tables, features)
    return [probes[table.corpus, table.model] for table in ordered if (table.corpus, table.model) in probes]


def _in_folder(folder: Path) -> list[Path]:
    from pairbank.cards.bank.layout import MANIFEST, scores_path

    if (folder / MANIFEST).is_file():
        paths = [folder / scores_path(*table) for table in tables_with_texts(folder)]
        if not paths:
            raise BankError(
                f"{folder}: a bank without scores that a report can read (it has none, or ids and scores only, without "
                "texts); report on the files that `pairbank score` wrote"
            )
        return paths
    if not (paths := sorted(folder.glob("*.parquet"))):
        raise BankError(
            f"{folder}: no bank (it has no {MANIFEST}) and no folder of scored tables (it has no parquet files); give "
            "the folder of a bank, or the files that `pairbank score` wrote"
        )
    return paths


def tables_with_texts(bank: Path) -> list[tuple[str, str]]:
    """Return the corpus and the model's slug of the tables of a bank that a report can read."""
    from pairbank.cards.bank.layout import read_manifest, tables
    from pairbank.cards.bank.redistribution import is_left_out

    manifest = read_manifest(bank)
    return [(corpus, slug) for corpus, slug in tables(manifest) if not is_left_out(manifest["corpora"][corpus])]
