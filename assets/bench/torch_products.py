"""PyTorch's grouped products, timed on request: the peer of `expertscope bench --suite linear`.

One JSON object per line on stdin, one on stdout:

    (first)                                              {"name": "torch 2.9.0, CUDA 13.0"}
    {"open": {"n": .., "k": .., "splits": [..]}}         {"cases": [{"name": .., "parts": [..]},
                                                                    {"name": .., "missing": ".."}]}
    {"time": "torch _grouped_mm", "part": "fprop"}       {"us": 601.3}
    {"close": true}                                      {}

Every failure is answered {"error": "a sentence"}. A time is measured by CUDA events around one
call, after one that is not timed. The program ends when its stdin does.
"""
import sys

# This script is passed with -c, which looks for modules in the current folder first. Not with -I: the torch of the
# Python that the user names may be in a folder from PYTHONPATH or in the user's own site.
sys.path[:] = [folder for folder in sys.path if folder]

import json  # noqa: E402


def sentence(error):
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:300]


def products(torch, n, k, splits):
    """{case: {part: call}}; every operand lives as long as its calls."""
    tokens, experts = sum(splits), len(splits)
    options = {"device": "cuda", "dtype": torch.bfloat16}
    x = torch.randn(tokens, k, **options)
    w = torch.randn(experts, n, k, **options)
    dy = torch.randn(tokens, n, **options)
    ends = torch.tensor(splits, device="cuda").cumsum(0).to(torch.int32)
    x8, w8 = x.to(torch.float8_e4m3fn), w.to(torch.float8_e4m3fn)
    row_scales = torch.ones(tokens, device="cuda")
    column_scales = torch.ones(experts, n, device="cuda")

    def scaled(fast):
        return lambda: torch._scaled_grouped_mm(
            x8, w8.transpose(-2, -1), row_scales, column_scales, offs=ends,
            out_dtype=torch.bfloat16, use_fast_accum=fast)

    return {
        "torch _grouped_mm": {
            "fprop": lambda: torch._grouped_mm(x, w.transpose(-2, -1), offs=ends),
            "dgrad": lambda: torch._grouped_mm(dy, w, offs=ends),
            "wgrad": lambda: torch._grouped_mm(dy.transpose(-2, -1), x, offs=ends)},
        "torch _scaled_grouped_mm split": {"fprop": scaled(False)},
        "torch _scaled_grouped_mm fast": {"fprop": scaled(True)},
    }


class Peer:
    def __init__(self, torch):
        self.torch = torch
        self.cases = {}

    def open(self, shape):
        self.close()
        made = products(self.torch, shape["n"], shape["k"], shape["splits"])
        answer = []
        for name, calls in made.items():
            works = {}
            for part, call in calls.items():
                try:
                    call()
                    self.torch.cuda.synchronize()
                    works[part] = call
                except Exception as error:  # this build of torch, or this device, does not have it
                    answer.append({"name": name, "missing": f"{part}: {sentence(error)}"})
            self.cases[name] = works
            if works:
                answer.append({"name": name, "parts": list(works)})
        return {"cases": answer}

    def time(self, name, part):
        call = self.cases[name][part]
        start, end = (self.torch.cuda.Event(enable_timing=True) for _ in range(2))
        call()
        start.record()
        call()
        end.record()
        end.synchronize()
        return {"us": start.elapsed_time(end) * 1e3}

    def close(self):
        self.cases = {}
        self.torch.cuda.empty_cache()
        return {}

    def answer(self, question):
        if "open" in question:
            return self.open(question["open"])
        if "time" in question:
            return self.time(question["time"], question["part"])
        return self.close()


def say(answer):
    print(json.dumps(answer), flush=True)


def main():
    try:
        import torch
    except ImportError as error:
        say({"error": f"this Python ({sys.executable}) has no torch: {sentence(error)}"})
        return
    try:
        torch.cuda.init()
        device = torch.cuda.get_device_name(0)
    except Exception as error:
        say({"error": f"torch {torch.__version__} finds no CUDA device: {sentence(error)}"})
        return
    say({"name": f"torch {torch.__version__}, CUDA {torch.version.cuda}, on {device}"})
    peer = Peer(torch)
    for line in sys.stdin:
        try:
            say(peer.answer(json.loads(line)))
        except Exception as error:
            say({"error": sentence(error)})


if __name__ == "__main__":
    main()
