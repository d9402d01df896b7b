"""Programs that capture CUDA graphs in PyTorch, for tests of `expertscope attach`: none knows of it.

Run: torch_programs.py list | torch_programs.py NAME. A healthy program prints a checksum of what it computed, or its losses; they are the same
with and without the preloaded library. A faulty one has the one mistake that its name says.
"""

import gc
import itertools
import os
import pathlib
import sys
import threading

MODULES = ["linear", "mlp", "attention", "convolution", "layernorm", "embedding", "gru", "moe"]
OPTIMIZERS = ["none", "sgd", "adam", "adamw-foreach", "adamw-fused"]
COMPILED = ["reduce-overhead"]
ALLOCATORS = ["", "expandable"]


def healthy():
    names = []
    for module, optimizer in itertools.product(MODULES, OPTIMIZERS):
        for allocator in ALLOCATORS:
            names.append(f"graph-{module}-{optimizer}" + (f"-{allocator}" if allocator else ""))
    for module, allocator in itertools.product(MODULES[:6], ALLOCATORS):
        names.append(f"callables-{module}" + (f"-{allocator}" if allocator else ""))
    for module, allocator in itertools.product(["mlp", "layernorm", "attention"], ALLOCATORS):
        for mode in COMPILED:
            names.append(f"compiled-{module}-{mode}" + (f"-{allocator}" if allocator else ""))
    return names + ["pool-shared", "recaptured", "emptied-cache", "two-streams", "grouped", "copied-batch", "evicted-graph",
                    "evicted-of-shared-pool", "fresh-batch", "cleared-total", "tensor-map"]


FAULTY = {
    "freed-input": "freed-memory",
    "freed-scratch": "freed-memory",
    "rebound-batch": "freed-memory",
    "evicted-workspace": "freed-memory",
    "freed-tensor-map": "freed-memory",
    "item-in-capture": "sync-in-capture",
    "other-thread": "other-thread-in-capture",
}
# Mistakes that memory shows, before and after replays (--compare-memory).
COMPARED = {"stale-batch": "stale-input", "running-total": "carried-over"}
# Programs that never end, and the kernel that runs then (--markers).
HANGING = {"endless-sleep": "spin_kernel"}


def module_of(name, torch):
    nn = torch.nn

    class Attention(nn.Module):
        def __init__(self):
            super().__init__()
            self.qkv = nn.Linear(64, 192)

        def forward(self, x):
            q, k, v = self.qkv(x.view(4, 16, 64)).chunk(3, -1)
            return nn.functional.scaled_dot_product_attention(q, k, v).reshape(64, 64)

    class Embedding(nn.Module):
        def __init__(self):
            super().__init__()
            self.table = nn.Embedding(64, 64)

        def forward(self, x):
            return x + self.table(torch.arange(64, device="cuda"))

    class Convolution(nn.Module):
        def __init__(self):
            super().__init__()
            self.convolution = nn.Conv2d(1, 1, 3, padding=1)

        def forward(self, x):
            return self.convolution(x.view(1, 1, 64, 64)).view(64, 64)

    class Recurrent(nn.Module):
        def __init__(self):
            super().__init__()
            self.cell = nn.GRUCell(64, 64)

        def forward(self, x):
            return self.cell(x, self.cell(x))

    class Experts(nn.Module):
        def __init__(self):
            super().__init__()
            self.up = nn.Parameter(torch.randn(4, 64, 128) * 0.05)
            self.down = nn.Parameter(torch.randn(4, 128, 64) * 0.05)

        def forward(self, x):
            return torch.bmm(torch.relu(torch.bmm(x.view(4, 16, 64), self.up)), self.down).reshape(64, 64)

    return {
        "linear": lambda: nn.Linear(64, 64),
        "mlp": lambda: nn.Sequential(nn.Linear(64, 128), nn.GELU(), nn.Linear(128, 64), nn.Dropout(0.0)),
        "attention": Attention,
        "convolution": Convolution,
        "layernorm": lambda: nn.Sequential(nn.LayerNorm(64), nn.Linear(64, 64), nn.Softmax(-1)),
        "embedding": Embedding,
        "gru": Recurrent,
        "moe": Experts,
    }[name]().cuda()


def optimizer_of(name, parameters, torch):
    return {
        "none": lambda: None,
        "sgd": lambda: torch.optim.SGD(parameters, lr=0.01, momentum=0.9),
        "adam": lambda: torch.optim.Adam(parameters, capturable=True),
        "adamw-foreach": lambda: torch.optim.AdamW(parameters, capturable=True, foreach=True),
        "adamw-fused": lambda: torch.optim.AdamW(parameters, capturable=True, fused=True),
    }[name]()


