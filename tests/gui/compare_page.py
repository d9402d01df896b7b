"""The Compare page for its tests: what they read from it, and what its cards save."""
import csv
import io
import pathlib

from saved_tables import saved_table

SAMPLE = pathlib.Path(__file__).parents[2] / "assets" / "sessions" / "h200_layer.session"


def value(window, name):
    control = window.control(name)
    return "" if control is None else control["value"]


def shown(name):
    return lambda m: any(c["id"] == name for c in m["controls"])


def compare(window):
    window.key("ctrl+4")
    window.wait("the page", lambda m: m["state"]["page"] == "compare")


def saved_csv(window, card):
    """The rows that the card's menu saves, by their headers."""
    saved = saved_table(window, card)
    window.dismiss_notices()
    return list(csv.DictReader(io.StringIO(saved)))
