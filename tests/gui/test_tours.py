"""Tours: played, stepped and stopped with real keys and mouse; the user's own request survives."""
import json
import os
import pathlib
import shutil
import subprocess

import pytest

from window_driver import Display

np = pytest.importorskip("numpy")

TOURS = pathlib.Path(__file__).resolve().parents[2] / "assets" / "tours"


def tour_state(current):
    entry = next((c for c in current["controls"] if c["id"] == "tour.state"), None)
    return dict(part.split("=", 1) for part in entry["value"].split(";")) if entry else {}


def at_step(window, number, shown="true"):
    return window.wait(f"step {number}", lambda m: tour_state(m).get("step") == str(number)
                       and tour_state(m)["shown"] == shown, 60)


def play(window, title):
    window.click("top.recent")
    current = window.wait("tours", lambda m: any(c["id"].startswith("tours.")
                                                 for c in m["controls"]))
    entry = next(c for c in current["controls"] if title in c["label"])
    window.settle()
    window.click(entry["id"])


def test_live_tour_by_keys_keeps_the_users_request(open_window):
    window = open_window()
    window.wait_for_result()
    window.type_number("shape.rows", "768")
    window.wait_for_result()
    play(window, "Power-of-two")
    at_step(window, 1)
    window.key("space")
    window.wait("a pause", lambda m: tour_state(m).get("playing") == "false")
    window.key("Right")
    current = at_step(window, 2)
    assert current["state"]["page"] == "numerics"
    assert window.control("recipe.pow2")["value"] == "false"
    window.key("Left")
    at_step(window, 1)
    assert window.control("recipe.pow2")["value"] == "true"
    assert window.control("shape.rows")["value"] == "1024"
    window.key("Escape")
    window.wait("the own request", lambda m: any(
        c["id"] == "shape.rows" and c["value"] == "768" for c in m["controls"])
        and m["state"]["page"] == "performance" and m["state"]["live"])
    assert not tour_state(window.map())


def test_recorded_tour_by_mouse_without_a_worker(open_window):
    window = open_window("--no-worker")
    play(window, "workspace bug")
    current = at_step(window, 1)
    assert current["state"]["page"] == "graphs" and current["state"]["from_file"]
    window.click("tour.pause")
    window.click("tour.next")
    at_step(window, 2)
    window.wait("the graph", lambda m: any(c["id"] == "graphs.topology" for c in m["controls"]))
    window.click("tour.next")
    at_step(window, 3)
    window.click("tour.next")
    at_step(window, 4)
    assert not any(c["id"] == "tour.next" for c in window.map()["controls"]), "the last step leads out of the tour"
    window.click("tour.done")
    window.wait("live again", lambda m: not m["state"]["from_file"] and not tour_state(m))
    assert not window.state()["session_path"], "the recording that the tour opened is closed"


def test_back_to_my_runs_ends_a_tour(open_window):
    window = open_window("--no-worker")
    play(window, "workspace bug")
    at_step(window, 1)
    window.wait("the tour's recording", lambda m: m["state"]["from_file"])
    window.settle()
    window.click("top.live")
    window.wait("my runs", lambda m: not m["state"]["from_file"] and not tour_state(m))
    window.settle()
    assert not window.state()["session_path"], "the recording that the tour opened is closed"


def test_request_log_is_a_tour(open_window, tmp_path):
    log = tmp_path / "two.jsonl"
    base = {"shape": {"num_experts": 4, "rows": 256, "n": 256, "k": 256},
            "backend": "cpu-reference", "launch": {"kind": "eager", "iterations": 3}}
    log.write_text(json.dumps({**base, "caption": "A small one"}) + "\n"
                   + json.dumps({**base, "seed": 2}) + "\n")
    window = open_window(str(log))
    current = at_step(window, 1)
    assert any("A small one" in c["value"] for c in current["controls"])
    window.key("Right")
    at_step(window, 2)
    assert window.control("input.seed")["value"] == "2"


def test_broken_tour_is_refused_with_a_reason(open_window, tmp_path):
    broken = tmp_path / "broken.json"
    broken.write_text('{"steps": [{"name": "x"}]}')
    window = open_window(str(broken), "--no-worker")
    window.wait("a reason", lambda m: any("Not played" in c["value"] and "broken.json" in c["value"]
                                          for c in m["controls"]))


