"""How the benchmarks of `expertscope bench` talk to a peer: a program whose products and steps are
interleaved with ours. A peer's own file follows this text, and ends with serve().

One JSON object per line on stdin, one on stdout:

    (first)                                              {"name": "torch 2.9.0, CUDA 13.0"}
    {"open": {"step": "linear", "n": .., "k": ..,        {"cases": [{"name": .., "parts": [..]},
              "splits": [..]}}                                      {"name": .., "missing": ".."}]}
    {"open": {"step": "expert-layer", "n": .., "k": .., "splits": [..], "bias": false, "top_k": 8,
              "activation": {"name": "swiglu", "gated_silu": true, "slope": 1, "limit": null, "up_offset": 0}}}
    {"time": "torch _grouped_mm", "part": "fprop"}       {"us": 601.3}
    {"close": true}                                      {}

Every failure is answered {"error": "a sentence"}. A time is measured by CUDA events around one
call, after one that is not timed. The program ends when its stdin does.
"""
import sys

# These texts are passed with -c, which looks for modules in the current folder first. Not with -I: what the Python that
# the user names imports may be in a folder from PYTHONPATH or in the user's own site.
sys.path[:] = [folder for folder in sys.path if folder]

import json  # noqa: E402


def sentence(error):
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:300]


def refusal(why):
    def refuse():
        raise RuntimeError(why)
    return refuse


def say(answer):
    print(json.dumps(answer), flush=True)


def find_torch():
    """torch, and the name that the peer answers first."""
    try:
        import torch
    except ImportError as error:
        raise RuntimeError(f"this Python ({sys.executable}) has no torch: {sentence(error)}")
    try:
        torch.cuda.init()
        device = torch.cuda.get_device_name(0)
    except Exception as error:
        raise RuntimeError(f"torch {torch.__version__} finds no CUDA device: {sentence(error)}")
    return torch, f"torch {torch.__version__}, CUDA {torch.version.cuda}, on {device}"


class Peer:
    """`cases(torch, shape)`: {case: {part: call}}; every operand lives as long as its calls."""

    def __init__(self, torch, cases):
        self.torch, self.make = torch, cases
        self.cases = {}

    def open(self, shape):
        self.close()
        answer = []
        for name, calls in self.make(self.torch, shape).items():
            works = {}
            for part, call in calls.items():
                try:
                    call()
                    self.torch.cuda.synchronize()
                    works[part] = call
                except Exception as error:  # this build, or this device, does not have it
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


def serve(find, cases):
    """find() returns torch and the peer's name, or raises an error whose sentence says why not."""
    try:
        torch, name = find()
    except Exception as error:
        say({"error": sentence(error)})
        return
    say({"name": name})
    peer = Peer(torch, cases)
    for line in sys.stdin:
        try:
            say(peer.answer(json.loads(line)))
        except Exception as error:
            say({"error": sentence(error)})
