#!/bin/sh
# Makes the tables and the figure of this report anew: imports what was published, and scores models of our own.
#
#   sh docs/reports/direct-vs-asked/make.sh SHARED WORK demo trained/models/mini-llama trained/models/mini-gpt2 …
#
# SHARED holds corpora/qfrblimp (decisions.csv, models_size.json, the corpus) and published/hu_frank_2024_syntax.csv;
# WORK is a folder for the imported tables; the models after it are read and asked on Hu & Frank's items (the demo model: some
# 3 minutes of a core; ../README.md says how the small ones were trained).
set -eu
shared=$1
work=$2
shift 2
here=$(dirname "$0")
pairbank import --from hu-frank-2024 "$shared/published/hu_frank_2024_syntax.csv" --out "$work/hu-frank-2024"
pairbank import --from qfrblimp "$shared/corpora/qfrblimp" --items qfrblimp --data-dir "$shared/corpora" --out "$work/qfrblimp"
python -c 'import sys, pairbank
table = pairbank.read_scored(sys.argv[1]).to_pandas()
kept = table[["target_good", "target_bad", "subset", "phenomenon", "paradigm", "pair_id"]]
kept.rename(columns={"target_good": "good", "target_bad": "bad"}).to_csv(sys.argv[2], index=False)' \
  "$work/hu-frank-2024/Pythia_1B.parquet" "$work/hu-frank-2024-items.csv"
for model in "$@"; do
  pairbank score "$work/hu-frank-2024-items.csv" --model "$model" -m direct -m hf24_paired --out "$work/ours/$(basename "$model").parquet"
done
python "$here/make.py" "$work"/hu-frank-2024/*.parquet "$work"/qfrblimp/*.parquet "$work"/ours/*.parquet --data-dir "$shared/corpora" \
  --models "$here/../models.toml" --models "$here/../not-causal.toml" --out "$here"
