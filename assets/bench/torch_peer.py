"""PyTorch's grouped products and an expert layer made of them, timed on request: the peer of
`expertscope bench --suite linear` and `--suite layer`.

The layer is written as explicit calls: forward, then every gradient by its own formula. That is the
work autograd would launch, without its bookkeeping. Its parts:

    forward step         up product, activation, down product; of rows in the order of their experts
    step                 the same, then both input and both weight gradients (and those of biases)
    step, weights kept   FP8 only: the step on weights that were quantized before
    permutation          from the experts of tokens the order of their copies; tokens into it and
                         back, times their probabilities, and the gradients of both
    step from tokens; step from tokens, weights kept: both with that permutation in them. With
                         "top_k": 0 there are none, and permutation is of one copy of each token

Each is one CUDA graph and its element-wise work goes through torch.compile; a case says in its name
where that did not work. FP8 takes one scale per tensor from its amax, E4M3 for gradients too: the
grouped product of torch takes a scale per row, here equal ones, and nothing but E4M3.
"""
import os
import sys
import types

if "serve" not in globals():  # peer_protocol.py is in front of this text where a benchmark runs it
    from peer_protocol import find_torch, refusal, sentence, serve

# Few kernels are compiled: the pool of compilers takes longer to start than they do.
os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")

LARGEST_E4M3 = 448.0
BIAS_ROWS = 16  # rows of ones in the product that sums a bias gradient: the fewest whose stride is aligned

# ---- Grouped products ----------------------------------------------------------------------------


def grouped_mm(torch):
    """By its public name where this torch has one."""
    return getattr(torch.nn.functional, "grouped_mm", None) or torch._grouped_mm


def group_ends(torch, splits):
    return torch.tensor(splits, device="cuda").cumsum(0).to(torch.int32)


def products(torch, n, k, splits):
    """{case: {part: call}}; every operand lives as long as its calls."""
    tokens, experts = sum(splits), len(splits)
    options = {"device": "cuda", "dtype": torch.bfloat16}
    x = torch.randn(tokens, k, **options)
    w = torch.randn(experts, n, k, **options)
    dy = torch.randn(tokens, n, **options)
    ends = group_ends(torch, splits)
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


# ---- Element-wise work of a layer ----------------------------------------------------------------


class Elementwise:
    """What a layer computes between its products, in FP32 and rounded once. Biases are rows of
    [experts, columns], and `experts` is the expert of each row; None = there are none."""

    def __init__(self, torch, activation):
        self.torch = torch
        self.slope = activation["slope"]
        self.limit = activation["limit"]
        self.up_offset = activation["up_offset"]

    def parts(self, h, bias, experts):
        h = h.float()
        if bias is not None:
            h = h + bias.float().index_select(0, experts)
        gate, up = h.chunk(2, dim=-1)
        if self.limit is None:
            return gate, up, None, None
        gate_inside = (gate <= self.limit).float()
        up_inside = (up.abs() <= self.limit).float()
        return gate.clamp(max=self.limit), up.clamp(-self.limit, self.limit), gate_inside, up_inside

    def activate(self, h, bias, experts):
        gate, up, _, _ = self.parts(h, bias, experts)
        return (gate * (gate * self.slope).sigmoid() * (up + self.up_offset)).to(h.dtype)

    def gradient(self, h, bias, experts, da):
        gate, up, gate_inside, up_inside = self.parts(h, bias, experts)
        da = da.float()
        sigmoid = (gate * self.slope).sigmoid()
        d_gate = da * (up + self.up_offset) * sigmoid * (gate * self.slope * (1.0 - sigmoid) + 1.0)
        d_up = da * gate * sigmoid
        if gate_inside is not None:
            d_gate, d_up = d_gate * gate_inside, d_up * up_inside
        return self.torch.cat([d_gate, d_up], dim=-1).to(h.dtype)

    def add_bias(self, y, bias, experts):
        return (y.float() + bias.float().index_select(0, experts)).to(y.dtype)

    # FP8: codes, codes of the transposed tensor, and the factor that codes are multiplied with.

    def quantize(self, values):
        values = values.float()
        amax = values.abs().amax().clamp(min=1e-12)
        codes = (values * (LARGEST_E4M3 / amax)).clamp(-LARGEST_E4M3, LARGEST_E4M3).to(self.torch.float8_e4m3fn)
        return codes, codes.transpose(-2, -1).contiguous(), amax / LARGEST_E4M3

    def activate_quantized(self, h, bias, experts):
        return self.quantize(self.activate(h, bias, experts))

    def gradient_quantized(self, h, bias, experts, da):
        """The gradient too, for that of the bias."""
        dh = self.gradient(h, bias, experts, da)
        return (dh, *self.quantize(dh))

    # Tokens into rows in the order of their experts and back. Copies of a token are next to each other.

    def route(self, experts, copies, top_k):  # the copy in each row, its token, and the row of each copy
        order = experts.argsort(stable=True)
        return order, order // top_k, copies.scatter(0, order, copies)

    def permute(self, tokens, token_of_row):
        return tokens.index_select(0, token_of_row)

    def sum_copies(self, rows, row_of_copy, top_k):
        return rows.index_select(0, row_of_copy).float().unflatten(0, (-1, top_k)).sum(1).to(rows.dtype)

    def unpermute(self, rows, row_of_copy, probabilities, top_k):
        weighted = rows.index_select(0, row_of_copy).float() * probabilities
        return weighted.unflatten(0, (-1, top_k)).sum(1).to(rows.dtype)

    def unpermute_gradient(self, dy, rows, order, token_of_row, row_of_copy, probabilities):
        """Of the rows, and of the probabilities."""
        dy = dy.index_select(0, token_of_row).float()
        return ((dy * probabilities.index_select(0, order)).to(rows.dtype),
                (dy * rows.float()).sum(1).index_select(0, row_of_copy))


