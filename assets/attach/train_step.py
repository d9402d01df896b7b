"""A training step in a CUDA graph, right or with a common mistake.

    expertscope attach -- python train_step.py          # each batch is copied into the captured tensors
    expertscope attach -- python train_step.py rebind   # each batch is bound to new tensors: the graph reads the old ones

Nothing fails in the second: PyTorch has given the memory of the old tensors to others, whatever they hold is trained on.
"""

import sys

import torch
from torch import nn

TOKENS, WIDTH, HEADS, CLASSES, STEPS = 256, 256, 4, 64, 12


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(WIDTH)
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.out = nn.Linear(WIDTH, WIDTH)
        self.mlp = nn.Sequential(nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x):
        q, k, v = self.qkv(self.norm(x)).view(3, HEADS, TOKENS, WIDTH // HEADS)
        x = x + self.out(nn.functional.scaled_dot_product_attention(q, k, v).reshape(TOKENS, WIDTH))
        return x + self.mlp(x)


def load(step):
    generator = torch.Generator(device="cuda").manual_seed(step)
    batch = torch.randn(TOKENS, WIDTH, device="cuda", dtype=torch.bfloat16, generator=generator)
    return batch, torch.randint(CLASSES, (TOKENS,), device="cuda", generator=generator)


def train(rebind):
    torch.manual_seed(0)
    model = nn.Sequential(Block(), Block(), nn.Linear(WIDTH, CLASSES)).to("cuda", torch.bfloat16)
    optimizer = torch.optim.AdamW(model.parameters(), capturable=True, fused=True)
    batch, target = load(0)

    def step():
        optimizer.zero_grad(set_to_none=False)
        loss = nn.functional.cross_entropy(model(batch).float(), target)
        loss.backward()
        optimizer.step()
        return loss

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        loss = step()
    for number in range(1, STEPS):
        if rebind:
            batch, target = load(number)
        else:
            for captured, loaded in zip((batch, target), load(number)):
                captured.copy_(loaded)
        graph.replay()
        print(f"step {number}: loss {loss.item():.4f}")


if __name__ == "__main__":
    train(sys.argv[1:] == ["rebind"])
