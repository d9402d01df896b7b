"""A recording on screen: its request in the rail, its machine in the status bar, its runs in one list with the
live ones."""
import pathlib

SAMPLE = pathlib.Path(__file__).resolve().parents[2] / "assets" / "sessions" / "h200_layer.session"


def value(window, name):
    control = window.control(name)
    return None if control is None else control["value"]


def shown(name):
    return lambda m: any(c["id"] == name for c in m["controls"])


def open_sample(window):
    """Beside at least one live run."""
    window.wait_for_result()
    window.click("top.recent")
    window.wait("the menu", shown("shipped.h200_layer.session"))
    window.settle()
    window.click("shipped.h200_layer.session")
    window.wait("the recording", lambda m: m["state"]["from_file"])
    window.settle()


def test_the_rail_shows_the_recorded_request_until_it_is_taken_over(open_window):
    window = open_window()
    window.wait_for_result()
    mine = value(window, "shape.rows")
    open_sample(window)
    tokens = window.control("shape.rows")
    assert tokens["value"] != mine and not tokens["enabled"] and "recorded request" in tokens["reason"]
    assert window.control("run.now") is None and window.control("run.live") is None
    # Neither the mouse nor the keyboard changes it, and nothing leaves the recording.
    window.drag("shape.rows", 60)
    window.click("recipe.format.1")
    window.press("ctrl", "r")
    window.settle()
    assert value(window, "shape.rows") == tokens["value"] and window.state()["from_file"]
    assert "Use as my request" in value(window, "status.says")
    window.click("run.use_recorded")
    window.wait("the live window", lambda m: not m["state"]["from_file"])
    # The map of the frame in which the recording is left has controls that were drawn before it was.
    window.wait("its controls", lambda m: any(c["id"] == "shape.rows" and c["enabled"] for c in m["controls"]))
    assert value(window, "shape.rows") == tokens["value"]
    window.press("ctrl", "z")
    window.wait("the recording again", lambda m: m["state"]["from_file"])
    assert not window.control("shape.rows")["enabled"]
    window.click("top.live")
    window.wait("my own request", lambda m: value(window, "shape.rows") == mine)


def test_the_status_bar_speaks_of_the_recorded_machine(open_window):
    window = open_window()
    window.wait_for_result()
    assert "CPU" in value(window, "status.machine")
    open_sample(window)
    machine = value(window, "status.machine")
    assert "H200" in machine and "driver" in machine and "cuBLASLt" in machine, machine
    assert "CPU" not in machine and window.control("status.device") is None


def test_live_and_recorded_runs_are_found_and_named_in_one_list(open_window):
    window = open_window()
    open_sample(window)
    runs = window.state()["runs"]
    # A recorded run gets a name without its file being changed: it ships with the program.
    window.click("top.run")
    window.wait("the list", shown("top.run_name"))
    window.settle()
    window.click("top.run_name")
    window.xdotool("type", "--delay", 30, "as shipped")
    window.press("Return")
    window.wait("the name", lambda m: value(window, "top.run") == "1. as shipped")
    assert window.state()["from_file"]
    window.wait("where it is kept", lambda m: "stays in this window" in (value(window, "status.says") or ""))
    window.key("Escape")
    window.settle()
    window.click("top.run")
    window.wait("the list", shown("top.run.filter"))
    window.settle()
    # The live run first, then the recording under its own heading.
    assert window.control("top.run.0") and runs > 2
    window.xdotool("type", "--delay", 30, "laptop")
    window.wait("the live run alone", lambda m: [c["id"] for c in m["controls"] if c["kind"] == "option"
                                                and c["id"].startswith("top.run.")] == ["top.run.0"])
    window.press("Return")
    window.wait("the live run", lambda m: not m["state"]["from_file"])
    assert window.state()["session_path"], "the recording stays in the list"
    window.settle()
    window.click("top.run")
    window.wait("the list", shown("top.run_name"))
    window.settle()
    window.click("top.run_name")
    window.xdotool("type", "--delay", 30, "before the fix")
    window.press("Return")
    window.wait("the name", lambda m: value(window, "top.run") == "1. before the fix")
    window.key("Escape")
    window.settle()
    # The recorded run and the named live one are both offered on the Compare page.
    window.key("ctrl+4")
    window.wait("the page", shown("compare.a"))
    window.choose("compare.a", "before the fix")
    window.choose("compare.b", "h200_layer: 1. as shipped")
    window.wait("their comparison", shown("compare.verdict"))
    # What a closed recording had is gone from the list.
    window.click("top.run")
    window.wait("the list", shown("top.close_recording"))
    window.settle()
    window.click("top.close_recording")
    window.wait("the live runs", lambda m: not m["state"]["session_path"] and m["state"]["runs"] < runs)


def test_a_recorded_visit_speaks_of_its_machine_and_of_whose_request_it_shows(open_window):
    """The shipped visit is to a case of the gallery, which has no request of its own."""
    window = open_window(str(SAMPLE.parent / "workspace_bug.session"))
    window.wait("the doctor", shown("doctor.finding.0"))
    window.wait_for_link("responsive")
    window.settle()
    machine = value(window, "status.machine")
    assert "H200" in machine and "driver" in machine and "cuBLASLt 13.5.1" in machine, machine
    assert "CPU" not in machine and window.control("status.device") is None
    assert value(window, "rail.whose").startswith("Your own request")
    assert window.control("shape.rows")["enabled"]
    window.key("ctrl+1")
    window.wait("why there is no run", lambda m: "has no run" in (value(window, "performance.no_run") or ""))


def test_the_recorded_training_step_shows_its_fault_and_the_cure_for_its_framework(open_window):
    window = open_window(str(SAMPLE.parent / "train_step.session"), "--no-worker")
    window.wait("its finding, chosen", shown("doctor.code"))
    assert value(window, "doctor.finding.0") == "likely freed-memory"
    assert "copy new inputs" in value(window, "doctor.fix")
    assert "static_x.copy_(x)" in value(window, "doctor.code")
    # A choice of the user stays.
    window.click("doctor.library.0")
    window.wait("C++", lambda m: "cudaMalloc" in value(window, "doctor.code"))
    window.click("doctor.finding.1")
    window.settle()
    assert "cudaMalloc" in value(window, "doctor.code")
    window.click("graphs.view.2")
    window.wait("the map", shown("memory.key"))
    assert "named by freed-memory" in value(window, "memory.key")
