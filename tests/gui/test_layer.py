"""A whole expert layer: its settings in the rail, its picture, what its quantizations cost, and what the recipes keep."""


def fields(control):
    return dict(part.split("=") for part in control["value"].split(";"))


def there(name, condition=lambda c: True):
    return lambda m: any(c["id"] == name and condition(c) for c in m["controls"])


def layer(open_window, **sizes):
    """The Layer view of a run with both passes."""
    window = open_window(**sizes)
    window.wait_for_result()
    window.click("step.passes.2")
    window.key("ctrl+2")
    window.wait("the page", there("numerics.part.2"))
    window.click("numerics.part.2")
    window.click("layer.choose")
    window.wait("the picture", there("layer.tensor.dw-up"), seconds=90)
    window.settle()
    return window


def test_a_linear_step_says_what_to_do(open_window):
    window = open_window()
    window.wait_for_result()
    window.show_all()
    window.centre("step.activation")
    for name in ("step.activation", "step.fused_activation", "step.recompute_activation", "down_weights.source"):
        control = window.control(name)
        assert not control["enabled"] and "choose the expert layer" in control["reason"], name
    window.key("ctrl+2")
    window.wait("the page", there("numerics.part.2"))
    window.click("numerics.part.2")
    window.wait("what to do", there("layer.choose"))
    # The memory of the recipes needs no run of a layer.
    assert "BF16=" in window.control("layer.memory")["value"]
    window.click("layer.choose")
    window.wait("the layer", there("layer.tensor.a"), seconds=90)
    assert window.control("step.kind.1")["value"] == "true"
    window.centre("step.activation")
    assert window.control("step.activation")["enabled"]
    assert window.state()["request_error"] == ""


def test_the_picture_has_every_tensor_and_its_times(open_window):
    window = layer(open_window)
    tensors = ["x", "w-up", "h", "a", "w-down", "y", "dy", "da", "dh", "dx", "dw-down", "dw-up"]
    for name in tensors:
        control = window.control(f"layer.tensor.{name}")
        assert control["visible"], name
        assert int(fields(control)["bytes"]) > 0, name
    assert [name for name in tensors if int(fields(window.control(f"layer.tensor.{name}"))["saved"]) > 0] == [
        "x", "w-up", "h", "a", "w-down"]
    for kernels, stages in {"up": ["quantize", "fprop"], "down": ["quantize", "fprop"],
                            "up_backward": ["dgrad", "wgrad"], "down_backward": ["dgrad", "wgrad"]}.items():
        times = fields(window.control(f"layer.kernels.{kernels}"))
        for stage in stages:
            assert float(times[stage]) > 0, kernels
    # Boxes do not cover each other.
    boxes = [c["rect"] for c in window.map()["controls"] if c["id"].startswith(("layer.tensor.", "layer.kernels."))]
    assert len(boxes) == 18
    for i, a in enumerate(boxes):
        for b in boxes[:i]:
            assert a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1]


def test_a_click_on_an_operand_shows_its_numbers(open_window):
    window = layer(open_window)
    window.click("layer.tensor.a")
    window.wait("This run", there("numerics.scale_map"))
    window.settle()
    assert window.control("numerics.snr")["label"] == "SNR of quantizing A"
    assert window.control("numerics.operand.2")["value"] == "true"
    elements = fields(window.control("numerics.value_histogram"))["elements"]
    window.click("numerics.operand.1")
    window.wait("Wup", there("numerics.snr", lambda c: c["label"] == "SNR of quantizing Wup"))
    assert fields(window.control("numerics.value_histogram"))["elements"] != elements
    # H is no operand: a click on it leads nowhere.
    window.click("numerics.part.2")
    window.wait("the picture", there("layer.tensor.h"))
    window.click("layer.tensor.h")
    window.settle()
    assert window.control("layer.picture")["value"].startswith("tensors=12")


def test_single_elements_of_what_the_step_reads(open_window):
    window = layer(open_window)
    window.click("layer.tensor.w-down")
    window.wait("This run", there("numerics.lower.1"))
    window.settle()
    window.click("numerics.lower.1")
    window.wait("the offer", there("numerics.inspect"))
    window.settle()
    window.click("numerics.inspect")
    # Whichever element: the pointer may rest on one where the button was.
    window.wait("elements of Wdown", there("numerics.arithmetic", lambda c: c["value"].startswith("Wdown[")))
    first = window.control("numerics.arithmetic")["value"].split("\n")[0]
    # Another operand has other values; what the layer computes itself has none to show.
    window.click("numerics.operand.1")
    window.wait("elements of Wup", there("numerics.arithmetic", lambda c: c["value"].startswith("Wup[")))
    assert window.control("numerics.arithmetic")["value"].split("\n")[0].split(" = ")[1] != first.split(" = ")[1]
    for operand in ("numerics.operand.2", "numerics.operand.5"):  # A, dH
        window.click(operand)
        window.settle()
        assert window.control("numerics.arithmetic") is None and window.control("numerics.inspect") is None


