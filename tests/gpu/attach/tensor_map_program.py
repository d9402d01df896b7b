"""A Triton kernel that reads its input through a tensor map (TMA, compute capability 9.0 or newer): for torch_programs.py."""

import gc

import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

ROWS, COLUMNS = 32, 32


@triton.jit
def copy_tiles(source, target, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    row = tl.program_id(0) * ROWS
    tile = source.load([row, 0])
    rows = row + tl.arange(0, ROWS)
    tl.store(target + rows[:, None] * COLUMNS + tl.arange(0, COLUMNS)[None, :], tile)


def run(frees_input):
    # 64 MiB: a segment of its own, which the cache gives back when it is emptied.
    x = torch.randn(1 << 19, COLUMNS, device="cuda")
    y = torch.empty(4 * ROWS, COLUMNS, device="cuda")

    def step():
        copy_tiles[(4,)](TensorDescriptor.from_tensor(x, [ROWS, COLUMNS]), y, ROWS, COLUMNS)

    step()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    graph.replay()
    torch.cuda.synchronize()
    if frees_input:
        del x, step
        gc.collect()
        torch.cuda.empty_cache()
        # Somebody else's memory now, so that the replay does not fault.
        other = [torch.zeros(1 << 19, COLUMNS, device="cuda") for _ in range(2)]
        graph.replay()
        torch.cuda.synchronize()
        return other[0]
    graph.replay()
    torch.cuda.synchronize()
    return y
