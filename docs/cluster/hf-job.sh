#!/bin/bash
# pairbank as a job on the Hub, a part a job; the bucket holds the cache that parts meet in.
#   for i in 1 2 3 4; do bash hf-job.sh "$i/4"; done   # then, once all have ended: bash hf-job.sh
# STUDY, MODEL and BUCKET (ORG/NAME) of the environment are taken.
set -euo pipefail
part=()
detach=()
if [ $# -gt 0 ]; then part=(--part "$1") detach=(--detach); fi
hf jobs uv run --flavor a100-large --timeout 4h --secrets HF_TOKEN ${detach[@]+"${detach[@]}"} \
  --volume "hf://buckets/${BUCKET:-ORG/pairbank}:/bucket" --env PAIRBANK_CACHE=/bucket/cache \
  --with pairbank -- pairbank run "${STUDY:-introspection}" --model "${MODEL:-meta-llama/Llama-3.1-8B}" \
  --batch-tokens 16384 --out /bucket/bank ${part[@]+"${part[@]}"}
