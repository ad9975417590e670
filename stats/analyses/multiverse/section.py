"""Does a claim hold under every defensible choice? Scored tables and a claim in, the specification curve out.

Simonsohn, Simmons & Nelson 2020: all specifications, how many of them hold, and a test of the whole curve.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import pandas as pd

from pairbank.stats.analyses.base import DEFAULTS, Context, Section, reads
from pairbank.stats.analyses.multiverse.claims import ASKING, claim_of
from pairbank.stats.analyses.multiverse.components import COLUMNS, component_rows
from pairbank.stats.analyses.multiverse.curve import Curve, curve_of
from pairbank.stats.analyses.multiverse.specifications import held, layouts_of, position_bias, specifications
from pairbank.stats.analyses.multiverse.words import DEFINITIONS, answer_of, tests_table, text_of
from pairbank.stats.analyses.raters.judgments import ratings_given
from pairbank.stats.figures.specification_curves import MOST_DRAWN, MOST_LEVELS, specification_curve
from pairbank.stats.figures.style import Figure
from pairbank.stats.scored_table.method_scores import ScoredFrame

PARADIGMS = ("paradigm", "phenomenon")


@reads("ratings")
def section(tables: Sequence[ScoredFrame], context: Context = DEFAULTS, *, claim: str = ASKING) -> Section:
    """Return a claim under every defensible choice that the tables hold.

    Args:
        tables: Scored tables, made here or imported.
        context: The seed and the number of draws; individual ratings, for the share of variance of raters.
        claim: `asking < probability`; `A > B`, two methods or two models (patterns with * match several); or
            `people > .3`: r with people is above .3.

    Raises:
        BankError: The claim is no comparison, or the tables hold no specification of it.
        UnknownNameError: It names what is in no table.
    """
    methods = [layout.method for layout in layouts_of(tables)]
    wanted = claim_of(claim, methods=methods, models=[table.model for table in tables])
    holding = [held(table) for table in tables]
    found = curve_of(
        wanted,
        specifications(wanted, holding),
        _paradigms(tables),
        rng=context.rng,
        n_draws=context.n_resamples,
    )
    apart = position_bias(holding) if wanted.kind != "people" else ""
    rated = ratings_given(context.ratings) if context.ratings else None
    parts = pd.DataFrame([*component_rows(holding, rated)], columns=COLUMNS)
    return Section(
        id="multiverse",
        title=f"Robustness to analysis choices: {wanted.in_words}",
        text="\n\n".join(filter(None, (text_of(found, parts), apart))),
        answer=answer_of(found),
        main_table="choices",
        draws=f"{context.n_resamples:,} draws of signs under the null hypothesis",
        definitions=DEFINITIONS,
        tables={
            "choices": found.choices,
            "specifications": found.table,
            "tests": tests_table(found),
            "variance": parts,
        },
        figures=(_figure(found),),
        references=(
            "Simonsohn, Simmons & Nelson 2020, Nature Human Behaviour 4:1208-1214: specification curve analysis",
            "Steegen et al. 2016, Perspectives on Psychological Science 11:702-712: multiverse",
            "Henderson 1953, Biometrics 9:226-252; Gao & Owen 2016, arXiv:1610.08088: variance components",
        ),
    )


def _paradigms(tables: Sequence[ScoredFrame]) -> dict[tuple[str, str], str]:
    """Return the paradigm of each item by corpus and id; of a corpus without any the phenomenon."""
    found: dict[tuple[str, str], str] = {}
    for table in tables:
        column = next((x for x in PARADIGMS if x in table.frame.columns and table.frame[x].notna().any()), None)
        if column is not None:
            named = table.frame[table.frame[column].notna()]
            keys = [(table.corpus, item) for item in named["item_id"]]
            found |= dict(zip(keys, map(str, named[column]), strict=True))
    return found


def _figure(found: Curve) -> Figure:
    drawn = "" if len(found.table) <= MOST_DRAWN else f" ({MOST_DRAWN} of them at equal distances)"
    hidden = [name for name in found.varying if found.table[name].nunique() > MOST_LEVELS]
    left_out = f" Not drawn below, for it has more than {MOST_LEVELS} levels: {', '.join(hidden)}." if hidden else ""
    of_people = found.claim.kind == "people"
    least, most = int(found.table["n"].min()), int(found.table["n"].max())
    return Figure(
        name="multiverse_curve",
        caption=(
            f"The claim that {found.claim.in_words} under {len(found.table):,} specifications{drawn}, n = {least:,} to "
            f"{most:,} items: estimates with 95% intervals, blue where the interval lies beyond the line; below, the "
            f"choices of each.{left_out}"
        ),
        draw=partial(
            specification_curve,
            found.table,
            choices=found.varying,
            y_label="r with people" if of_people else "difference in accuracy",
            null=found.null,
        ),
    )