def test_a_step_selects_ranges(open_window, tmp_path):
    sample = pathlib.Path(__file__).resolve().parents[2] / "assets" / "sessions" / "h200_layer.session"
    tour = tmp_path / "ranges.json"
    step = {"caption": "Look here.", "recording": str(sample), "run": 0}
    tour.write_text(json.dumps({"title": "Ranges", "steps": [
        {"name": "1", "page": "performance", "select": {"timeline_ms": [10, 50]}, **step},
        {"name": "2", "page": "numerics", "select": {"values_log2": [-4, 0]}, **step}]}))
    window = open_window(str(tour), "--no-worker")
    at_step(window, 1)
    window.wait("the range in time", lambda m: any(
        c["id"] == "performance.timeline" and "selected_from_ns=10000000;selected_to_ns=50000000"
        in c["value"] for c in m["controls"]))
    window.click("tour.next")
    at_step(window, 2)
    window.wait("the range of values", lambda m: any(
        c["id"] == "numerics.selection" and c["value"].startswith("from=-4.0000;to=0.0000")
        for c in m["controls"]))
    broken = tmp_path / "none.json"
    broken.write_text(json.dumps({"title": "None", "steps": [
        {"name": "1", "page": "numerics", "select": {"values_log2": [3, 3]}, **step}]}))
    window.close()
    other = open_window(str(broken), "--no-worker")
    other.wait("the reason", lambda m: any("selects neither" in c["value"] for c in m["controls"]))


def selected_time(current):
    value = next((c["value"] for c in current["controls"] if c["id"] == "performance.timeline"), "")
    return "selected_from_ns=10000000;selected_to_ns=50000000" in value


def test_a_selection_of_a_tour_does_not_outlast_its_step(open_window, tmp_path):
    """Neither on a page that the tour leaves, nor on its own page, nor after the tour."""
    sample = tmp_path / "h200_layer.session"
    shutil.copy(TOURS.parent / "sessions" / "h200_layer.session", sample)
    tour = tmp_path / "ranges.json"
    step = {"caption": "Look here.", "recording": str(sample), "run": 0}
    selects = {"page": "performance", "select": {"timeline_ms": [10, 50], "expert": 5}, **step}
    tour.write_text(json.dumps({"title": "Ranges", "steps": [
        {"name": "1", **selects}, {"name": "2", "page": "numerics", **step}, {"name": "3", **selects}]}))
    window = open_window(str(sample), "--no-worker")
    window.wait("the recording", lambda m: m["state"]["from_file"])
    window.open_file(tour)
    at_step(window, 1)
    window.wait("the selection", selected_time)
    window.click("tour.next")
    at_step(window, 2)
    window.settle()
    window.key("ctrl+1")
    window.wait("no selection on the page that the tour left", lambda m: m["state"]["page"] == "performance"
                and window.control("performance.timeline") and not selected_time(m))
    window.click("tour.next")
    at_step(window, 3)
    window.wait("the selection again", selected_time)
    window.click("tour.done")
    window.wait("no tour", lambda m: not tour_state(m))
    window.wait("no selection after the tour", lambda m: window.control("performance.timeline") and not selected_time(m))


def test_a_step_selects_an_expert(open_window, tmp_path):
    tour = tmp_path / "expert.json"
    sample = pathlib.Path(__file__).resolve().parents[2] / "assets" / "sessions" / "h200_layer.session"
    tour.write_text(json.dumps({"title": "Expert", "steps": [
        {"name": "1", "caption": "This one.", "page": "numerics", "recording": str(sample),
         "run": 0, "select": {"expert": 5}},
        {"name": "2", "caption": "None.", "page": "numerics", "recording": str(sample),
         "run": 0}]}))
    window = open_window(str(tour), "--no-worker")
    at_step(window, 1)
    window.wait("the expert", lambda m: selected_expert(m, "numerics.snr_per_expert") == "5")
    window.click("tour.next")
    at_step(window, 2)
    window.wait("no expert", lambda m: selected_expert(m, "numerics.snr_per_expert") == "-1")


def selected_expert(current, plot):
    value = next((c["value"] for c in current["controls"] if c["id"] == plot), "")
    return dict(part.split("=") for part in value.split(";") if "=" in part).get("selected")


def click_bar(window, plot, expert, experts):
    """A bar of the plot; its axis takes room on the left that the map does not include."""
    x0, y0, x1, y1 = window.control(plot)["rect"]
    left = x0 + 46
    x = round(left + (x1 - 8 - left) * (expert + 0.5) / experts)
    y = round((y0 + y1) / 2)
    window.xdotool("mousemove", x + 1, y, "mousemove", x, y)
    window.seen("the pointer")
    window.xdotool("mousedown", 1)
    window.seen("the press")
    window.xdotool("mouseup", 1)
    window.seen("the release")