ELEMENTWISE = ("activate", "gradient", "add_bias", "quantize", "activate_quantized", "gradient_quantized",
               "route", "permute", "sum_copies", "unpermute", "unpermute_gradient")


def compiled(torch, work):
    """The same work, compiled once for each shape: beyond its limit of shapes torch goes on without
    compiling."""
    import torch._dynamo  # there only once it is imported

    for limit in ("recompile_limit", "cache_size_limit", "accumulated_recompile_limit",
                  "accumulated_cache_size_limit"):  # named differently by version
        if hasattr(torch._dynamo.config, limit):
            setattr(torch._dynamo.config, limit, 1000)
    return types.SimpleNamespace(
        **{name: torch.compile(getattr(work, name), dynamic=False) for name in ELEMENTWISE})


# ---- The layer -----------------------------------------------------------------------------------


class Operands:
    """Of one shape: n columns of H, k of X and Y."""

    def __init__(self, torch, n, k, splits, bias, top_k):
        rows, experts, inner = sum(splits), len(splits), n // 2
        self.top_k = max(top_k, 1)
        tokens = rows // self.top_k
        options = {"device": "cuda", "dtype": torch.bfloat16}
        self.x = torch.randn(rows, k, **options)
        self.dy = torch.randn(rows, k, **options)
        self.x_tokens = torch.randn(tokens, k, **options)
        self.dy_tokens = torch.randn(tokens, k, **options)
        self.wu = torch.randn(experts, n, k, **options) * k ** -0.5
        self.wd = torch.randn(experts, k, inner, **options) * inner ** -0.5
        self.bu = torch.randn(experts, n, **options) if bias else None
        self.bd = torch.randn(experts, k, **options) if bias else None
        self.ends = group_ends(torch, splits)
        self.of_row = torch.repeat_interleave(torch.arange(experts, device="cuda"),
                                              torch.tensor(splits, device="cuda"))
        self.ones = torch.ones(rows, BIAS_ROWS, **options)
        self.copies = torch.arange(rows, device="cuda")
        self.experts = self.of_row.index_select(0, torch.randperm(rows, device="cuda"))  # of copies
        self.probabilities = torch.rand(rows, 1, device="cuda")


class Rows:
    """Where a step begins and ends: at rows in the order of their experts."""
    also = ()  # what else a step has computed

    def __init__(self, operands, work):
        self.o, self.work = operands, work

    def x(self):
        return self.o.x

    def y(self, rows):
        return rows

    def dy(self, y):
        return self.o.dy

    dx = y