def warmed_up(step, torch):
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(stream)


def graph_program(module, optimizer, torch):
    model = module_of(module, torch)
    tuned = optimizer_of(optimizer, model.parameters(), torch)
    x = torch.randn(64, 64, device="cuda")

    def step():
        if tuned is not None:
            tuned.zero_grad(set_to_none=False)
        out = model(x)
        if tuned is not None:
            out.square().mean().backward()
            tuned.step()
        return out

    warmed_up(step, torch)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = step()
    for i in range(5):
        x.copy_(torch.full((64, 64), 0.1 * i, device="cuda"))
        graph.replay()
    return out


def callables_program(module, torch):
    model = module_of(module, torch)
    x = torch.randn(64, 64, device="cuda", requires_grad=True)
    model = torch.cuda.make_graphed_callables(model, (x,))
    total = torch.zeros((), device="cuda")
    for _ in range(4):
        y = model(x.detach().requires_grad_())
        y.square().mean().backward()
        total += y.detach().sum()
    return total


def compiled_program(module, mode, torch):
    model = torch.compile(module_of(module, torch), mode=mode)
    x = torch.randn(64, 64, device="cuda")
    total = torch.zeros((), device="cuda")
    for _ in range(5):
        torch.compiler.cudagraph_mark_step_begin()
        total += model(x).detach().sum()
    return total


def captured(step, torch, **options):
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, **options):
        result = step()
    return graph, result


def special(name, torch):
    x = torch.randn(256, 256, device="cuda")
    side = torch.cuda.Stream()
    for stream in (torch.cuda.current_stream(), side):
        with torch.cuda.stream(stream):
            (x @ x).relu()  # loads and allocates what captures may not
    torch.cuda.synchronize()
    if name == "pool-shared":
        first, y = captured(lambda: x @ x, torch)
        second, z = captured(lambda: y.relu() @ x, torch, pool=first.pool())
        for _ in range(3):
            first.replay()
            second.replay()
        return z
    if name == "evicted-graph":
        return evicted(torch, own_workspace=True)
    if name == "evicted-of-shared-pool":
        first, y = captured(lambda: x @ x, torch)
        second, z = captured(lambda: y.relu() @ x, torch, pool=first.pool())
        first.replay()
        first.reset()
        torch.cuda.empty_cache()  # the other graph keeps the pool
        for _ in range(2):
            second.replay()
        return z
    if name == "recaptured":
        for size in [64, 128, 256]:
            graph, y = captured(lambda: x[:size] @ x, torch)
            graph.replay()
            graph.reset()
        return y
    if name == "emptied-cache":
        big = torch.randn(4096, 4096, device="cuda")
        del big
        graph, y = captured(lambda: x @ x, torch)
        graph.replay()
        torch.cuda.empty_cache()  # the graph's own pool stays
        graph.replay()
        return y
    if name == "two-streams":

        def step():
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                a = x @ x
            b = x.relu()
            torch.cuda.current_stream().wait_stream(side)
            return a + b

        graph, y = captured(step, torch)
        for _ in range(3):
            graph.replay()
        return y
    a = torch.randn(256, 128, device="cuda", dtype=torch.bfloat16)
    b = torch.randn(4, 128, 64, device="cuda", dtype=torch.bfloat16)
    offsets = torch.tensor([64, 128, 192, 256], device="cuda", dtype=torch.int32)
    graph, y = captured(lambda: torch._grouped_mm(a, b, offs=offsets), torch)
    for _ in range(3):
        graph.replay()
    return y.float()


def evicted(torch, own_workspace):
    """A graph is evicted with its pool, in which lies the workspace that another graph uses, or that only it used."""
    small = torch.randn(64, 64, device="cuda")

    def with_workspace():
        # 64 MiB: a segment of its own, which the cache gives back when it is emptied.
        workspace = torch.zeros(4096, 4096, device="cuda")
        return workspace, workspace[:64, :64] + small

    first, (workspace, y) = captured(with_workspace, torch)
    if own_workspace:
        second, (_, z) = captured(with_workspace, torch)
    else:
        second, z = captured(lambda: workspace[:64, :64] + small, torch)
    first.replay()
    second.replay()
    torch.cuda.synchronize()
    first.reset()
    del workspace, y, first
    gc.collect()
    torch.cuda.empty_cache()
    # Somebody else's memory now, so that the replay does not fault.
    other = [torch.ones(4096, 4096, device="cuda") for _ in range(2)]
    second.replay()
    torch.cuda.synchronize()
    del other
    return z


