"""A change of a control changes the result, as the recorded session file shows."""
import json
import math
import time

from recordings import query


def scale_edges(path, run):
    rows = query(path, "SELECT lower_edge FROM tensor_histogram_bins JOIN tensors USING (run_id, tensor_id) "
                       f"WHERE tensor = 'x' AND kind = 'scale' AND count > 0 AND run_id = {run}")
    assert rows, "the run has no scale histogram"
    return [math.log2(edge) for (edge,) in rows]


def whole(values):
    return all(abs(value - round(value)) < 1e-9 for value in values)


def record(window, act):
    """Records what `act` causes; returns the session file."""
    window.wait_for_result()
    window.click("top.record")
    path = window.wait("recording", lambda m: m["state"]["recording"])["state"]["recording_path"]
    act()
    window.wait_for_result()
    window.click("top.record")
    window.wait("end of the recording", lambda m: not m["state"]["recording"])
    return path


def test_starts_live_with_numbers(open_window):
    window = open_window()
    state = window.wait_for_result()["state"]
    assert state["live"] and state["last_error"] == ""
    assert float(window.control("headline.step")["value"].split()[0]) > 0
    assert "dB" in window.control("headline.snr")["value"]


def test_pow2_click_changes_the_scales(open_window):
    window = open_window()

    def act():
        window.click("recipe.pow2")
        window.wait("pow-2 off", lambda m: not m["state"]["stale"] and any(
            c["id"] == "recipe.pow2" and c["value"] == "false" for c in m["controls"]))
        window.wait_for_result()
        window.click("recipe.pow2")
        window.wait("pow-2 on", lambda m: any(
            c["id"] == "recipe.pow2" and c["value"] == "true" for c in m["controls"]))

    path = record(window, act)
    runs = [run for (run,) in query(path, "SELECT run_id FROM runs ORDER BY run_id")]
    assert len(runs) >= 2
    assert not whole(scale_edges(path, runs[0])), "without pow-2 some scale is not a power of two"
    assert whole(scale_edges(path, runs[-1])), "with pow-2 every scale is one"


def test_epsilon_drag_reaches_the_request(open_window):
    window = open_window()
    path = record(window, lambda: window.drag("recipe.epsilon", 120))
    requests = [json.loads(text) for (text,) in
                query(path, "SELECT request_json FROM runs ORDER BY run_id")]
    assert requests[-1]["recipe"]["amax_epsilon"] > 0


def test_recipe_preset_and_routing(open_window):
    window = open_window()
    window.wait_for_result()

    def act():
        window.click("recipe.scaling.1")
        window.choose("shape.preset", "Laptop tiny")
        window.choose("routing.distribution", "One-hot")
        window.wait("settled request", lambda m: any(
            c["id"] == "routing.distribution" and c["value"] == "One-hot" for c in m["controls"]))

    path = record(window, act)
    (last, text) = query(path, "SELECT run_id, request_json FROM runs ORDER BY run_id")[-1]
    request = json.loads(text)
    assert request["recipe"]["scaling"] == "fp8-per-tensor"
    assert request["shape"]["preset"] == "Laptop tiny"
    splits = [tokens for (tokens,) in
              query(path, f"SELECT tokens FROM splits WHERE run_id = {last} ORDER BY expert")]
    assert splits[0] == int(request["shape"]["rows"]) and sum(splits[1:]) == 0


def test_invalid_n_is_reported_at_its_control(open_window):
    window = open_window()
    before = window.wait_for_result()["state"]["requested_id"]
    window.type_number("shape.n", "1000")
    state = window.wait("message", lambda m: m["state"]["request_error"] != "")
    assert "n is 1000" in state["state"]["request_error"]
    assert "multiple of 16" in window.control("error.shape.n")["value"]
    run = window.control("run.now")
    assert not run["enabled"] and "1000" in run["reason"]
    assert window.state()["requested_id"] == before, "an invalid request was sent"
    window.type_number("shape.n", "64*4")
    window.wait("no message", lambda m: m["state"]["request_error"] == "")
    window.wait_for_result()
    assert window.control("shape.n")["value"] == "256"


def number(window, name):
    return int(window.control(name)["value"])


def begin_typing(window, name):
    time.sleep(0.7)  # not the second click of a double click
    window.click(name)
    window.wait(f"{name} to take text", lambda m: any(
        c["id"] == name and c["kind"] == "input" for c in m["controls"]), 5)


def is_number(name, wanted):
    return lambda m: any(c["id"] == name and c["value"] == str(wanted) and c["kind"] == "drag"
                         for c in m["controls"])


def test_escape_leaves_the_number(open_window):
    window = open_window("--worker-backend", "cpu")
    window.wait_for_result()
    before = number(window, "shape.experts")
    begin_typing(window, "shape.experts")
    window.xdotool("type", "--delay", 12, "512")
    window.xdotool("key", "Escape")
    window.wait("the old number", is_number("shape.experts", before))


