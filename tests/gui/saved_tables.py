"""The tables that cards save."""
import pathlib


def saved_table(window, card):
    """The text of the file that the card's menu saves."""
    stem = card.removesuffix("_card").removesuffix(".card").replace(".", "-")
    window.click(f"{card}.menu")
    window.wait("the menu", lambda m: any(c["id"] == f"{card}.menu.save_csv" for c in m["controls"]))
    window.settle()
    window.click(f"{card}.menu.save_csv")

    def notices(controls):
        return [c["value"] for c in controls if c["value"].startswith("Table saved") and stem in c["value"]]
    saved = notices(window.wait("the table", lambda m: notices(m["controls"]))["controls"])[-1]
    window.settle()
    return pathlib.Path(saved.removeprefix("Table saved: ")).read_text()
