"""Tours: played, stepped and stopped with real keys and mouse; the person's own request survives."""
import json
import pathlib


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


def test_live_tour_by_keys_keeps_the_own_request(open_window):
    window = open_window()
    window.wait_for_result()
    window.type_number("shape.tokens", "768")
    window.wait_for_result()
    play(window, "Power-of-two")
    at_step(window, 1)
    window.key("space")
    window.wait("a pause", lambda m: tour_state(m).get("playing") == "false")
    window.key("Right")
    current = at_step(window, 2)
    assert current["state"]["workspace"] == "numerics"
    assert window.control("recipe.pow2")["value"] == "false"
    window.key("Left")
    at_step(window, 1)
    assert window.control("recipe.pow2")["value"] == "true"
    assert window.control("shape.tokens")["value"] == "1024"
    window.key("Escape")
    window.wait("the own request", lambda m: any(
        c["id"] == "shape.tokens" and c["value"] == "768" for c in m["controls"])
        and m["state"]["workspace"] == "performance" and m["state"]["live"])
    assert not tour_state(window.map())


def test_recorded_tour_by_mouse_without_a_worker(open_window):
    window = open_window("--no-worker")
    play(window, "workspace bug")
    current = at_step(window, 1)
    assert current["state"]["workspace"] == "graphs" and current["state"]["from_file"]
    window.click("tour.pause")
    window.click("tour.next")
    at_step(window, 2)
    window.wait("the graph", lambda m: any(c["id"] == "graphs.topology" for c in m["controls"]))
    window.click("tour.next")
    at_step(window, 3)
    window.click("tour.next")
    at_step(window, 4)
    last = window.control("tour.next")
    assert not last["enabled"] and "last step" in last["reason"]
    window.click("tour.stop")
    window.wait("live again", lambda m: not m["state"]["from_file"] and not tour_state(m))


def test_request_log_is_a_tour(open_window, tmp_path):
    log = tmp_path / "two.jsonl"
    base = {"shape": {"num_experts": 4, "tokens": 256, "n": 256, "k": 256},
            "backend": "CPU_REFERENCE", "launch": {"kind": "EAGER", "iterations": 3}}
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
    sample = pathlib.Path(__file__).resolve().parents[2] / "assets" / "sessions" / "h200.session"
    tour = tmp_path / "ranges.json"
    step = {"caption": "Look here.", "recording": str(sample), "run": 0}
    tour.write_text(json.dumps({"title": "Ranges", "steps": [
        {"name": "1", "workspace": "performance", "select": {"timeline_ms": [10, 50]}, **step},
        {"name": "2", "workspace": "numerics", "select": {"values_log2": [-4, 0]}, **step}]}))
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
        {"name": "1", "workspace": "numerics", "select": {"values_log2": [3, 3]}, **step}]}))
    window.close()
    other = open_window(str(broken), "--no-worker")
    other.wait("the reason", lambda m: any("selects neither" in c["value"] for c in m["controls"]))
