#!/bin/sh
# Makes this report anew: imports what was published, scores one model of our own, and writes the tables and the page.
#
#   sh docs/reports/direct-vs-asked/make.sh SHARED WORK
#
# SHARED holds corpora/qfrblimp (decisions.csv, models_size.json, the corpus) and published/hu_frank_2024_syntax.csv;
# WORK is a folder for the imported tables. Any other scored tables with `direct` and a prompt can be named to make.py.
set -eu
shared=$1
work=$2
here=$(dirname "$0")
pairbank import --from hu-frank-2024 "$shared/published/hu_frank_2024_syntax.csv" --out "$work/hu-frank-2024"
pairbank import --from qfrblimp "$shared/corpora/qfrblimp" --items qfrblimp --data-dir "$shared/corpora" --out "$work/qfrblimp"
python -c 'import sys, pairbank
table = pairbank.read_scored(sys.argv[1]).to_pandas()
kept = table[["target_good", "target_bad", "subset", "phenomenon", "paradigm", "pair_id"]]
kept.rename(columns={"target_good": "good", "target_bad": "bad"}).to_csv(sys.argv[2], index=False)' \
  "$work/hu-frank-2024/Pythia_1B.parquet" "$work/hu-frank-2024-items.csv"
pairbank score "$work/hu-frank-2024-items.csv" --model demo -m direct -m hf24_paired --out "$work/ours/demo.parquet"
python "$here/make.py" "$work"/hu-frank-2024/*.parquet "$work"/qfrblimp/*.parquet "$work"/ours/*.parquet --data-dir "$shared/corpora" \
  --out "$here"
