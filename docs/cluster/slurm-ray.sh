#!/bin/bash
# pairbank on SLURM with Ray: one head, a worker node on each other machine, one driver.
#   sbatch slurm-ray.sh
#SBATCH --job-name=pairbank-ray
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=8
#SBATCH --cpus-per-task=64
#SBATCH --time=08:00:00
set -euo pipefail
export RAY_AUTH_MODE=token RAY_AUTH_TOKEN="$(openssl rand -hex 32)"
head=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -1)
address="$(srun --nodes=1 --ntasks=1 -w "$head" hostname --ip-address | cut -d' ' -f1):6379"
srun --nodes=1 --ntasks=1 -w "$head" ray start --head --port=6379 --num-gpus=8 --block &
sleep 20
srun --nodes=$((SLURM_NNODES - 1)) --ntasks=$((SLURM_NNODES - 1)) --exclude="$head" \
  ray start --address="$address" --num-gpus=8 --block &
sleep 20
# The driver runs beside the head; it alone writes the store.
srun --overlap --nodes=1 --ntasks=1 -w "$head" pairbank run introspection --model meta-llama/Llama-3.1-8B \
  --batch-tokens 16384 --ray "$address" --workers 32 --gpus-per-worker 1 --out bank