def test_tab_takes_the_number_and_moves_on(open_window):
    window = open_window("--worker-backend", "cpu")
    window.wait_for_result()
    begin_typing(window, "shape.experts")
    # Taps of 12 ms, faster than frames of a slow machine: none may be lost.
    window.xdotool("type", "--delay", 12, "4")
    window.xdotool("key", "Tab")
    window.xdotool("type", "--delay", 12, "1152")
    window.xdotool("key", "Tab", "shift+Tab", "Escape")
    window.wait("the experts", is_number("shape.experts", 4))
    window.wait("the tokens", is_number("shape.rows", 1152))
    window.wait("the result", lambda m: not m["state"]["stale"])


def test_a_tap_of_tab_moves_one_field_on_in_a_slow_window(open_window):
    window = open_window("--worker-backend", "cpu")
    window.wait_for_result()
    others = {name: number(window, name) for name in ("shape.n", "shape.k")}
    begin_typing(window, "shape.experts")
    with window.slowed():
        window.xdotool("type", "--delay", 12, "4")
        window.xdotool("key", "Tab")
        window.xdotool("type", "--delay", 12, "1152")
        window.xdotool("key", "Return")
        window.wait("the experts", is_number("shape.experts", 4))
        window.wait("the tokens", is_number("shape.rows", 1152))
    assert {name: number(window, name) for name in others} == others


def test_a_full_text_field_says_how_much_it_keeps(open_window):
    window = open_window("--no-worker")
    window.key("ctrl+shift+p")
    window.wait("the palette", lambda m: any(c["id"] == "palette.filter" for c in m["controls"]))

    def has_note(current):
        return any(c["id"] == "full.palette.filter" and "at most 200 bytes" in c["value"] for c in current["controls"])

    window.xdotool("type", "--delay", 2, "run " * 49)
    filled = window.wait("196 letters", lambda m: any(
        c["id"] == "palette.filter" and len(c["value"]) == 196 for c in m["controls"]))
    assert not has_note(filled)
    window.xdotool("type", "--delay", 2, "zipf and more")
    # The note comes with the last letters that fit, in a slow window a frame before them.
    window.wait("the note beside 200 letters", lambda m: has_note(m) and any(
        c["id"] == "palette.filter" and len(c["value"]) == 200 for c in m["controls"]))
    for _ in range(4):
        window.press("BackSpace")
    window.wait("no note", lambda m: not has_note(m))


def test_text_that_is_no_number_in_range_is_refused(open_window):
    window = open_window("--worker-backend", "cpu")
    window.wait_for_result()
    before = number(window, "shape.rows")
    runs = window.state()["runs"]
    for text, why in (("999999999", "999999999 must be between 0 and 16777216"),
                      ("-5", "-5 must be between 0 and 16777216"), ("1.5", "1.5 is not a whole number"),
                      ("abc", "abc is not a number")):
        window.type_number("shape.rows", text)
        window.wait(f"why {text} is refused", lambda m: any(
            c["id"] == "refused.shape.rows" and why in c["value"] for c in m["controls"]))
        assert number(window, "shape.rows") == before
    assert window.state()["runs"] == runs
    window.type_number("shape.rows", "2*512")
    window.wait("the number", is_number("shape.rows", 1024))
    window.wait("no refusal", lambda m: all(c["id"] != "refused.shape.rows" for c in m["controls"]))


def test_a_number_with_a_fraction_is_shown_as_typed(open_window):
    window = open_window("--worker-backend", "cpu")
    window.wait_for_result()
    window.type_number("engine.median_within", "50")
    for typed, shown in (("2.5", "2.5"), ("0.25", "0.25")):
        window.type_number("engine.time_limit", typed)
        window.wait(f"a limit of {shown} s", lambda m: any(
            c["id"] == "engine.time_limit" and c["kind"] == "drag" and c["value"] == shown for c in m["controls"]))
    # Another number is chosen by hand: the fraction must still be there.
    window.type_number("shape.rows", "512")
    window.wait_for_result()
    assert window.control("engine.time_limit")["value"] == "0.25"
    window.type_number("engine.time_limit", "0.05")
    window.wait("the limit of the limit", lambda m: any(
        c["id"] == "refused.engine.time_limit" and "must be between 0.1 and 3600" in c["value"] for c in m["controls"]))
    window.type_number("engine.time_limit", "2.5")
    time.sleep(0.7)  # not the second press of a double click
    window.drag("engine.time_limit", 30)
    dragged = float(window.control("engine.time_limit")["value"])
    assert 2.5 < dragged < 4 and round(10 * dragged, 6) == round(10 * dragged)


def test_a_refusal_outlives_tab_and_arrows_do_not_step_it(open_window):
    window = open_window("--worker-backend", "cpu")
    window.wait_for_result()
    before = number(window, "shape.experts")
    for key in ("Tab", "Up"):
        begin_typing(window, "shape.experts")
        window.xdotool("type", "--delay", 12, "abc")
        window.xdotool("key", key)
        window.wait("the refusal", lambda m: any(
            c["id"] == "refused.shape.experts" and "abc is not a number" in c["value"]
            for c in m["controls"]))
        window.xdotool("key", "Escape")
        window.settle()
        assert window.control("refused.shape.experts") is not None
        assert number(window, "shape.experts") == before
