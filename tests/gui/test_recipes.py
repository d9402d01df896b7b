"""All recipes side by side: live on the CPU worker, and from a recording without one."""
import contextlib
import csv
import pathlib
import sqlite3


def fields(control):
    return {name: float(number) for name, number in
            (part.split("=") for part in control["value"].split(";"))}


def value(window, name):
    return window.control(name)["value"]


def rows(window):
    return [c for c in window.map()["controls"] if c["id"].startswith("recipes.table.row.")]


def wait_for_comparison(window, more_than):
    return window.wait("a comparison", lambda m: m["state"]["comparisons"] > more_than
                       and not m["state"]["comparing"] and any(
                           c["id"] == "recipes.table" for c in m["controls"]))


def compare(window):
    """The window with the Recipes view and a finished comparison of X."""
    window.wait_for_result()
    window.key("ctrl+shift+2")
    window.click("recipes.compare_now")
    wait_for_comparison(window, 0)
    window.settle()


def hover_cell(window, row, column):
    cells = fields(window.control("recipes.cells"))
    x = cells["left"] + (column + 0.5) * cells["cell_width"]
    y = cells["top"] + (row + 0.5) * cells["cell_height"]
    window.xdotool("mousemove", round(x) + 1, round(y), "mousemove", round(x), round(y))
    window.settle()


def test_key_and_switch_show_the_view(open_window):
    window = open_window()
    window.wait_for_result()
    window.key("ctrl+shift+2")
    window.wait("recipes", lambda m: m["state"]["recipes"]
                and m["state"]["page"] == "numerics")
    window.wait("what to do", lambda m: any(
        c["id"] == "recipes.compare_now" for c in m["controls"]))
    window.click("numerics.part.0")
    window.wait("the run", lambda m: any(c["id"] == "numerics.scale_map" for c in m["controls"]))
    window.key("ctrl+shift+2")
    window.wait("recipes", lambda m: m["state"]["recipes"])


def test_comparison_of_both_operands_and_directions(open_window):
    window = open_window()
    compare(window)
    assert value(window, "recipes.table") == "8"
    assert "1 024 x 512, 8 experts" in value(window, "headline.subject")
    assert value(window, "recipes.status") == "", "the tensor is in the headline"
    window.click("recipes.direction.1")
    window.settle()
    assert value(window, "recipes.table") == "8"
    # Nothing is known about W yet: the view says so and offers the button.
    window.click("recipes.operand.1")
    window.click("recipes.compare_now")
    wait_for_comparison(window, 1)
    window.settle()
    assert "4 096 x 512" in value(window, "headline.subject")


def test_rows_are_overlaid_and_sorted(open_window):
    window = open_window()
    compare(window)
    first = [c["label"] for c in rows(window) if c["value"] == "true"]
    assert 0 < len(first) <= 3
    assert value(window, "recipes.scale_histogram") == f"series={len(first)}"
    chosen = next(i for i, c in enumerate(rows(window)) if c["value"] == "true")
    window.click(f"recipes.table.row.{chosen}")
    window.wait("one less", lambda m: any(
        c["id"] == "recipes.table.row.%d" % chosen and c["value"] == "false"
        for c in m["controls"]))
    assert sum(c["value"] == "true" for c in rows(window)) == len(first) - 1
    before = [c["label"] for c in rows(window)]
    window.click("recipes.table.column.5")
    window.settle()
    after = [c["label"] for c in rows(window)]
    assert sorted(before) == sorted(after)
    # It is saved in the order on screen.
    window.click("recipes.table_card.menu")
    window.wait("the menu", lambda m: any(c["id"] == "recipes.table_card.menu.save_csv" for c in m["controls"]))
    window.settle()
    window.click("recipes.table_card.menu.save_csv")
    notice = window.wait("the file", lambda m: any("Table saved: " in c["value"] for c in m["controls"]))
    path = next(c["value"] for c in notice["controls"] if "Table saved: " in c["value"])
    with open(path.removeprefix("Table saved: "), newline="") as file:
        saved = [row["recipe_name"] for row in csv.DictReader(file)]
    assert after != before and saved == after


