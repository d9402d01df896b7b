"""What the PyTorch peer of the benchmarks computes, with numpy in torch's place: an expert layer
whose gradients are those of its forward pass.

Usage: torch_peer_test.py ASSETS SUPPORT
"""

import importlib.util
import sys
import types
import unittest

import numpy as np

ASSETS, SUPPORT = sys.argv.pop(1), sys.argv.pop(1)
sys.path.insert(0, SUPPORT + "/numpy_torch")
import torch  # noqa: E402  the one on numpy

sys.path.insert(0, ASSETS + "/bench")
import peer_protocol  # noqa: E402

spec = importlib.util.spec_from_file_location("torch_peer", ASSETS + "/bench/torch_peer.py")
peer = importlib.util.module_from_spec(spec)
spec.loader.exec_module(peer)

SWIGLU = {"name": "swiglu", "gated_silu": True, "slope": 1.0, "limit": None, "up_offset": 0.0}
CLAMPED = {"name": "clamped-swiglu", "gated_silu": True, "slope": 1.702, "limit": 0.7, "up_offset": 1.0}
SPLITS = [32, 0, 16, 48]
TOP_K = 3
SHAPE = {"step": "expert-layer", "n": 64, "k": 48, "splits": SPLITS, "top_k": TOP_K}


def operands(bias):
    return peer.Operands(torch, SHAPE["n"], SHAPE["k"], SPLITS, bias, TOP_K)


def loss(layer, from_tokens=False):
    """Whose gradient of Y is dY."""
    if from_tokens:
        return float((layer.step_from_tokens()[0].values * layer.o.dy_tokens.values).sum())
    return float((layer.forward()[2].values * layer.o.dy.values).sum())


def snr_db(reference, values):
    return 10 * np.log10((reference ** 2).sum() / ((reference - values) ** 2).sum())


class Layer(unittest.TestCase):
    def check_gradients(self, activation, bias, from_tokens):
        o = operands(bias)
        layer = peer.Bf16Layer(torch, o, peer.Elementwise(torch, activation))
        step = layer.step_from_tokens if from_tokens else layer.step
        _, dx, dwu, dwd, *of_biases = (one.values for one in step())
        gradients = [(o.x_tokens if from_tokens else o.x, dx), (o.wu, dwu), (o.wd, dwd)]
        if from_tokens:
            gradients.append((o.probabilities, of_biases.pop()[:, np.newaxis]))
        if bias:
            gradients += [(o.bu, of_biases[0][:, 0]), (o.bd, of_biases[1][:, 0])]
        generator = np.random.default_rng(2)
        for operand, gradient in gradients:
            self.assertEqual(operand.shape, gradient.shape)
            for _ in range(20):
                at = tuple(generator.integers(0, extent) for extent in operand.shape)
                value, step = operand.values[at], 1e-6
                operand.values[at] = value + step
                above = loss(layer, from_tokens)
                operand.values[at] = value - step
                slope = (above - loss(layer, from_tokens)) / (2 * step)
                operand.values[at] = value
                self.assertAlmostEqual(slope, gradient[at], delta=1e-5 * max(1, abs(slope)))

    def test_gradients_are_those_of_the_forward_pass(self):
        for activation in (SWIGLU, CLAMPED):
            for bias in (False, True):
                for from_tokens in (False, True):
                    with self.subTest(activation=activation["name"], bias=bias, from_tokens=from_tokens):
                        self.check_gradients(activation, bias, from_tokens)

    def test_fp8_computes_the_same_within_its_error(self):
        for bias in (False, True):
            o = operands(bias)
            # Without a limit: a value that rounds across one changes its whole gradient.
            work = peer.Elementwise(torch, SWIGLU)
            plain = peer.Bf16Layer(torch, o, work)
            layer = peer.Fp8Layer(torch, o, work, fast=False)
            for exact, steps in ((plain.step(), (layer.step, layer.step_kept)),
                                 (plain.step_from_tokens(), (layer.step_from_tokens, layer.step_from_tokens_kept))):
                for step in steps:
                    for a, b in zip(exact, step(), strict=True):
                        self.assertEqual(a.shape, b.shape)
                        self.assertGreater(snr_db(a.values, b.values), 18)

    def test_kept_weights_are_quantized_once(self):
        work = peer.Elementwise(torch, SWIGLU)
        quantized = []
        quantize = work.quantize
        work.quantize = lambda values: quantized.append(values) or quantize(values)
        layer = peer.Fp8Layer(torch, operands(False), work, fast=True)
        layer.step()
        weights = [one is layer.o.wu or one is layer.o.wd for one in quantized]
        self.assertEqual(sum(weights), 2)
        quantized.clear()
        for _ in range(3):
            layer.step_kept()
        weights = [one is layer.o.wu or one is layer.o.wd for one in quantized]
        self.assertEqual(sum(weights), 2)
        torch.launched.clear()
        layer.step_kept()
        self.assertEqual(torch.launched, ["fp8 fast"] * 6)

    def test_tokens_come_back_from_their_permutation(self):
        o = operands(False)
        layer = peer.Bf16Layer(torch, o, peer.Elementwise(torch, SWIGLU))
        rows = layer.tokens.x().values
        experts, token = o.experts.values, np.arange(sum(SPLITS)) // TOP_K
        np.testing.assert_array_equal(np.bincount(experts, minlength=len(SPLITS)), SPLITS)
        by_hand = [o.x_tokens.values[token[copy]] for expert in range(len(SPLITS))
                   for copy in range(sum(SPLITS)) if experts[copy] == expert]
        np.testing.assert_array_equal(rows, by_hand)
        y, dx, d_probabilities = (one.values for one in layer.permutation())
        weights = o.probabilities.values.reshape(-1, TOP_K).sum(1, keepdims=True)
        np.testing.assert_allclose(y, o.x_tokens.values * weights)
        np.testing.assert_allclose(dx, o.dy_tokens.values * weights)
        products = (o.dy_tokens.values * o.x_tokens.values).sum(-1)
        np.testing.assert_allclose(d_probabilities, products[token])


