#!/usr/bin/env bash
# Train on two machines with Slurm: sbatch examples/slurm.sh DATA RUN
# DATA, RUN and the cache (UNSPOOL_CACHE) lie on a file system that all machines share.
#SBATCH --job-name=unspool
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=8
#SBATCH --signal=TERM@120
set -euo pipefail

data=$1 run=$2
processes=2  # on each machine
export OMP_NUM_THREADS=$((SLURM_CPUS_PER_TASK / processes))
first=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
# A job that ran out of time was saved by SIGTERM: submit the same again, and it goes on.
if [ -e "$run/config.json" ]; then what=(--resume --out "$run"); else what=("$data" --model lstm --out "$run"); fi
srun torchrun --nnodes "$SLURM_NNODES" --nproc-per-node "$processes" \
  --rdzv-backend c10d --rdzv-endpoint "$first:29500" --rdzv-id "$SLURM_JOB_ID" \
  -m unspool train "${what[@]}"