class Tokens(Rows):
    """At tokens: x() is called first, dy() after y()."""

    def x(self):
        self.order, self.token_of_row, self.row_of_copy = self.work.route(self.o.experts, self.o.copies, self.o.top_k)
        return self.work.permute(self.o.x_tokens, self.token_of_row)

    def y(self, rows):
        return self.work.unpermute(rows, self.row_of_copy, self.o.probabilities, self.o.top_k)

    def dy(self, y):
        rows, d_probabilities = self.work.unpermute_gradient(
            self.o.dy_tokens, y, self.order, self.token_of_row, self.row_of_copy, self.o.probabilities)
        self.also = (d_probabilities,)
        return rows

    def dx(self, rows):
        return self.work.sum_copies(rows, self.row_of_copy, self.o.top_k)


class Bf16Layer:
    def __init__(self, torch, operands, work):
        self.mm = grouped_mm(torch)
        self.o, self.work = operands, work
        self.rows, self.tokens = Rows(operands, work), Tokens(operands, work)

    def bias_gradient(self, dy):
        """A sum over the rows of each expert: a product with ones."""
        return self.mm(self.o.ones.transpose(-2, -1), dy, offs=self.o.ends)

    def forward(self, x=None):
        """Of rows: H, A and Y."""
        o, work = self.o, self.work
        h = self.mm(o.x if x is None else x, o.wu.transpose(-2, -1), offs=o.ends)
        a = work.activate(h, o.bu, o.of_row)
        y = self.mm(a, o.wd.transpose(-2, -1), offs=o.ends)
        return h, a, y if o.bd is None else work.add_bias(y, o.bd, o.of_row)

    def step(self):
        return self.step_between(self.rows)

    def step_from_tokens(self):
        return self.step_between(self.tokens)

    def step_between(self, ends):
        """Y, dX, dWup, dWdown, then both gradients of biases, then that of the probabilities."""
        o, work = self.o, self.work
        x = ends.x()
        h, a, rows = self.forward(x)
        y = ends.y(rows)
        dy = ends.dy(rows)
        da = self.mm(dy, o.wd, offs=o.ends)
        dwd = self.mm(dy.transpose(-2, -1), a, offs=o.ends)
        dh = work.gradient(h, o.bu, o.of_row, da)
        dx = ends.dx(self.mm(dh, o.wu, offs=o.ends))
        dwu = self.mm(dh.transpose(-2, -1), x, offs=o.ends)
        biases = () if o.bu is None else (self.bias_gradient(dh), self.bias_gradient(dy))
        return (y, dx, dwu, dwd, *biases, *ends.also)

    def permutation(self):
        rows = self.tokens.x()  # of Y too
        y = self.tokens.y(rows)
        dx = self.tokens.dx(self.tokens.dy(rows))
        return (y, dx, *self.tokens.also)

    def calls(self, from_tokens):
        calls = {"forward step": self.forward, "step": self.step, "permutation": self.permutation}
        return {**calls, "step from tokens": self.step_from_tokens} if from_tokens else calls


