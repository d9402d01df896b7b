#!/bin/bash
# Makes the recordings that ship with the program, on a machine with a device that nobody else uses.
# Every run is a burst with pauses, so that the device is not throttled; the last lines show its clock.
# Usage: record_h200.sh EXPERTSCOPE CUBLASLT OUTPUT_FOLDER
set -eu
program=$(realpath "$1") library=$(realpath "$2") here=$(realpath "$(dirname "$0")")
mkdir -p "$3" && cd "$3"

# 16 steps of 32 experts whose popularity drifts, as routers do: the splits are drawn, the times are measured.
python3 - <<'PYTHON'
import json
import random

random.seed(1)
experts, rows = 32, 32768
weights = [1 / (i + 1) ** 0.7 for i in range(experts)]
random.shuffle(weights)
steps = []
for _ in range(16):
    weights = [w * random.lognormvariate(0, 0.25) for w in weights]
    total = sum(weights)
    splits = [int(rows * w / total) for w in weights]
    splits[0] += rows - sum(splits)
    steps.append(splits)
with open("routing_16_steps.json", "w") as file:
    json.dump(steps, file)
PYTHON

call() { "$program" "$@" --cublaslt "$library" > "$log" 2>&1 || { tail -n 3 "$log"; return 1; }; }
log=runs.log call run --requests "$here/h200_layer_recording.jsonl" --record runs.session
layer=(--preset "DeepSeek-V3 layer, 32 experts" --step expert-layer --passes forward-backward --top-k 8
       --backend cublaslt-grouped --launch graph-replay --iterations 10 --pace burst)
log=sweep.log call sweep "${layer[@]}" --axes recipe,pow2 --traced-iterations 2 --record sweep.session || true
sed -n 1p "$here/h200_layer_recording.jsonl" > a.json
sed -n 3p "$here/h200_layer_recording.jsonl" > b.json
log=ab.log call ab --a a.json --b b.json --blocks 10 --iterations 5 --record ab.session || true
# Small enough to be kept whole: scale maps of nine recipes, with outlier channels.
log=compare.log call compare --experts 8 --rows 4096 --n 2048 --k 2048 --activations heavy-tailed --output compare.session
log=steps.log call run --experts 8 --rows 1024 --n 512 --k 2048 --iterations 5 --worker-backend cpu \
  --with-history 32 --record steps.session || true
log=visit.log call doctor --request a.json --prove --record visit.session || true
log=case.log call doctor --case workspace-regrown --prove --record case.session || true

more=()
for part in sweep ab compare steps visit case; do
  if [ -e $part.session ]; then more+=(--add $part.session); fi
done
"$program" export runs.session --session h200_layer.session "${more[@]}"
python3 - <<'PYTHON'
import sqlite3

file = sqlite3.connect("file:h200_layer.session?mode=ro", uri=True)
for run, low, high, count in file.execute(
        "SELECT run_id, MIN(sm_clock_mhz), MAX(sm_clock_mhz), COUNT(*) FROM power_samples GROUP BY run_id"):
    print(f"run {run}: {count} samples of the clock, {low} to {high} MHz")
PYTHON
ls -la -- *.session
