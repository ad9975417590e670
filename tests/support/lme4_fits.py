"""What lme4 makes of made-up designs: kept beside the tests, and by the lme4 that is installed."""

from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from in_r import in_r

Fits = dict[str, dict[str, tuple[float, ...]]]
"""Design -> effect or part -> estimate, standard error, degrees of freedom where known; of variances, the estimate."""


def fits_in(path: Path) -> Fits:
    numbers = ["value", "se", "df"]
    return {
        str(name): {str(row["name"]): tuple(row[numbers].dropna()) for _, row in part.iterrows()}
        for name, part in pd.read_csv(path).reindex(columns=["set", "name", *numbers]).groupby("set")
    }


def r_fits(script: Path, designs: Mapping[str, pd.DataFrame], folder: Path) -> Fits:
    """Return the fits of a script that reads a table of designs and writes their numbers."""
    tables = [table.assign(set=name) for name, table in designs.items()]
    pd.concat(tables).to_csv(folder / "data.csv", index=False)
    in_r(script, folder / "data.csv", folder / "fits.csv")
    return fits_in(folder / "fits.csv")
