"""`expertscope attach` on real PyTorch programs (torch_programs.py): the healthy ones compute the same and give nothing
above "possible"; each faulty one gives the finding that its name asks for; of one that hangs, the node is named that runs.

Arguments: expertscope. Takes about three minutes on 16 cores; ATTACH_PROGRAMS=graph-mlp chooses by prefix, and
ATTACH_COMPARES=1 compares the memory of all of them before and after replays, ATTACH_MARKERS=1 marks the nodes of all.
"""

import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import torch_programs

HERE = pathlib.Path(__file__).parent
LIMIT_SECONDS = 240


def run(command, folder):
    environment = {**os.environ, "OMP_NUM_THREADS": "2", "TORCHINDUCTOR_CACHE_DIR": str(folder / "inductor")}
    return subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_SECONDS, env=environment)


def checksum(text):
    return [line for line in text.splitlines() if line.startswith(("checksum", "step"))]


def fault_of(program, name):
    """Why the test fails for this program; empty = it passes."""
    python = [sys.executable, str(HERE / "torch_programs.py"), name]
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        compares = name in torch_programs.COMPARED or os.environ.get("ATTACH_COMPARES") == "1"
        options = ["--compare-memory"] if compares else []
        if name in torch_programs.HANGING:
            return fault_of_hang(program, name, python, folder)
        if os.environ.get("ATTACH_MARKERS") == "1":
            options.append("--markers")
        attached = run([program, "attach", *options, "--json", "--folder", str(folder), "--", *python], folder)
        if attached.returncode not in (0, 1):
            return f"exit code {attached.returncode}: {attached.stderr[-800:]}"
        findings = [finding for report in json.loads(attached.stdout) for finding in report["findings"]]
        if name in torch_programs.COMPARED:
            rules = sorted({finding["rule"] for finding in findings})
            return "" if rules == [torch_programs.COMPARED[name]] else f"found {rules}: {attached.stderr[-400:]}"
        serious = sorted({finding["rule"] for finding in findings if finding["confidence"] != "possible"})
        if name in torch_programs.FAULTY:
            return "" if serious == [torch_programs.FAULTY[name]] else f"found {serious}"
        if serious:
            return "found " + "; ".join(finding["title"] for finding in findings)
        plain = run(python, folder)
        same = checksum(plain.stdout) == checksum(attached.stderr) and checksum(plain.stdout)
        return "" if same else f"computes {checksum(attached.stderr)} instead of {checksum(plain.stdout)}"


def fault_of_hang(program, name, python, folder):
    options = ["--markers", "--hang-after", "5", "--end-on-hang"]
    attached = run([program, "attach", *options, "--json", "--folder", str(folder), "--", *python], folder)
    if attached.returncode != 2:
        return f"exit code {attached.returncode}: {attached.stderr[-800:]}"
    report, = json.loads(attached.stdout)
    stall = report["experiments"][0]["stall"]
    wanted = torch_programs.HANGING[name]
    names = [node["name"] for node in stall["running"]]
    if len(names) != 1 or wanted not in names[0] or stall["nodes"][-1] != "not reached":
        return f"the running node is not {wanted}: {stall}"
    place = stall["running"][0]["captured_at"] or ""
    return "" if "torch_programs.py:" in place else f"it was captured at {place}"


def missing():
    """Why these programs cannot run here; empty = they can."""
    try:
        import torch
    except ImportError:
        return f"{sys.executable} cannot import torch (Python3_EXECUTABLE chooses another)"
    return "" if torch.cuda.is_available() else "there is no GPU that PyTorch can use"


def main():
    if reason := missing():
        print("skipped:", reason)
        return 0
    program = str(pathlib.Path(sys.argv[1]).resolve())
    wanted = os.environ.get("ATTACH_PROGRAMS", "")
    every = [*torch_programs.healthy(), *torch_programs.FAULTY, *torch_programs.COMPARED, *torch_programs.HANGING]
    names = [name for name in every if name.startswith(wanted)]
    with concurrent.futures.ThreadPoolExecutor(min(10, os.cpu_count())) as pool:
        faults = list(pool.map(lambda name: fault_of(program, name), names))
    for name, fault in zip(names, faults):
        if fault:
            print(f"{name}: {fault}")
    failed = sum(1 for fault in faults if fault)
    print(f"{len(names) - failed} of {len(names)} programs passed")
    return 1 if failed or not names else 0


if __name__ == "__main__":
    sys.exit(main())
