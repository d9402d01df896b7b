"""`expertscope export --html`: the page as a browser shows it, and as a parser reads it.

Usage: page_command_test.py EXPERTSCOPE   (the worker is next to it)
"""

import html.parser
import os
import pathlib
import re
import shutil
import subprocess
import unittest

from command_line import CPU, PROGRAM, SMALL, CommandLine

SESSIONS = pathlib.Path(__file__).resolve().parents[2] / "assets" / "sessions"
BROWSER = shutil.which("chromium-headless-shell") or shutil.which("chromium")
VOID = {"meta", "img", "br", "hr"}


class Page(html.parser.HTMLParser):
    """Elements, attributes and text; refuses what is not closed in order."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.attributes, self.words = [], [], [], []
        self.feed(text)
        self.close()
        assert not self.open, f"not closed: {self.open}"

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, f"</{tag}> closes {self.open[-1:]}"
        self.open.pop()

    def handle_data(self, data):
        self.words.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())


class Export(CommandLine):
    def page_of(self, session, *arguments):
        path = self.path("page.html")
        if os.path.exists(path):
            os.remove(path)
        self.ok("export", session, "--html", path, *arguments)
        text = pathlib.Path(path).read_text(encoding="utf-8")
        self.assertLessEqual(len(text.encode()), 5_000_000)
        page = Page(text)
        self.assertNotIn("script", page.tags)
        for name, value in page.attributes:
            self.assertFalse(name.startswith("on"), name)
            self.assertNotIn(name, ("href", "action", "style"))
            if name == "src":
                self.assertTrue(value.startswith("data:image/png;base64,"))
        return page

    def test_a_recorded_run(self):
        session = self.path("secret.session")
        self.ok("run", *CPU, *SMALL[:-1], 8, "--recipe", "fp8-block", "--routing.distribution", "zipf",
                "--record", session)
        page = self.page_of(session)
        for word in ("Expertscope: secret.session", "1 run, 0 comparisons", "FP8 block", "TFLOP/s", "Rows per expert",
                     "X: magnitudes before", '"scaling": "fp8-block"', "SNR of Y, worst expert"):
            self.assertIn(word, page.text)
        self.assertGreaterEqual(page.tags.count("svg"), 5)
        self.assertRegex(page.text, r"[0-9.]+ [mµ]s ±[0-9.]+ % 8 ")

    def test_paths_are_left_out_unless_asked_for(self):
        import numpy as np
        np.save(self.path("operand.npy"), np.ones((64, 256), np.float32))
        session = self.path("a.session")
        self.ok("run", *CPU, *SMALL, "--activations.file.path", self.path("operand.npy"), "--record", session)
        folder = os.path.dirname(self.path("x"))
        self.assertNotIn(folder, self.page_of(session).text)
        self.assertIn("…/operand.npy", self.page_of(session).text)
        self.assertIn(self.path("operand.npy"), self.page_of(session, "--with-paths").text)

    def test_the_shipped_recordings(self):
        page = self.page_of(SESSIONS / "workspace_bug.session")
        for word in ("Graph doctor", "proved", "Smallest cure", "PyTorch", "Experiments"):
            self.assertIn(word, page.text)
        page = self.page_of(SESSIONS / "h200.session")
        self.assertIn("NVIDIA H200", page.text)
        self.assertIn("Recipes side by side", page.text)
        one = self.page_of(SESSIONS / "h200.session", "--run", 2)
        self.assertEqual(one.tags.count("h2"), 1)

    def test_mistakes_are_named(self):
        session = SESSIONS / "h200.session"
        self.assertIn("--run is 999", self.refused(1, "export", session, "--html", self.path("p.html"), "--run", 999))
        self.assertFalse(os.path.exists(self.path("p.html")))
        self.ok("export", session, "--html", self.path("p.html"))
        self.assertIn("p.html", self.refused(1, "export", session, "--html", self.path("p.html")))
        self.assertIn("--with-paths", self.refused(1, "export", session, "--csv", self.path("c"), "--with-paths"))

    @unittest.skipUnless(BROWSER, "chromium is not installed")
    def test_a_browser_shows_it_and_finds_nothing_to_refuse(self):
        path = self.path("page.html")
        for session in ("h200.session", "workspace_bug.session"):
            self.page_of(SESSIONS / session)
            picture = self.path("page.png")
            shown = subprocess.run(
                [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--v=0",
                 f"--user-data-dir={self.path('profile')}", "--window-size=1000,1400", f"--screenshot={picture}",
                 f"file://{path}"], capture_output=True, text=True, timeout=120)
            self.assertEqual(shown.returncode, 0, shown.stderr)
            self.assertNotRegex(shown.stderr, re.compile("CONSOLE|Content.Security.Policy|Refused to"))
            self.assertGreater(os.path.getsize(picture), 20_000, "an empty page")


if __name__ == "__main__":
    unittest.main(verbosity=2)
