"""DeepGEMM's grouped products, timed on request: the peer of `expertscope bench --suite linear
--deepgemm PYTHON`. Needs torch and one of DeepGEMM's wheels (deep_gemm), which compiles its kernels
at their first use: CUDA_HOME names a toolkit with nvcc.

FP8 has 1x128 scales of X and dY and 128x128 scales of W. Rows of an expert are padded to what
DeepGEMM's contiguous layout asks for, and so is the reduction of wgrad, which adds to FP32.
"""
if "serve" not in globals():  # peer_protocol.py is in front of this text where a benchmark runs it
    from peer_protocol import find_torch, refusal, sentence, serve

PADDED_ROWS = 128  # a multiple of it is what every version asks for


def find_deepgemm():
    torch, name = find_torch()
    try:
        import deep_gemm
    except Exception as error:  # a wheel for another torch fails with an undefined symbol
        raise RuntimeError(f"this Python has no DeepGEMM that loads: {sentence(error)}")
    return torch, f"DeepGEMM {getattr(deep_gemm, '__version__', '(unknown version)')}, {name}"


class Operands:
    def __init__(self, torch, deep_gemm, splits):
        try:
            from deep_gemm.utils.math import per_block_cast_to_fp8, per_token_cast_to_fp8
        except ImportError:  # before its utilities were a package
            from deep_gemm.utils import per_block_cast_to_fp8, per_token_cast_to_fp8
        self.torch, self.gemm = torch, deep_gemm
        self.by_token, self.by_block = per_token_cast_to_fp8, per_block_cast_to_fp8
        self.rows = [-(-rows // PADDED_ROWS) * PADDED_ROWS for rows in splits]
        self.expert_of_row = torch.arange(len(splits), device="cuda", dtype=torch.int32).repeat_interleave(
            torch.tensor(self.rows, device="cuda"))
        self.counts = torch.tensor(self.rows, device="cuda", dtype=torch.int32)

    def values(self, *shape):
        return self.torch.randn(*shape, device="cuda", dtype=self.torch.bfloat16)

    def zeros(self, *shape, dtype):
        return self.torch.zeros(*shape, device="cuda", dtype=dtype)

    def fp8_rows(self, columns, reduction):
        """D [rows, columns] of both kinds of products by weights."""
        torch, experts = self.torch, len(self.rows)
        x = self.by_token(self.values(sum(self.rows), reduction), use_ue8m0=False)
        blocks = [self.by_block(self.values(columns, reduction), use_ue8m0=False) for _ in range(experts)]
        w = torch.stack([codes for codes, _ in blocks]), torch.stack([scales for _, scales in blocks])
        d = self.zeros(sum(self.rows), columns, dtype=torch.bfloat16)
        return lambda: self.gemm.m_grouped_fp8_gemm_nt_contiguous(x, w, d, self.expert_of_row)

    def fp8_transposed(self, columns):
        """The columns of an operand of wgrad, expert by expert, with scales of 128 rows each."""
        torch = self.torch
        made = [self.by_token(self.values(columns, rows), use_ue8m0=False) for rows in self.rows if rows > 0]
        codes = torch.cat([one.flatten() for one, _ in made])
        return codes, torch.cat([scales.transpose(0, 1).contiguous() for _, scales in made]).transpose(0, 1)

    def fp8_wgrad(self, n, k):
        dy, x = self.fp8_transposed(n), self.fp8_transposed(k)
        d = self.zeros(len(self.rows), n, k, dtype=self.torch.float32)
        return lambda: self.gemm.k_grouped_fp8_gemm_nt_contiguous(dy, x, d, self.rows, self.counts, d)

    def bf16_rows(self, columns, reduction):
        x, w = self.values(sum(self.rows), reduction), self.values(len(self.rows), columns, reduction)
        d = self.zeros(sum(self.rows), columns, dtype=self.torch.bfloat16)
        return lambda: self.gemm.m_grouped_bf16_gemm_nt_contiguous(x, w, d, self.expert_of_row)

    def bf16_wgrad(self, n, k):
        dy, x = self.values(sum(self.rows), n), self.values(sum(self.rows), k)
        d = self.zeros(len(self.rows), n, k, dtype=self.torch.float32)
        return lambda: self.gemm.k_grouped_bf16_gemm_tn_contiguous(dy, x, d, self.rows, self.counts, d)


def cases(torch, shape):
    if shape["step"] != "linear":
        return {"DeepGEMM": {"step": refusal("DeepGEMM has products, no layer")}}
    import deep_gemm
    n, k, splits = shape["n"], shape["k"], shape["splits"]
    o = Operands(torch, deep_gemm, splits)
    padded = "" if o.rows == list(splits) else ", experts padded to 128 rows"
    made = {"fp8 block": {"fprop": lambda: o.fp8_rows(n, k), "dgrad": lambda: o.fp8_rows(k, n),
                          "wgrad": lambda: o.fp8_wgrad(n, k)},
            "bf16": {"fprop": lambda: o.bf16_rows(n, k), "dgrad": lambda: o.bf16_rows(k, n),
                     "wgrad": lambda: o.bf16_wgrad(n, k)}}

    def attempt(make):
        try:
            return make()
        except Exception as error:  # this version does not have it
            return refusal(sentence(error))

    return {f"DeepGEMM {name}{padded}": {part: attempt(make) for part, make in parts.items()}
            for name, parts in made.items()}


if __name__ == "__main__":
    serve(find_deepgemm, cases)
