#!/usr/bin/env python3
"""Runs presets x recipes x launch modes through `expertscope run` and keeps the figures with their conditions.

  preset_matrix.py --program build/bin/expertscope --out results/NAME.json [--record NAME.session] [--preset SLUG ...]

One worker serves the whole list, so every figure of a file comes from one process on one device. The session file, if
asked for, holds every run with its kernel records. Times are medians over the iterations of a run; CUPTI is on in all
of them (the file says so), rates count useful FLOP only.
"""
import argparse
import datetime
import json
import pathlib
import sqlite3
import statistics
import subprocess
import sys
import tempfile

RECIPES = {
    "bf16": {"scaling": "bf16"},
    "fp8-per-tensor": {"scaling": "fp8-per-tensor", "pow2_scales": False, "split_accumulator": True},
    "fp8-block": {"scaling": "fp8-block", "pow2_scales": True, "split_accumulator": True},
}
LAUNCHES = {
    "eager": {"kind": "eager", "iterations": 20},
    "graph": {"kind": "graph-replay", "iterations": 100},
}


def load_presets(assets, slugs):
    for slug in slugs:
        preset = json.loads((assets / "shapes" / f"{slug}.json").read_text())
        yield preset


def request(preset, recipe, launch, arguments):
    shape = preset.get("shape", preset)
    return {
        "shape": {
            "preset": preset["name"],
            "num_experts": shape["num_experts"],
            "rows": shape["tokens"],
            "n": shape["n"],
            "k": shape["k"],
        },
        "routing": {"distribution": arguments.routing, "alignment": 128},
        "activations": {"synthetic": {"distribution": "normal", "element": "bf16"}},
        "weights": {"synthetic": {"distribution": "normal", "element": "bf16"}},
        "recipe": RECIPES[recipe],
        "launch": LAUNCHES[launch],
        "backend": arguments.backend,
        "layers": arguments.layers,
        "seed": 1,
    }


def stage_medians_us(session, run_id):
    """Median over the iterations of the summed record time of each stage, microseconds."""
    rows = session.execute(
        "SELECT s.name, r.iteration, SUM(r.end_ns - r.start_ns) FROM records r JOIN stages s ON s.stage = r.stage "
        "WHERE r.run_id = ? AND r.iteration >= 0 GROUP BY s.name, r.iteration", (run_id,))
    times = {}
    for stage, _, duration in rows:
        times.setdefault(stage, []).append(duration / 1e3)
    return {stage: round(statistics.median(values), 2) for stage, values in sorted(times.items())}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True, type=pathlib.Path)
    parser.add_argument("--assets", type=pathlib.Path, default=pathlib.Path(__file__).parents[2] / "assets")
    parser.add_argument("--preset", action="append", help="file name in assets/shapes without .json; repeatable")
    parser.add_argument("--recipe", action="append", choices=RECIPES)
    parser.add_argument("--backend", default="cublaslt-grouped")
    parser.add_argument("--routing", default="uniform")
    parser.add_argument("--layers", type=int, default=1)
    parser.add_argument("--record", type=pathlib.Path)
    parser.add_argument("--out", required=True, type=pathlib.Path)
    arguments = parser.parse_args()
    presets = arguments.preset or ["mixtral-8x7b-up", "deepseek-v3-up-32-experts"]
    recipes = arguments.recipe or list(RECIPES)

    with tempfile.TemporaryDirectory() as folder:
        record = arguments.record or pathlib.Path(folder) / "matrix.session"
        command = [str(arguments.program), "run", "--json", "--record", str(record)]
        labels, log = [], []
        for preset in load_presets(arguments.assets, presets):
            for recipe in recipes:
                for launch in LAUNCHES:
                    log.append(json.dumps(request(preset, recipe, launch, arguments)))
                    labels.append((preset["name"], recipe, launch))
        path = pathlib.Path(folder) / "requests.jsonl"
        path.write_text("\n".join(log) + "\n")
        command += ["--requests", str(path)]
        done = subprocess.run(command, capture_output=True, text=True)
        stages = []
        if done.returncode == 0:
            with sqlite3.connect(f"file:{record}?mode=ro", uri=True) as session:
                stages = [stage_medians_us(session, i + 1) for i in range(len(labels))]
    if done.returncode != 0:
        sys.stderr.write(done.stderr[-4000:])
        return done.returncode
    results = [json.loads(line)["result"] for line in done.stdout.splitlines() if line.startswith("{")]
    if len(results) != len(labels) or len(labels) < 2:
        sys.stderr.write(f"{len(labels)} requests gave {len(results)} results\n{done.stderr[-4000:]}")
        return 1

    rows = []
    for (preset, recipe, launch), result, stage_us in zip(labels, results, stages):
        durations = [int(i["duration_ns"]) for i in result["iterations"]]
        median_ns = statistics.median(durations)
        experts = result["experts"]
        checks = result.get("replay_checks", [])
        rows.append({
            "preset": preset,
            "recipe": recipe,
            "launch": launch,
            "iterations": len(durations),
            "step_median_us": round(median_ns / 1e3, 2),
            "step_p5_us": round(statistics.quantiles(durations, n=20)[0] / 1e3, 2),
            "step_p95_us": round(statistics.quantiles(durations, n=20)[-1] / 1e3, 2),
            "step_tflops": round(result["flop"] / median_ns / 1e3, 3),
            "stage_median_us": stage_us,
            "fprop_tflops": round(result["flop"] / stage_us["fprop"] / 1e6, 3) if "fprop" in stage_us else None,
            "y_snr_db_worst_expert": min((float(e["fprop.snr_db"]) for e in experts if int(e.get("rows", 0))), default=None),
            "replays_checked": len(checks),
            "replays_wrong": sum(1 for c in checks if c.get("wrong_experts")),
            "deviations": result.get("deviations", []),
        })
        row = rows[-1]
        print(f"{preset:28} {recipe:16} {launch:6} {row['step_median_us']:>12} us {row['step_tflops']:>9} TFLOP/s "
              f"fprop {row['fprop_tflops']:>9} "
              f"SNR {row['y_snr_db_worst_expert']:.2f} dB  wrong replays {row['replays_wrong']}/{row['replays_checked']}")
    device = {key: value for key, value in results[0]["device"].items() if key != "cublaslt_path" and value}
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text(json.dumps({
        "date": datetime.date.today().isoformat(),
        "device": device,
        "iteration_method": sorted({result.get("iteration_method") for result in results}),
        "activity_method": sorted({result.get("activity_method") for result in results}),
        "data": "synthetic normal, BF16, seed 1; whole step: offsets, quantize X, quantize W, fprop",
        "routing": arguments.routing,
        "rows": rows,
    }, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
