"""The settings of the linear step in the rail: what they enable, and the reasons of those that are disabled."""


def enabled(window, name):
    return window.control(name)["enabled"]


def test_backward_settings_wait_for_a_backward_pass(open_window):
    window = open_window()
    window.wait_for_result()
    window.show_all()
    window.centre("step.accumulate")
    for name in ("gradients.source", "step.wgrad_type.1", "step.accumulate", "step.delayed_wgrad",
                 "recipe.gradient_format.1", "recipe.square_dy"):
        assert not enabled(window, name), name
        assert "no backward pass" in window.control(name)["reason"], name
    window.click("step.passes.2")
    window.wait("dY", lambda m: any(
        c["id"] == "gradients.element" and c["enabled"] for c in m["controls"]))
    for name in ("step.wgrad_type.1", "step.accumulate", "recipe.gradient_format.1",
                 "recipe.square_dy"):
        assert enabled(window, name), name
    assert window.state()["request_error"] == ""


def test_cuda_settings_say_why_the_cpu_has_none(open_window):
    window = open_window()
    window.wait_for_result()
    window.centre("engine.streams")
    for name in ("engine.streams", "engine.setup_arrays.1", "engine.workspace.2", "engine.workspace.3",
                 "engine.splits.1", "engine.programmatic", "engine.try_algorithms"):
        control = window.control(name)
        assert not control["enabled"] and control["reason"], name


def test_both_passes_show_the_errors_of_every_product(open_window):
    window = open_window()
    window.wait_for_result()
    window.key("ctrl+2")
    assert not any(c["id"].startswith("numerics.product") for c in window.map()["controls"])
    window.click("step.passes.2")
    window.wait("errors of dX and dW", lambda m: any(
        c["id"] == "numerics.product.2" and c["enabled"] for c in m["controls"]), seconds=20)
