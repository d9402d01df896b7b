"""The rail: what it shows of a request unasked, what it shows on request, and what stands out."""
from window_driver import Window

RAIL_WIDTH = 330


def in_the_rail(window):
    return [c for c in window.map()["controls"]
            if c["id"].split(".")[0] in window.SECTIONS and c["rect"][2] < RAIL_WIDTH]


def wait_control(window, name, condition):
    return window.wait(name, lambda m: any(c["id"] == name and condition(c) for c in m["controls"]))


def test_the_usual_settings_of_a_laptop_run_fit_a_small_screen(open_window):
    window = open_window(width=1280, height=900)
    window.wait_for_result()
    window.settle()
    controls = in_the_rail(window)
    names = {c["id"] for c in controls}
    assert {"shape.rows", "recipe.scaling.2", "measure.cache.1", "measure.ceilings"} <= names
    hidden = [c["id"] for c in controls if not c["visible"]]
    assert not hidden, f"these need scrolling: {hidden}"
    # Of what the step has not, nothing; one choice that this worker refuses is greyed.
    assert [c["id"] for c in controls if not c["enabled"]] == ["engine.launch.1"]


def test_a_section_shows_everything_on_request_and_folds(open_window, program):
    window = open_window()
    window.wait_for_result()
    assert window.control("engine.streams") is None
    window.click("rail.engine.more")
    wait_control(window, "engine.streams", lambda c: not c["enabled"] and c["reason"])
    assert window.control("engine.layers")
    window.click("rail.recipe")
    wait_control(window, "rail.recipe", lambda c: c["value"] == "folded")
    assert window.control("recipe.scaling.2") is None
    # It is remembered.
    window.close_politely()
    with Window(program, window.folder, ["--worker-backend", "cpu"]) as again:
        again.wait_for_result()
        assert again.control("engine.streams") and not again.control("recipe.scaling.2")
        again.click("rail.recipe")
        wait_control(again, "recipe.scaling.2", lambda c: c["enabled"])
        again.click("rail.engine.more")
        again.wait("the usual", lambda m: all(c["id"] != "engine.streams" for c in m["controls"]))


def test_what_is_changed_is_shown_and_what_is_wrong_opens_its_section(open_window):
    window = open_window()
    window.wait_for_result()
    window.click("run.live")
    window.type_number("engine.layers", "3")
    wait_control(window, "engine.layers", lambda c: c["value"] == "3")
    window.click("rail.engine.more")
    window.wait("the usual", lambda m: all(c["id"] != "engine.streams" for c in m["controls"]))
    assert window.control("engine.layers"), "it is not at its default"
    window.click("rail.input")
    wait_control(window, "rail.input", lambda c: c["value"] == "folded")
    window.click("rail.input")
    window.type_number("shape.k", "1000")
    wait_control(window, "run.now", lambda c: not c["enabled"])
    window.click("rail.input")
    window.settle()
    assert window.control("shape.k"), "what blocks the run is in sight"
