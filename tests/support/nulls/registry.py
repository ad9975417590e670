"""All tables of docs/validation.md."""

from nulls import (
    audit,
    context,
    coverage,
    designs,
    distributions,
    families,
    input_only,
    introspection,
    items,
    languages,
    linking,
    mixed,
    multiverse,
    onsets,
    paradigm_draws,
    paradigm_formulas,
    participants,
    plan_power,
    position_bias,
    reading,
    represented,
    self_agreement,
    self_prediction,
    sentences,
)

MODULES = (
    *(coverage, paradigm_draws, paradigm_formulas, introspection, input_only, audit, multiverse, onsets, items),
    *(distributions, linking, sentences, mixed, designs, families, participants, self_agreement, self_prediction),
    *(plan_power, position_bias, languages, represented, reading, context),
)
TABLES = {table.name: table for module in MODULES for table in module.TABLES}
