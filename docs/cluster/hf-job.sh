#!/bin/bash
# pairbank as a job on the Hub, a part a job; the bucket holds the cache that parts meet in.
#   for i in 1 2 3 4; do bash hf-job.sh "$i/4"; done   # then, once all have ended: bash hf-job.sh
set -euo pipefail
part=()
if [ $# -gt 0 ]; then part=(--part "$1"); fi
hf jobs uv run --flavor a100-large --timeout 4h --secrets HF_TOKEN \
  --volume "hf://buckets/ORG/pairbank:/data" --env PAIRBANK_CACHE=/data/cache \
  --with pairbank -- pairbank run introspection --model meta-llama/Llama-3.1-8B --batch-tokens 16384 \
  --out /data/bank "${part[@]}"