def batches(torch, refreshed):
    """Each batch arrives in a buffer of its own, from which the captured one is refreshed or not."""
    static = torch.randn(4096, 4096, device="cuda")  # 64 MiB: segments of their own
    batch = torch.empty_like(static)
    graph, y = captured(lambda: static * 2 + 1, torch)
    for _ in range(6):
        batch.normal_()
        if refreshed:
            static.copy_(batch)
        graph.replay()
        torch.cuda.synchronize()
    return y


def totals(torch, cleared):
    """A sum that every replay should begin anew."""
    x = torch.randn(64, 64, device="cuda")
    total = torch.zeros(64, 64, device="cuda")

    def step():
        if cleared:
            total.zero_()
        total.add_(x)
        return total * 2

    graph, y = captured(step, torch)
    for _ in range(6):
        graph.replay()
        torch.cuda.synchronize()
    return y


def faulty(name, torch):
    if name == "freed-tensor-map":
        import tensor_map_program

        return tensor_map_program.run(frees_input=True)
    if name == "evicted-workspace":
        return evicted(torch, own_workspace=False)
    if name in ("freed-input", "freed-scratch"):
        # 64 MiB: a segment of its own, which the cache gives back when it is emptied.
        x = torch.randn(4096, 4096, device="cuda")
        small = torch.randn(64, 64, device="cuda")
        step = (lambda: x[:64, :64] + small) if name == "freed-input" else (lambda: x.copy_(x).mul_(1.0)[:64, :64] + small)
        graph, y = captured(step, torch)
        graph.replay()
        torch.cuda.synchronize()
        del x, step
        gc.collect()
        torch.cuda.empty_cache()
        # Somebody else's memory now, so that the replay does not fault.
        other = [torch.zeros(4096, 4096, device="cuda") for _ in range(2)]
        graph.replay()
        torch.cuda.synchronize()
        return other[0]
    x = torch.randn(64, 64, device="cuda")
    try:
        if name == "item-in-capture":
            captured(lambda: x * x.sum().item(), torch)
        else:
            started, done = threading.Event(), threading.Event()

            def allocate():
                started.wait()
                try:
                    torch.empty(64 << 20, device="cuda")
                except RuntimeError as error:
                    print("the other thread:", str(error).splitlines()[0])
                done.set()

            thread = threading.Thread(target=allocate, name="loader")
            thread.start()

            def step():
                y = x + 1
                started.set()
                done.wait()
                return y

            captured(step, torch)
    except RuntimeError as error:
        print("the capture:", str(error).splitlines()[0])
    return x


def sleep_for_ever(torch):
    x = torch.randn(64, 64, device="cuda")
    torch.cuda._sleep(1000)
    (x @ x).relu()
    torch.cuda.synchronize()

    def step():
        y = (x @ x).relu()
        torch.cuda._sleep(1 << 62)
        return y + 1

    other, _ = captured(lambda: x @ x, torch)
    graph, _ = captured(step, torch)
    graph.replay()
    other.replay()  # waits behind it
    torch.cuda.synchronize()


def main():
    name = sys.argv[1]
    if name == "list":
        print("\n".join(healthy()))
        print("\n".join([*FAULTY, *COMPARED, *HANGING]))
        return
    if name.endswith("-expandable"):
        os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "expandable_segments:True"
        name = name.removesuffix("-expandable")
    import torch

    if name in ("rebound-batch", "copied-batch"):
        sys.path.insert(0, str(pathlib.Path(__file__).parents[3] / "assets" / "attach"))
        import train_step

        train_step.train(rebind=name == "rebound-batch")  # prints the losses
        return
    torch.manual_seed(0)
    if name in HANGING:
        sleep_for_ever(torch)
        return
    if name in FAULTY:
        faulty(name, torch)
        return
    kind, _, rest = name.partition("-")
    if name in ("stale-batch", "fresh-batch"):
        result = batches(torch, refreshed=name == "fresh-batch")
    elif name in ("running-total", "cleared-total"):
        result = totals(torch, cleared=name == "cleared-total")
    elif name == "tensor-map":
        import tensor_map_program

        result = tensor_map_program.run(frees_input=False)
    elif kind == "graph":
        module, _, optimizer = rest.partition("-")
        result = graph_program(module, optimizer, torch)
    elif kind == "callables":
        result = callables_program(rest, torch)
    elif kind == "compiled":
        module, _, mode = rest.partition("-")
        result = compiled_program(module, mode, torch)
    else:
        result = special(name, torch)
    torch.cuda.synchronize()
    print(f"checksum {result.detach().double().sum().item():.12g}")


if __name__ == "__main__":
    main()
