#!/bin/bash
# pairbank on SLURM with Ray: one head, a node of Ray on each other machine, one driver.
#   sbatch slurm-ray.sh
# STUDY, MODEL, BANK, WORKERS and GPUS (of a machine) of the environment are taken.
#SBATCH --job-name=pairbank-ray
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=8
#SBATCH --cpus-per-task=64
#SBATCH --time=08:00:00
set -euo pipefail
gpus="${GPUS:-8}"
RAY_AUTH_TOKEN="$(openssl rand -hex 32)"
export RAY_AUTH_MODE=token RAY_AUTH_TOKEN
read -r head < <(scontrol show hostnames "$SLURM_JOB_NODELIST")
ip=$(srun --nodes=1 --ntasks=1 -w "$head" hostname --ip-address)
address="${ip%% *}:${PORT:-6379}"
srun --nodes=1 --ntasks=1 -w "$head" ray start --head --port="${PORT:-6379}" --num-gpus="$gpus" --block &
for _ in $(seq 60); do
  if srun --overlap --nodes=1 --ntasks=1 -w "$head" ray status --address "$address" >/dev/null; then break; fi
  sleep 2
done
# Machines that are late are taken in when they are there.
srun --nodes=$((SLURM_NNODES - 1)) --ntasks=$((SLURM_NNODES - 1)) --exclude="$head" \
  ray start --address="$address" --num-gpus="$gpus" --block &
# The driver runs beside the head; it alone writes the store.
srun --overlap --nodes=1 --ntasks=1 -w "$head" pairbank run "${STUDY:-introspection}" \
  --model "${MODEL:-meta-llama/Llama-3.1-8B}" --batch-tokens 16384 --ray "$address" \
  --workers "${WORKERS:-32}" --gpus-per-worker 1 --out "${BANK:-bank}"
