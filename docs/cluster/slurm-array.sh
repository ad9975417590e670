#!/bin/bash
# pairbank on SLURM without Ray: an array of parts, then one job that puts them together.
#   jid=$(sbatch --parsable --array=1-8 slurm-array.sh) && sbatch --dependency=afterok:$jid slurm-array.sh
# STUDY, MODEL and BANK of the environment are taken, and PAIRBANK_CACHE has to be set.
#SBATCH --job-name=pairbank
#SBATCH --gpus=1
#SBATCH --cpus-per-task=8
#SBATCH --mem=64G
#SBATCH --time=04:00:00
#SBATCH --requeue
set -euo pipefail
export PAIRBANK_CACHE="${PAIRBANK_CACHE:?a folder that all machines see}"
export HF_HUB_OFFLINE=1  # download the model once, before
part=()
if [ -n "${SLURM_ARRAY_TASK_ID:-}" ]; then
  part=(--part "$SLURM_ARRAY_TASK_ID/$SLURM_ARRAY_TASK_COUNT")
fi
exec pairbank run "${STUDY:-introspection}" --model "${MODEL:-meta-llama/Llama-3.1-8B}" --batch-tokens 16384 \
  --out "${BANK:-bank}" ${part[@]+"${part[@]}"}