def drag_over(window, plot, first, second):
    x0, y0, x1, y1 = window.control(plot)["rect"]
    y = round(y0 + 0.35 * (y1 - y0))
    places = [round(x0 + part * (x1 - x0)) for part in (first, (first + second) / 2, second)]
    window.xdotool("mousemove", places[0], y)
    window.seen("the pointer")
    window.xdotool("mousedown", 1)
    window.seen("the press")
    for place in places[1:]:
        window.xdotool("mousemove", place, y)
        window.seen("the move")
    window.xdotool("mouseup", 1)
    window.seen("the release")


def say(window, words):
    window.click("tour_keeper.words")
    window.wait("the field", lambda m: any(
        c["id"] == "tour_keeper.words" for c in m["controls"]))
    window.xdotool("type", "--delay", 40, words)
    window.wait("the words", lambda m: any(
        c["id"] == "tour_keeper.words" and c["value"] == words for c in m["controls"]))


def test_a_kept_tour_plays_what_was_selected(open_window, tmp_path):
    shipped = pathlib.Path(__file__).resolve().parents[2] / "assets" / "sessions" / "h200_layer.session"
    # A copy: the tour is written next to it.
    sample = pathlib.Path(shutil.copy(shipped, tmp_path))
    window = open_window(str(sample), "--no-worker", width=1600, height=1000)
    window.wait("recording", lambda m: m["state"]["from_file"])
    window.key("ctrl+t")
    window.wait("the bar", lambda m: any(c["id"] == "tour_keeper.add" for c in m["controls"]))
    window.settle()
    assert not window.control("tour_keeper.add")["enabled"], "a step needs words"
    assert not window.control("tour_keeper.save")["enabled"], "a tour needs a step"
    drag_over(window, "performance.timeline", 0.5, 0.7)
    timeline = window.wait("a range", lambda m: any(
        c["id"] == "performance.timeline" and "selected_from_ns" in c["value"]
        for c in m["controls"]))
    timeline = next(c["value"] for c in timeline["controls"] if c["id"] == "performance.timeline")
    say(window, "Look at this stretch")
    window.click("tour_keeper.add")
    window.key("ctrl+2")
    window.wait("numerics", lambda m: m["state"]["page"] == "numerics")
    window.settle()
    drag_over(window, "numerics.value_histogram", 0.5, 0.8)
    window.wait("values", lambda m: any(c["id"] == "numerics.selection"
                                        and c["value"].startswith("from=") for c in m["controls"]))
    experts = int(dict(p.split("=") for p in window.control("numerics.snr_per_expert")["value"]
                       .split(";"))["experts"])
    click_bar(window, "numerics.snr_per_expert", 3, experts)
    window.wait("expert 3", lambda m: selected_expert(m, "numerics.snr_per_expert") == "3")
    values = window.control("numerics.selection")["value"].split(";")[:2]
    say(window, "And at these values")
    window.click("tour_keeper.add")
    window.click("tour_keeper.save")
    notice = window.wait("the notice", lambda m: any(
        "Tour saved" in c["value"] for c in m["controls"]))
    path = pathlib.Path(window.folder) / next(
        c["value"] for c in notice["controls"] if "Tour saved" in c["value"]).split(": ")[1]
    assert window.control("tour_keeper.add") is None, "the bar has gone"
    steps = json.loads(path.read_text())["steps"]
    assert [step["caption"] for step in steps] == ["Look at this stretch", "And at these values"]
    assert steps[1]["select"]["expert"] == 3
    window.close()
    again = open_window(str(path), "--no-worker", width=1600, height=1000)
    at_step(again, 1)
    again.wait("the same range", lambda m: any(
        c["id"] == "performance.timeline" and selected_part(c["value"]) == selected_part(timeline)
        for c in m["controls"]))
    again.click("tour.next")
    at_step(again, 2)
    again.wait("the same values", lambda m: any(
        c["id"] == "numerics.selection" and c["value"].split(";")[:2] == values
        for c in m["controls"]))
    again.wait("expert 3", lambda m: selected_expert(m, "numerics.snr_per_expert") == "3")


def selected_part(value):
    return [part for part in value.split(";") if part.startswith("selected_")]


def caption(current):
    return next((c["value"] for c in current["controls"] if c["id"] == "tour.caption"), "")


