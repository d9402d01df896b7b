"""The Numerics page: layers of the scale map, elements under the run's own recipe, a range on
the histograms, the cost of power-of-two scales, and recipes over steps; on the CPU worker."""
import re


def fields(control):
    return dict(part.split("=") for part in control["value"].split(";"))


def value(window, name):
    return window.control(name)["value"]


def numerics(open_window, **sizes):
    window = open_window(**sizes)
    window.wait_for_result()
    window.key("ctrl+2")
    window.wait("the map", lambda m: any(c["id"] == "numerics.scale_map" for c in m["controls"]))
    window.settle()
    return window


def wait_for(window, name, condition):
    window.wait(name, lambda m: any(c["id"] == name and condition(c) for c in m["controls"]))


def test_layers_of_the_scale_map(open_window):
    window = numerics(open_window)
    assert re.match(r"mean 2\^-\d+\.\d+, std dev \d", value(window, "numerics.map_summary"))
    assert fields(window.control("numerics.scale_map"))["layer"] == "mean"
    window.choose("numerics.map_layer", "underflowed")
    wait_for(window, "numerics.scale_map", lambda c: fields(c)["layer"] == "underflowed")
    window.choose("numerics.map_layer", "std dev")
    wait_for(window, "numerics.scale_map", lambda c: fields(c)["layer"] == "std dev")


def test_a_click_on_a_block_spells_out_an_element(open_window):
    window = numerics(open_window)
    window.click("numerics.scale_map")
    wait_for(window, "numerics.arithmetic", lambda c: "ulp" in c["value"])
    lines = value(window, "numerics.arithmetic").split("\n")
    assert lines[0].startswith("X[")
    original = float(lines[0].split("=")[1])
    factors = re.match(r"(\S+) x (\S+) = (\S+)", lines[3])
    code_value, scale_inv, decoded = (float(part) for part in factors.groups())
    assert abs(code_value * scale_inv - decoded) <= 1e-6 * abs(decoded)
    assert abs(decoded - original) <= abs(original) / 16 + scale_inv / 512
    # Another element of the grid follows the pointer.
    cells = {k: float(v) for k, v in fields(window.control("numerics.cells")).items()}
    x, y = (round(cells["left"] + 1.5 * cells["cell_width"]),
            round(cells["top"] + 0.5 * cells["cell_height"]))
    window.xdotool("mousemove", x + 1, y, "mousemove", x, y)
    place = f"X[{cells['row']:.0f}, {cells['column'] + 1:.0f}]"
    wait_for(window, "numerics.arithmetic", lambda c: c["value"].startswith(place))
    # The run's own elements are not a comparison of recipes.
    window.click("numerics.part.1")
    wait_for(window, "recipes.compare_now", lambda c: True)


def test_a_range_on_a_histogram_is_counted(open_window):
    window = numerics(open_window)
    assert value(window, "numerics.selection") == "none"
    window.drag("numerics.value_histogram", 60)
    wait_for(window, "numerics.selection", lambda c: c["value"] != "none")
    first = fields(window.control("numerics.selection"))
    assert float(first["from"]) < float(first["to"])
    elements = float(fields(window.control("numerics.value_histogram"))["elements"])
    assert 0 < float(first["before"]) <= elements
    # A magnitude is no scale: of those nothing is counted.
    assert set(first) == {"from", "to", "before", "after", "amax"}
    # A drag over the scales replaces the range of the values, and counts nothing else.
    window.drag("numerics.scale_histogram", -40)
    wait_for(window, "numerics.selection", lambda c: c["value"] != "none" and "scale" in fields(c))
    assert set(fields(window.control("numerics.selection"))) == {"from", "to", "scale"}
    window.click("numerics.amax_histogram")
    wait_for(window, "numerics.selection", lambda c: c["value"] == "none")


def test_a_chosen_element_stays_through_recipes(open_window):
    window = numerics(open_window)
    window.click("numerics.lower.1")
    window.click("numerics.inspect")
    wait_for(window, "numerics.cells", lambda c: True)
    window.type_number("numerics.sample_row", "40")
    wait_for(window, "numerics.arithmetic", lambda c: c["value"].startswith("X[40, 0]"))
    window.click("recipe.scaling.1")
    window.wait("the other recipe", lambda m: not m["state"]["stale"])
    # The elements of the new run are requested by themselves, at the same place.
    wait_for(window, "numerics.arithmetic", lambda c: c["value"].startswith("X[40, 0]")
             and "numerics.cells" in {one["id"] for one in window.map()["controls"]})
    window.click("recipe.scaling.0")
    window.wait("BF16", lambda m: all(c["id"] != "numerics.cells" for c in m["controls"]))
    window.click("recipe.scaling.2")
    wait_for(window, "numerics.arithmetic", lambda c: c["value"].startswith("X[40, 0]"))