def test_cost_of_power_of_two_scales_per_expert(open_window):
    window = open_window()
    compare(window)
    window.click("recipes.pair.2")
    window.settle()
    chosen = [c["label"] for c in rows(window) if c["value"] == "true"]
    assert chosen == ["FP8 block, FP32 scales", "FP8 block, power-of-two scales"]
    window.click("recipes.below.1")
    for name, bars in (("recipes.snr", "bars=16;shown=snr"), ("recipes.waste", "bars=16")):
        window.wait(name, lambda m, name=name, bars=bars: any(
            c["id"] == name and c["value"] == bars for c in m["controls"]))
    window.click("recipes.measure.1")
    window.wait("the loss", lambda m: any(
        c["id"] == "recipes.snr" and c["value"] == "bars=16;shown=lost" for c in m["controls"]))
    assert value(window, "recipes.experts") == "16"
    # Any two recipes can be compared, and one alone: a click takes a row out.
    window.click("recipes.table.row.5")
    window.wait("one bar per expert", lambda m: any(
        c["id"] == "recipes.waste" and c["value"] == "bars=8" for c in m["controls"]))
    window.click("recipes.table.row.6")
    window.wait("two again", lambda m: any(
        c["id"] == "recipes.waste" and c["value"] == "bars=16" for c in m["controls"]))
    assert not any(c["value"] == "true" for c in window.map()["controls"]
                   if c["id"].startswith("recipes.pair."))
    window.click("recipes.below.0")
    window.wait("the elements", lambda m: any(c["id"] == "recipes.cells" for c in m["controls"]))


def test_elements_with_their_arithmetic(open_window):
    window = open_window()
    compare(window)
    hover_cell(window, 2, 1)
    text = value(window, "recipes.arithmetic")
    assert text.startswith("x = X[2, 1] = ") and "0x" in text and "error " in text
    # A click on the map moves the sample to the largest element of the block under the pointer.
    window.click("recipes.map.0")
    wait_for_comparison(window, 1)
    window.settle()
    place = fields(window.control("recipes.cells"))
    assert place["row"] > 300 and place["column"] > 100
    words = value(window, "recipes.arithmetic").splitlines()[0]
    # The largest of a block of 128 normal numbers: its first element is hardly ever beyond 1.8.
    assert abs(float(words.split(" = ")[-1])) > 1.8, words
    window.type_number("recipes.row", "17")
    wait_for_comparison(window, 2)
    window.wait("row 17", lambda m: any(
        c["id"] == "recipes.cells" and c["value"].startswith("row=17;") for c in m["controls"]))


def test_an_error_goes_with_the_request_that_it_was_about(open_window, tmp_path):
    request = tmp_path / "request.json"
    request.write_text('{"shape":{"num_experts":2,"rows":64,"n":64,"k":128},'
                       '"activations":{"file":{"path":"%s"}}}' % (tmp_path / "none.npy"))
    window = open_window("--request", str(request))
    window.wait_for_link("responsive")
    window.key("ctrl+2")
    window.settle()
    window.click("numerics.part.1")
    window.settle()
    window.click("recipes.compare")
    window.wait("the error", lambda m: "none.npy" in m["state"]["comparison_error"])
    assert "none.npy" in value(window, "recipes.status")
    window.click("recipe.format.1")
    window.wait("no error", lambda m: not m["state"]["comparison_error"])
    assert "none.npy" not in value(window, "recipes.status")


def test_live_compares_again_when_the_request_changes(open_window):
    window = open_window()
    compare(window)
    before = value(window, "recipes.arithmetic")
    window.click("recipes.live")
    window.wait("Live", lambda m: any(
        c["id"] == "recipes.live" and c["value"] == "true" for c in m["controls"]), 5)
    window.click("recipe.format.1")
    wait_for_comparison(window, 1)
    window.wait("other codes", lambda m: any(
        c["id"] == "recipes.arithmetic" and c["value"] != before for c in m["controls"]))
    # The run of the same request was also answered: neither supersedes the other.
    assert not window.wait_for_result()["state"]["last_error"]
    count = window.state()["comparisons"]
    window.click("recipes.live")
    window.wait("no Live", lambda m: any(
        c["id"] == "recipes.live" and c["value"] == "false" for c in m["controls"]), 5)
    window.click("recipe.format.0")
    window.wait("the other format", lambda m: any(
        c["id"] == "recipe.format.0" and c["value"] == "true" for c in m["controls"]), 5)
    window.wait_for_result()
    window.wait("words about the older request", lambda m: any(
        c["id"] == "recipes.status" and c["value"].startswith("answers an older request")
        for c in m["controls"]))
    assert window.state()["comparisons"] == count


def test_cancel_keeps_what_was_there(open_window):
    window = open_window()
    compare(window)
    window.click("run.live")
    window.type_number("shape.rows", "65536")
    window.click("recipes.compare")
    window.click("recipes.cancel")
    window.wait("an end", lambda m: not m["state"]["comparing"], 60)
    assert window.state()["comparisons"] == 1 and not window.state()["comparison_error"]


