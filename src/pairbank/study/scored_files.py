"""Where scored tables are that a user names: in, files, banks and folders; out, the files, and what banks add."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pairbank.errors import BankError
from pairbank.study.model_list import ModelChoice
from pairbank.study.one_model import ProgressOf, loaded, options_of

if TYPE_CHECKING:
    from pairbank.scoring.api.model import Scorer
    from pairbank.scoring.run.units import Part
    from pairbank.scoring.score import PartScored
    from pairbank.scoring.scored import Scored
    from pairbank.stats.analyses.neuro import Probed
    from pairbank.stats.scored_table.model_features import ModelFeatures
    from pairbank.study.preflight import Asked, Plan


RATINGS = ".ratings.parquet"
"""What the name of a file of individual ratings beside a scored table ends with."""


def score_study_part(
    plan: Plan,
    model: Asked,
    part: Part,
    *,
    load: Callable[[ModelChoice], Scorer] = loaded,
    progress: ProgressOf = lambda _task, _model: None,
    n_before: int = 0,
) -> PartScored:
    """Score a part of all corpora of a run with one model; numbers are stored, nothing else is written."""
    from pairbank.scoring.score import PartScored, score_part
    from pairbank.study.preflight import scored_by

    scorer = load(model) if isinstance(model, ModelChoice) else model
    study = plan.study
    n_units = n_units_of_all = 0
    for corpus in scored_by(model, plan):
        part_scored = score_part(
            corpus.items,
            scorer,
            part,
            options_of(study, plan.counts.of(study, corpus, scorer)),
            n_before=n_before + n_units_of_all,
            progress=progress(f"scoring {corpus.name}", scorer.info.name),
        )
        n_units += part_scored.n_units
        n_units_of_all += part_scored.n_units_of_all
    return PartScored(n_units=n_units, n_units_of_all=n_units_of_all)


def scored_files(places: Iterable[Path]) -> list[Path]:
    paths = [path for place in places for path in ([place] if not place.is_dir() else _in_folder(place))]
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
    from pairbank.cards.bank.beside_tables import contradictions, declared_in_bank, united

    features: dict[str, ModelFeatures] = {}
    for root in banks_of(files):
        of_bank = {name: declared for name, declared in declared_in_bank(root).items() if name not in given}
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
    from pairbank.stats.report.model_order import from_small_to_large

    probes = {(probed.corpus, probed.model): probed for root in banks_of(files) for probed in probes_in(root)}
    ordered, _ = from_small_to_large(tables, features)
    return [probes[table.corpus, table.model] for table in ordered if (table.corpus, table.model) in probes]


def _in_folder(folder: Path) -> list[Path]:
    from pairbank.cards.bank.layout import MANIFEST

    if (folder / MANIFEST).is_file():
        paths = list(_of_bank(folder))
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


def _of_bank(folder: Path) -> Iterator[Path]:
    from pairbank.cards.bank.layout import read_manifest, scores_path, tables
    from pairbank.cards.bank.redistribution import is_left_out

    manifest = read_manifest(folder)
    for corpus, slug in tables(manifest):
        if not is_left_out(manifest["corpora"][corpus]):
            yield folder / scores_path(corpus, slug)