class Fp8Layer(Bf16Layer):
    """Weight gradients multiply transposed codes: both operands of an FP8 product are read along
    the rows that it sums over."""

    def __init__(self, torch, operands, work, fast):
        super().__init__(torch, operands, work)
        self.torch, self.fast = torch, fast
        self.kept = None

    def product(self, a, a_scale, b, b_scale):
        """a [rows, sum] x b [.., columns, sum], of weights for each expert; or, without experts,
        a [rows, all sums] x b [columns, all sums] cut into the experts' parts."""
        experts = self.o.ends.shape[0]
        if len(b.shape) == 3:
            scales = a_scale.expand(a.shape[0]), b_scale.expand(experts, b.shape[1])
        else:
            scales = a_scale.expand(experts * a.shape[0]), b_scale.expand(experts * b.shape[0])
        return self.torch._scaled_grouped_mm(
            a, b.transpose(-2, -1), *(scale.contiguous() for scale in scales), offs=self.o.ends,
            out_dtype=self.torch.bfloat16, use_fast_accum=self.fast)

    def quantize_weights(self):
        return self.work.quantize(self.o.wu), self.work.quantize(self.o.wd)

    def forward_of(self, weights, x):
        o, work = self.o, self.work
        (wu, _, wu_scale), (wd, _, wd_scale) = weights
        x, xt, x_scale = work.quantize(x)
        h = self.product(x, x_scale, wu, wu_scale)
        a, at, a_scale = work.activate_quantized(h, o.bu, o.of_row)
        y = self.product(a, a_scale, wd, wd_scale)
        y = y if o.bd is None else work.add_bias(y, o.bd, o.of_row)
        return h, y, (xt, x_scale), (at, a_scale)

    def step_of(self, weights, ends):
        o, work = self.o, self.work
        (_, wut, wu_scale), (_, wdt, wd_scale) = weights
        h, rows, x, a = self.forward_of(weights, ends.x())
        y = ends.y(rows)
        dy_values = ends.dy(rows)
        dy, dyt, dy_scale = work.quantize(dy_values)
        da = self.product(dy, dy_scale, wdt, wd_scale)
        dwd = self.product(dyt, dy_scale, *a)
        dh_values, dh, dht, dh_scale = work.gradient_quantized(h, o.bu, o.of_row, da)
        dx = ends.dx(self.product(dh, dh_scale, wut, wu_scale))
        dwu = self.product(dht, dh_scale, *x)
        biases = () if o.bu is None else (self.bias_gradient(dh_values), self.bias_gradient(dy_values))
        return (y, dx, dwu, dwd, *biases, *ends.also)

    def forward(self):
        return self.forward_of(self.quantize_weights(), self.o.x)

    def step_between(self, ends):
        return self.step_of(self.quantize_weights(), ends)

    def step_kept(self, ends=None):
        if self.kept is None:
            self.kept = self.quantize_weights()
        return self.step_of(self.kept, ends or self.rows)

    def step_from_tokens_kept(self):
        return self.step_kept(self.tokens)

    def calls(self, from_tokens):
        calls = {"forward step": self.forward, "step": self.step, "step, weights kept": self.step_kept}
        tokens = {"step from tokens": self.step_from_tokens,
                  "step from tokens, weights kept": self.step_from_tokens_kept}
        return {**calls, **tokens} if from_tokens else calls


def as_graph(torch, call, pool):
    """The call as a graph; all share their memory, of which none reads what another left."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        call()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, pool=pool):
        call()
    return graph.replay


def layer(torch, shape):
    """As products(), of a whole expert layer."""
    activation = shape["activation"]
    if not activation["gated_silu"]:
        return {"torch": {"step": refusal(f"no {activation['name']} here: only gated SiLU")}}
    operands = Operands(torch, shape["n"], shape["k"], shape["splits"], shape["bias"], shape["top_k"])
    work, words = Elementwise(torch, activation), "eager"  # every operation is its own kernel
    try:
        candidate = compiled(torch, work)
        Bf16Layer(torch, operands, candidate).permutation()
        work, words = candidate, "compiled"
    except Exception as error:
        print(f"not compiled: {sentence(error)}", file=sys.stderr, flush=True)
    pool = torch.cuda.graph_pool_handle()
    cases = {}
    for name, of in (("torch bf16", Bf16Layer(torch, operands, work)),
                     ("torch fp8 split", Fp8Layer(torch, operands, work, False)),
                     ("torch fp8 fast", Fp8Layer(torch, operands, work, True))):
        for part, call in of.calls(from_tokens=shape["top_k"] > 0).items():
            graph, timed = words, call
            try:
                call()
                torch.cuda.synchronize()
                timed = as_graph(torch, call, pool)
            except Exception:  # the caller tries it, and says why if it does not work at all
                graph += ", no graph"
            cases.setdefault(f"{name}, {graph}", {})[part] = timed
    return cases


def cases(torch, shape):
    if shape["step"] == "expert-layer":
        return layer(torch, shape)
    return products(torch, shape["n"], shape["k"], shape["splits"])


if __name__ == "__main__":
    serve(find_torch, cases)