def test_recording_shows_its_comparison_without_a_worker(open_window):
    live = open_window()
    compare(live)
    hover_cell(live, 1, 1)
    labels = [c["label"] for c in rows(live)]
    arithmetic = value(live, "recipes.arithmetic")
    live.click("top.save")
    live.wait("dialog", lambda m: any(c["id"] == "file.accept" for c in m["controls"]))
    name = value(live, "file.path")
    live.click("file.accept")
    live.wait("notice", lambda m: any("1 comparison" in c["value"] for c in m["controls"]))
    path = pathlib.Path(live.folder) / name
    live.close()
    window = open_window(str(path), "--no-worker")
    window.wait("recording", lambda m: m["state"]["from_file"])
    window.key("ctrl+shift+2")
    window.wait("its comparison", lambda m: m["state"]["comparisons"] == 1 and any(
        c["id"] == "recipes.table" for c in m["controls"]))
    window.settle()
    assert [c["label"] for c in rows(window)] == labels
    hover_cell(window, 1, 1)
    assert value(window, "recipes.arithmetic") == arithmetic
    for name in ("recipes.compare", "recipes.live", "recipes.row"):
        control = window.control(name)
        assert not control["enabled"] and control["reason"]


def test_a_recording_of_several_comparisons_shows_each(open_window):
    """Among them what the former view of power-of-two scales recorded: seven recipes, without NVFP4."""
    live = open_window()
    compare(live)
    live.click("top.save")
    live.wait("dialog", lambda m: any(c["id"] == "file.accept" for c in m["controls"]))
    path = pathlib.Path(live.folder) / value(live, "file.path")
    live.click("file.accept")
    live.wait("notice", lambda m: any("1 comparison" in c["value"] for c in m["controls"]))
    live.close()
    with contextlib.closing(sqlite3.connect(path)) as session, session:
        for (table,) in session.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND "
                                        "name LIKE 'comparison%'").fetchall():
            columns = [row[1] for row in session.execute(f"PRAGMA table_info({table})")]
            rest = ", ".join(columns[1:])
            seven = {"comparison_recipes": "AND scaling != 'nvfp4'"}.get(table, "")
            if "report" in columns:
                seven = "AND report NOT IN (SELECT report FROM comparison_reports WHERE scaling = 'nvfp4')"
            session.execute(f"INSERT INTO {table} (comparison_id, {rest}) SELECT 2, {rest} FROM {table} "
                            f"WHERE comparison_id = 1 {seven}")
    window = open_window(str(path), "--no-worker")
    window.wait("recording", lambda m: m["state"]["from_file"])
    window.key("ctrl+shift+2")
    window.wait("the newest", lambda m: any(
        c["id"] == "recipes.table" and c["value"] == "7" for c in m["controls"]))
    window.click("recipes.below.1")
    window.wait("its experts", lambda m: any(c["id"] == "recipes.snr" for c in m["controls"]))
    window.choose("recipes.which", "1 of 2, 8 recipes")
    window.wait("the other", lambda m: any(
        c["id"] == "recipes.table" and c["value"] == "8" for c in m["controls"]))
    assert any(c["value"] == "true" for c in rows(window))


def greyed_out(window, name, sentence):
    window.wait(f"{name} greyed out", lambda m: any(
        c["id"] == name and not c["enabled"] and sentence in c["reason"]
        for c in m["controls"]))


def test_settings_without_an_effect_say_why(open_window):
    window = open_window()
    window.wait_for_result()
    window.click("run.live")
    window.show_all("recipe")
    window.click("recipe.scaling.0")
    greyed_out(window, "recipe.epsilon", "BF16 quantizes nothing")
    greyed_out(window, "recipe.hadamard", "NVFP4")
    greyed_out(window, "recipe.history", "delayed")
    reasons = {"recipe.scaling.4": ("recipe.pow2", "always a power of two"),
               "recipe.scaling.5": ("recipe.format.1", "E2M1")}
    for scaling, (name, sentence) in reasons.items():
        control = window.control(scaling)
        if not control["enabled"]:
            assert len(control["reason"]) > 20  # the gate's own sentence
            continue
        window.click(scaling)
        greyed_out(window, name, sentence)
    window.click("recipe.scaling.3")
    window.type_number("recipe.history", "16")
    window.wait("16 steps", lambda m: any(
        c["id"] == "recipe.history" and c["value"] == "16" for c in m["controls"]))
    # A comparison contains every recipe: with it all of their settings mean something.
    window.key("ctrl+shift+2")
    window.wait("its settings", lambda m: any(
        c["id"] == "recipe.hadamard" and c["enabled"] for c in m["controls"]))