def test_recomputed_activations_are_times_of_backward(open_window):
    window = layer(open_window)
    window.click("recipe.scaling.0")
    window.wait("kernels of the activation", there("layer.kernels.activation", lambda c: "activation=" in c["value"]),
                seconds=90)
    window.centre("step.recompute_activation")
    window.click("step.recompute_activation")
    window.wait("the recomputation", there("layer.kernels.activation_backward", lambda c: "A again=" in c["value"]),
                seconds=90)
    forward = fields(window.control("layer.kernels.activation"))
    backward = fields(window.control("layer.kernels.activation_backward"))
    assert set(forward) == {"activation"} and set(backward) == {"A again", "activation"}
    # What backward quantizes is no part of forward's boxes.
    window.click("recipe.scaling.2")
    window.wait("quantize kernels", there("layer.kernels.up_backward", lambda c: "quantize=" in c["value"]), seconds=90)
    assert float(fields(window.control("layer.kernels.down_backward"))["quantize"]) > 0


def test_errors_and_memory_name_the_layers_own(open_window):
    window = layer(open_window)
    gains = fields(window.control("layer.errors"))
    assert set(gains) == {"own", "X", "Wup", "A", "Wdown"}
    assert max(float(gains[name]) for name in ("X", "Wup", "A", "Wdown")) > 0
    memory = fields(window.control("layer.memory"))
    assert len(memory) == 6
    assert int(memory["FP8 block"].split("+")[0]) < int(memory["BF16"].split("+")[0])
    # Its own recipe: what the picture says, and the card.
    kept = {name: int(fields(window.control(f"layer.tensor.{name}"))["saved"])
            for name in ("x", "h", "a", "w-up", "w-down")}
    assert memory["FP8 block"] == f"{kept['x'] + kept['h'] + kept['a']}+{kept['w-up'] + kept['w-down']}"


def test_large_text_scrolls_in_a_small_window(open_window):
    window = layer(open_window, width=1280, height=800)
    for _ in range(6):
        window.key("ctrl+equal")
    window.settle()
    control = window.control("layer.tensor.x")
    assert control["rect"][2] - control["rect"][0] > 104


def from_tokens(open_window, **sizes):
    """The Layer view of a step that begins and ends at tokens, with rows of two experts each."""
    window = layer(open_window, **sizes)
    window.type_number("step.top_k", "2")
    window.wait("the tokens", there("layer.tensor.dprobabilities"), seconds=90)
    window.wait_for_result()
    window.settle()
    return window


def check_apart(window, number):
    boxes = [c for c in window.map()["controls"] if c["id"].startswith(("layer.tensor.", "layer.kernels."))]
    assert len(boxes) == number
    assert all(c["visible"] for c in boxes)
    for i, a in enumerate(boxes):
        for b in boxes[:i]:
            a0, b0 = a["rect"], b["rect"]
            assert a0[2] <= b0[0] or b0[2] <= a0[0] or a0[3] <= b0[1] or b0[3] <= a0[1], (a["id"], b["id"])


def test_tokens_have_boxes_and_so_has_what_permutes_them(open_window):
    window = from_tokens(open_window, width=1280, height=800)
    assert window.control("step.top_k")["value"] == "2"
    # Nothing is cut or covered, though two rows of boxes are more.
    check_apart(window, 27)
    rows = int(fields(window.control("layer.tensor.x"))["bytes"])
    for name in ("x-tokens", "y-tokens", "dy-tokens", "dx-tokens", "dprobabilities"):
        tensor = fields(window.control(f"layer.tensor.{name}"))
        assert 0 < int(tensor["bytes"]) < rows and tensor["saved"] == "0", name
    # The gradient of the probabilities reads the rows of Y.
    kept = {name: int(fields(window.control(f"layer.tensor.{name}"))["saved"]) for name in ("x", "h", "a", "y")}
    assert kept["y"] == int(fields(window.control("layer.tensor.y"))["bytes"])
    memory = fields(window.control("layer.memory"))
    assert int(memory["FP8 block"].split("+")[0]) == sum(kept.values())
    moved = {}
    for name, label in {"permute": "Xt", "unpermute": "Y", "permute_backward": "dYt",
                        "unpermute_backward": "dX"}.items():
        kernels = fields(window.control(f"layer.kernels.{name}"))
        assert set(kernels) == {label, "bytes"}, name
        assert float(kernels[label]) > 0, name
        moved[name] = int(kernels["bytes"])
    y_tokens = int(fields(window.control("layer.tensor.y-tokens"))["bytes"])
    assert moved["permute"] > kept["y"] + y_tokens
    assert moved["permute_backward"] > 2 * kept["y"] + y_tokens
    # A tensor of tokens is no operand; X, which is made of them, is.
    window.click("layer.tensor.x-tokens")
    window.settle()
    assert window.control("layer.picture")["value"] == "tensors=17;kernels=10;arrows=31"
    window.click("layer.tensor.x")
    window.wait("This run", there("numerics.snr", lambda c: c["label"] == "SNR of quantizing X"))
    # Without tokens their boxes are gone again.
    window.click("numerics.part.2")
    window.type_number("step.top_k", "0")
    window.wait("rows alone", there("layer.picture", lambda c: c["value"].startswith("tensors=12;kernels=6;")), seconds=90)


def test_experts_per_token_that_do_not_fit_are_refused(open_window):
    window = layer(open_window)
    window.type_number("step.top_k", "7")
    state = window.wait("the reason", lambda m: m["state"]["request_error"])["state"]
    assert "top_k" in state["request_error"]
    window.type_number("step.top_k", "4")
    window.wait("no reason", lambda m: not m["state"]["request_error"])
