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
# Large enough that FP8 pays: the frontier has more than BF16 on it.
layer=(--experts 16 --rows 16384 --n 4096 --k 4096 --step expert-layer --passes forward-backward --top-k 2
       --backend cublaslt-grouped --launch graph-replay --iterations 20 --pace burst --traced-iterations 1)
log=sweep.log call sweep "${layer[@]}" --axes recipe,pow2 --record sweep.session
# The products of cuBLASLt and of our own kernels, interleaved: small experts, where dW gains most.
for backend in cublaslt-grouped expertscope; do
  printf '{"shape": {"num_experts": 32, "rows": 16384, "n": 1536, "k": 2048}, "recipe": {"scaling": "fp8-block"},
"backend": "%s", "launch": {"kind": "graph-replay"}, "products": {"passes": "forward-backward"},
"measure": {"pace": "burst", "stamps": true, "traced_iterations": 4}}' $backend > $backend.json
done
log=ab.log call ab --a cublaslt-grouped.json --b expertscope.json --blocks 10 --iterations 10 --record ab.session
# Every recipe on one operand with outlier channels, once and over steps.
log=compare.log call compare --experts 8 --rows 1024 --n 1024 --k 1024 --backend cublaslt-grouped --activations.synthetic.distribution heavy-tailed --output compare.session
log=steps.log call run --experts 8 --rows 1024 --n 512 --k 2048 --iterations 5 --worker-backend cpu \
  --with-history 32 --record steps.session
head -n 1 "$here/h200_layer_recording.jsonl" > a.json
log=visit.log call doctor --request a.json --prove --record visit.session || [ -e visit.session ]
log=case.log call doctor --case workspace-regrown --prove --record case.session || [ -e case.session ]

# What ships has one run of each kind, and is at most 10 MB.
"$program" export sweep.session --session points.session --runs 1,3,5,6,7
"$program" export runs.session --session h200_layer.session --runs 1,3,4,7,9,10 \
  --add points.session --add ab.session --add compare.session --add steps.session --add visit.session --add case.session
python3 - <<'PYTHON'
import sqlite3

file = sqlite3.connect("h200_layer.session")
# Tiles are kept of runs whose products have them; those of quantization alone would be another 0.6 MB.
own = file.execute("SELECT DISTINCT run_id FROM tiled_launches WHERE stage <> 'quantize'")
kept = ", ".join(str(run) for (run,) in own)
for table in ("launch_tiles", "tiled_launches"):
    file.execute(f"DELETE FROM {table} WHERE run_id NOT IN ({kept})")
file.commit()
file.execute("VACUUM")
for run, low, high, count in file.execute(
        "SELECT run_id, MIN(sm_clock_mhz), MAX(sm_clock_mhz), COUNT(*) FROM power_samples GROUP BY run_id"):
    print(f"run {run}: {count} samples of the clock, {low} to {high} MHz")
PYTHON
ls -la -- *.session
