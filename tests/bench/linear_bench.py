"""The grouped linear step beside PyTorch's grouped products, one run on one GPU.

    python3 tests/bench/linear_bench.py BUILD/bin/expertscope > rows.jsonl

Each row is a case: the step as `expertscope run` replays it (its graph's time, and the sum of its
kernels' times by stage from CUPTI), and, where torch is installed, torch's product of the same
shape. Ours and torch's take turns in rounds; numbers are medians over all of them. FLOP are
2 * tokens * n * k a product.
"""
import json
import os
import sqlite3
import statistics
import subprocess
import sys
import tempfile

SHAPES = {  # experts, tokens, n, k
    "Mixtral up": (8, 16384, 28672, 4096),
    "DeepSeek-V3 up": (8, 32768, 4096, 7168),
    "Qwen3-30B up": (128, 65536, 1536, 2048),
}
RECIPES = {
    "bf16": ["--recipe", "bf16"],
    "fp8-per-tensor": ["--recipe", "fp8-per-tensor", "--gradient_format", "e5m2"],
    "fp8-block": ["--recipe", "fp8-block"],
}
ROUTINGS = ("uniform", "zipf")
ROUNDS = 2


def run_ours(program, shape, recipe, routing, passes):
    experts, tokens, n, k = shape
    with tempfile.TemporaryDirectory() as folder:
        session = os.path.join(folder, "s")
        command = [program, "run", "--backend", "cublaslt-grouped", "--num_experts", str(experts),
                   "--tokens", str(tokens), "--n", str(n), "--k", str(k), "--routing.distribution",
                   routing, "--alignment", "16", "--passes", passes, "--launch.kind",
                   "graph-replay", "--iterations", "20", "--record", session, "--json"]
        done = subprocess.run(command + RECIPES[recipe], capture_output=True, text=True)
        if done.returncode != 0:
            return {"error": done.stderr.strip()[-300:]}
        result = json.loads(done.stdout)
        rows = sqlite3.connect(session).execute(
            "SELECT s.name, r.iteration, SUM(r.end_ns - r.start_ns), MIN(r.start_ns), MAX(r.end_ns) "
            "FROM records r JOIN stages s USING (stage) WHERE r.iteration >= 0 "
            "GROUP BY 1, 2").fetchall()
        rest = sqlite3.connect(session).execute(
            "SELECT product, candidates, chosen, first_us, chosen_us FROM algorithms").fetchall()
        facts = sqlite3.connect(session).execute(
            "SELECT kernels, memsets, host_launch_ns FROM graph_counts").fetchall()
        device = sqlite3.connect(session).execute(
            "SELECT device_name, device_driver, cublaslt_version FROM runs").fetchall()
    stages = {}
    iterations = {}
    for name, iteration, duration, first, last in rows:
        stages.setdefault(name, []).append(duration)
        begin, end, total = iterations.get(iteration, (first, last, 0))
        iterations[iteration] = (min(begin, first), max(end, last), total + duration)
    del result
    return {"stages": stages, "spans": [end - begin for begin, end, _ in iterations.values()],
            "sums": [total for _, _, total in iterations.values()], "algorithms": rest,
            "graph": facts, "device": device}


def torch_products(shape, rounds=20):
    try:
        import torch
    except ImportError:
        return None
    experts, tokens, n, k = shape
    x = torch.randn(tokens, k, device="cuda", dtype=torch.bfloat16)
    w = torch.randn(experts, n, k, device="cuda", dtype=torch.bfloat16)
    ends = torch.arange(1, experts + 1, device="cuda", dtype=torch.int32) * (tokens // experts)
    x8, w8 = x.to(torch.float8_e4m3fn), w.to(torch.float8_e4m3fn)
    row_scales = torch.ones(tokens, device="cuda")
    column_scales = torch.ones(experts, n, device="cuda")
    cases = {
        "torch _grouped_mm": lambda: torch._grouped_mm(x, w.transpose(-2, -1), offs=ends),
        "torch _scaled_grouped_mm split": lambda: torch._scaled_grouped_mm(
            x8, w8.transpose(-2, -1), row_scales, column_scales, offs=ends,
            out_dtype=torch.bfloat16, use_fast_accum=False),
        "torch _scaled_grouped_mm fast": lambda: torch._scaled_grouped_mm(
            x8, w8.transpose(-2, -1), row_scales, column_scales, offs=ends,
            out_dtype=torch.bfloat16, use_fast_accum=True),
    }
    times = {}
    for name, call in cases.items():
        try:
            for _ in range(3):
                call()
            torch.cuda.synchronize()
            for _ in range(rounds):
                start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
                start.record()
                call()
                end.record()
                end.synchronize()
                times.setdefault(name, []).append(start.elapsed_time(end) * 1e6)
        except Exception as error:  # an operator this build of torch does not have
            times[name] = str(error)[:200]
    del x, w, x8, w8
    torch.cuda.empty_cache()
    return times


def main():
    program = sys.argv[1]
    for name, shape in SHAPES.items():
        flop = 2.0 * shape[1] * shape[2] * shape[3]
        ours, peers = {}, {}
        for _ in range(ROUNDS):
            for recipe in RECIPES:
                for routing in ROUTINGS:
                    got = run_ours(program, shape, recipe, routing, "forward-backward")
                    ours.setdefault((recipe, routing), []).append(got)
            for peer, times in (torch_products(shape) or {}).items():
                if isinstance(times, str):
                    peers[peer] = times
                else:
                    peers.setdefault(peer, []).extend(times)
        for (recipe, routing), runs in ours.items():
            row = {"shape": name, "recipe": recipe, "routing": routing, "passes": "both"}
            failed = [run["error"] for run in runs if "error" in run]
            if failed:
                print(json.dumps({**row, "error": failed[0]}), flush=True)
                continue
            stages = {}
            for run in runs:
                for stage, times in run["stages"].items():
                    stages.setdefault(stage, []).extend(times)
            medians = {stage: statistics.median(times) for stage, times in stages.items()}
            row["us"] = {stage: round(time / 1e3, 1) for stage, time in medians.items()}
            row["tflops"] = {stage: round(flop / medians[stage] / 1e3, 1)
                             for stage in ("fprop", "dgrad", "wgrad") if stage in medians}
            spans = [span for run in runs for span in run["spans"]]
            sums = [total for run in runs for total in run["sums"]]
            row["span_us"] = round(statistics.median(spans) / 1e3, 1)
            row["sum_of_kernels_us"] = round(statistics.median(sums) / 1e3, 1)
            row["overhead"] = round(statistics.median(spans) / statistics.median(sums) - 1, 4)
            row["algorithms"] = runs[-1]["algorithms"]
            row["graph"] = runs[-1]["graph"]
            row["device"] = runs[-1]["device"][0]
            print(json.dumps(row), flush=True)
        for peer, times in peers.items():
            row = {"shape": name, "peer": peer, "routing": "uniform", "product": "fprop"}
            if isinstance(times, str):
                row["error"] = times
            else:
                row["us"] = round(statistics.median(times) / 1e3, 1)
                row["tflops"] = round(flop / statistics.median(times) / 1e3, 1)
            print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