def test_a_tour_begins_with_the_defaults_even_where_x_is_a_file(open_window, tmp_path):
    path = tmp_path / "x.npy"
    np.save(path, np.ones((1024, 512), np.float32))
    request = tmp_path / "request.json"
    request.write_text(json.dumps({"activations": {"file": {"path": str(path)}}, "layers": 2,
                                   "recipe": {"scaling": "mxfp8"}}))
    window = open_window("--request", str(request))
    window.wait_for_link("responsive")
    play(window, "Power-of-two")
    for step in (1, 2, 3, 4, 5):
        current = at_step(window, step)
        assert tour_state(current)["trouble"] == ""
        window.key("Right")
    # At its default it is only shown on request.
    assert window.control("engine.layers") is None
    window.show_all("engine")
    assert window.control("engine.layers")["value"] == "1"


def test_a_tour_stops_at_a_step_that_fails(open_window, tmp_path):
    tour = tmp_path / "fails.json"
    tour.write_text(json.dumps({"title": "Fails", "steps": [
        {"name": "1", "caption": "Never true.", "page": "numerics", "panel": "numerics.snr",
         "request": {"activations": {"file": {"path": str(tmp_path / "absent.npy")}}}},
        {"name": "2", "caption": "Later.", "page": "performance", "request": {"seed": 2}}]}))
    window = open_window(str(tour))
    current = window.wait("the reason", lambda m: tour_state(m).get("trouble"), 60)
    assert "Stopped: " in caption(current) and "absent.npy" in caption(current)
    assert "Never true." not in caption(current), "the caption is about a run that is not there"
    assert tour_state(current)["playing"] == "false"
    assert not any(c["id"] == "tour.outline" for c in current["controls"])
    assert window.control("tour.pause")["label"] == "Retry"
    np.save(tmp_path / "absent.npy", np.ones((1024, 512), np.float32))
    window.key("space")
    current = window.wait("the step", lambda m: tour_state(m).get("shown") == "true"
                          and not tour_state(m)["trouble"], 60)
    assert "Never true." in caption(current) and tour_state(current)["playing"] == "true"


def test_a_caption_goes_when_another_run_is_on_screen(open_window):
    window = open_window()
    window.wait_for_result()
    play(window, "Power-of-two")
    at_step(window, 1)
    window.click("run.now")
    current = window.wait("the reason", lambda m: tour_state(m).get("trouble"), 60)
    assert caption(current).endswith("Stopped: another run is on screen")
    window.key("space")
    current = window.wait("the step again", lambda m: tour_state(m).get("trouble") == "", 60)
    assert "E4M3" not in caption(current) and "1x128" in caption(current)


@pytest.mark.parametrize("name", sorted(path.name for path in TOURS.glob("*.json")))
def test_every_step_outlines_the_panel_it_speaks_of(open_window, name):
    steps = json.loads((TOURS / name).read_text())["steps"]
    window = open_window(str(TOURS / name))
    for number, step in enumerate(steps, 1):
        at_step(window, number)
        window.wait(f"the outline of {step['panel']}", lambda m, step=step: any(
            c["id"] == "tour.outline" and c["value"] == step["panel"] for c in m["controls"]))
        window.key("Right")


def test_the_outlined_panel_is_scrolled_into_view_and_covers_no_bar(open_window):
    """At 160 % the Doctor page scrolls: its last step speaks of a card at the lower end."""
    window = open_window(str(TOURS / "workspace_bug.json"), "--text-scale", "1.6", width=1920, height=1080)
    window.wait("the tour", lambda m: tour_state(m).get("shown") == "true", 60)
    window.key("space")
    for number in range(1, 5):
        at_step(window, number)
        window.settle()
        controls = {c["id"]: c["rect"] for c in window.map()["controls"]}
        outline = controls["tour.outline"]
        assert outline[3] <= controls["tour.back"][1], number
        assert outline[3] - outline[1] > 200, number
        if number == 4:
            # All of it: the table beside it, which is as high, as well.
            assert outline[1] > controls["doctor.prove"][3]
        window.key("Right")


def test_pictures_of_a_tour_show_no_tooltip(program, tmp_path):
    """A mouse that was left over a title changes no pixel."""
    pictures = []
    display = Display(1440, 900)
    environment = dict(os.environ, DISPLAY=display.name, LIBGL_ALWAYS_SOFTWARE="1",
                       XDG_CONFIG_HOME=str(tmp_path / "config"))
    try:
        for place in ((1439, 899), (420, 230)):
            folder = tmp_path / str(len(pictures))
            subprocess.run(["xdotool", "mousemove", *map(str, place)], env=environment, check=True)
            subprocess.run([program, "open", "--no-worker", str(TOURS / "workspace_bug.json"), "--tour",
                            str(folder)], env=environment, check=True, timeout=120)
            pictures.append({path.name: path.read_bytes() for path in folder.glob("*.png")})
    finally:
        display.close()
    assert len(pictures[0]) == 4
    assert pictures[0] == pictures[1]