class Answers(unittest.TestCase):
    def open(self, **changes):
        return peer_protocol.Peer(torch, peer.cases).open({**SHAPE, "bias": False, "activation": SWIGLU, **changes})["cases"]

    def test_a_layer_has_its_parts_and_says_how_it_runs(self):
        cases = {one["name"]: one["parts"] for one in self.open()}
        fp8 = ["forward step", "step", "step, weights kept", "step from tokens", "step from tokens, weights kept"]
        self.assertEqual(cases, {"torch bf16, eager": ["forward step", "step", "permutation", "step from tokens"],
                                 "torch fp8 split, eager": fp8, "torch fp8 fast, eager": fp8})

    def test_rows_that_arrive_in_order_have_no_tokens(self):
        cases = {one["name"]: one["parts"] for one in self.open(top_k=0)}
        fp8 = ["forward step", "step", "step, weights kept"]
        self.assertEqual(cases, {"torch bf16, eager": ["forward step", "step", "permutation"],
                                 "torch fp8 split, eager": fp8, "torch fp8 fast, eager": fp8})

    def test_with_a_compiler_every_shape_is_compiled(self):
        config = types.SimpleNamespace(cache_size_limit=8)
        torch._dynamo = sys.modules["torch._dynamo"] = types.SimpleNamespace(config=config)
        self.addCleanup(sys.modules.pop, "torch._dynamo")
        refuse, torch.compile = torch.compile, lambda call, dynamic: call
        self.addCleanup(setattr, torch, "compile", refuse)
        cases = {one["name"]: one["parts"] for one in self.open(bias=True, activation=CLAMPED)}
        self.assertEqual(list(cases), [f"torch {one}, compiled" for one in ("bf16", "fp8 split", "fp8 fast")])
        self.assertGreater(config.cache_size_limit, 100)

    def test_without_graphs_the_name_says_so(self):
        graph = torch.cuda.graph
        torch.cuda.graph = None
        self.addCleanup(setattr, torch.cuda, "graph", graph)
        self.assertEqual([one["name"] for one in self.open()],
                         [f"torch {one}, eager, no graph" for one in ("bf16", "fp8 split", "fp8 fast")])

    def test_what_this_torch_lacks_is_named(self):
        scaled = torch._scaled_grouped_mm

        def without_weight_gradients(a, b, *more, **options):
            if len(b.shape) == 2:
                raise RuntimeError("only 3D weights\nwith a trace")
            return scaled(a, b, *more, **options)
        torch._scaled_grouped_mm = without_weight_gradients
        self.addCleanup(setattr, torch, "_scaled_grouped_mm", scaled)
        missing = [one for one in self.open() if "missing" in one]
        self.assertEqual([one["missing"] for one in missing],
                         [f"{part}: only 3D weights" for part in
                          ("step", "step, weights kept", "step from tokens", "step from tokens, weights kept")] * 2)
        self.assertEqual({one["name"] for one in missing},
                         {f"torch fp8 {one}, eager, no graph" for one in ("split", "fast")})

    def test_other_activations_are_refused(self):
        cases = self.open(activation={**SWIGLU, "name": "geglu", "gated_silu": False})
        self.assertEqual(cases, [{"name": "torch", "missing": "step: no geglu here: only gated SiLU"}])


if __name__ == "__main__":
    unittest.main(verbosity=2)