def test_the_plot_of_amax_says_what_it_counts(open_window):
    """One per block where a recipe keeps them, one per expert under NVFP4, none under MXFP8, and why."""
    window = numerics(open_window)
    scales = value(window, "numerics.scale_histogram")
    assert value(window, "numerics.amax_histogram") == scales
    window.click("recipe.scaling.4")
    wait_for(window, "numerics.amax_histogram",
             lambda c: c["value"].startswith("MXFP8 writes a scale for every 32 elements"))
    window.click("recipe.scaling.5")
    wait_for(window, "numerics.amax_histogram", lambda c: c["value"] == "8")
    assert int(value(window, "numerics.scale_histogram")) > 8


def over_steps(window):
    window.click("numerics.part.1")
    window.click("recipes.over.1")


def step_now(window):
    window.click("steps.step_now")
    window.wait("steps", lambda m: m["state"]["comparisons"] > 0 and not m["state"]["comparing"])


def test_scrubber_follows_mouse_keys_and_play(open_window):
    window = numerics(open_window)
    over_steps(window)
    step_now(window)
    wait_for(window, "steps.amax", lambda c: fields(c)["step"] == "8")
    # The outlier of step 8 meets a stale scale.
    point = fields(window.control("steps.point"))
    assert int(point["saturated"]) > 0
    current = next(float(snr.split()[0]) for label, snr in point.items() if label.startswith("SNR, "))
    assert current > float(point["SNR"].split()[0]) + 3, "current scaling sees the outlier"
    assert fields(window.control("steps.history"))["rows"] == "16"
    window.key("Right")
    wait_for(window, "steps.amax", lambda c: fields(c)["step"] == "9")
    window.key("Left")
    window.key("Left")
    wait_for(window, "steps.amax", lambda c: fields(c)["step"] == "7")
    window.drag("steps.scale", 60)
    wait_for(window, "steps.amax", lambda c: int(fields(c)["step"]) > 10)
    window.click("steps.experts")
    wait_for(window, "steps.amax", lambda c: int(fields(c)["expert"]) in (3, 4))
    step = int(fields(window.control("steps.amax"))["step"])
    window.click("steps.play")
    wait_for(window, "steps.amax", lambda c: int(fields(c)["step"]) != step)
    window.click("steps.play")
    # Settings that differ from the result are reported, and Step updates it.
    window.click("steps.algorithm.0")
    wait_for(window, "steps.status", lambda c: c["value"].startswith("answers other settings"))
    before = window.state()["comparisons"]
    window.click("steps.step")
    window.wait("new steps", lambda m: m["state"]["comparisons"] > before)
    wait_for(window, "steps.status", lambda c: c["value"].startswith("32 steps"))


def test_an_expert_without_rows_keeps_its_scale(open_window):
    window = numerics(open_window)
    over_steps(window)
    window.type_number("steps.idle_expert", "0")
    step_now(window)
    wait_for(window, "steps.amax", lambda c: fields(c)["step"] == "8")
    used = []
    for step in range(9, 15):
        window.key("Right")
        wait_for(window, "steps.amax", lambda c, s=step: fields(c)["step"] == str(s))
        point = fields(window.control("steps.point"))
        if step > 12:
            assert point["rows"].startswith("none")
            assert point["scale wanted"] == "none"
            used.append(point["scale used"])
    assert len(set(used)) == 1


def test_series_travel_with_the_session(open_window, program):
    from test_window import save_session
    from window_driver import Window
    window = numerics(open_window)
    over_steps(window)
    step_now(window)
    assert window.control("steps.which") is None, "one series leaves nothing to choose"
    before = window.state()["comparisons"]
    window.type_number("steps.outlier_step", "20")
    window.click("steps.step")
    window.wait("other steps", lambda m: m["state"]["comparisons"] > before)
    point = fields(window.control("steps.point"))
    step = fields(window.control("steps.amax"))["step"]
    path = save_session(window)
    window.close()
    with Window(program, window.folder, [str(path), "--no-worker"]) as again:
        state = again.wait("recording", lambda m: m["state"]["from_file"])["state"]
        assert state["comparisons"] == 2
        again.key("ctrl+2")
        over_steps(again)
        # The newest, at its outlier, with the settings it was requested with.
        wait_for(again, "steps.amax", lambda c: fields(c)["step"] == "20")
        assert value(again, "steps.outlier_step") == "20"
        assert value(again, "steps.status").startswith("recorded: 32 steps")
        assert int(fields(again.control("steps.point"))["saturated"]) > 0
        again.choose("steps.which", "outlier at 8")
        wait_for(again, "steps.amax", lambda c: fields(c)["step"] == "8")
        again.key("Right")
        wait_for(again, "steps.amax", lambda c: fields(c)["step"] == "9")
        again.choose("steps.which", "outlier at 20")
        wait_for(again, "steps.amax", lambda c: fields(c)["step"] == "20")
        while fields(again.control("steps.amax"))["step"] != step:
            now = int(fields(again.control("steps.amax"))["step"])
            again.key("Left" if now > int(step) else "Right")
            wait_for(again, "steps.amax", lambda c, n=now: int(fields(c)["step"]) != n)
        assert fields(again.control("steps.point")) == point
