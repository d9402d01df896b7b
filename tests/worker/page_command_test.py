"""`expertscope export --html`: the page as a browser shows it, and as a parser reads it.

Usage: page_command_test.py EXPERTSCOPE   (the worker is next to it)
"""

import html
import html.parser
import json
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
# A reader's browser runs no script of the page. This one is added by the test, to ask what the browser has laid out:
# which texts and marks extend beyond their picture, which numbers are broken into lines, which tables do not fit a
# window of 1280 pixels, and what a person would copy out of a block of code.
QUESTIONS = """
<script>
const answers = {pictures: 0, texts: 0, outside: [], code: [], broken: [], wide: []};
for (const one of document.querySelectorAll("details")) one.open = true;
for (const cell of document.querySelectorAll("td:not(.w)")) {
  const range = document.createRange();
  range.selectNodeContents(cell);
  if (new Set([...range.getClientRects()].map(line => Math.round(line.top))).size > 1) answers.broken.push(cell.innerText);
}
for (const table of document.querySelectorAll("table")) {
  if (table.scrollWidth > table.clientWidth) answers.wide.push(table.rows[0].innerText);
}
for (const svg of document.querySelectorAll("svg")) {
  answers.pictures += 1;
  const room = svg.viewBox.baseVal;
  for (const mark of svg.querySelectorAll("text, rect, line, polyline, polygon, circle, image")) {
    if (mark.tagName == "text") answers.texts += 1;
    const box = mark.getBBox();
    if (box.x < -1 || box.y < -1 || box.x + box.width > room.width + 1 || box.y + box.height > room.height + 1) {
      answers.outside.push(svg.getAttribute("aria-label") + ": " + mark.tagName + " " + mark.textContent + " " +
                           [box.x, box.y, box.width, box.height].join(" "));
    }
  }
}
for (const code of document.querySelectorAll("pre")) {
  const above = code.previousElementSibling;
  answers.code.push({library: above && above.tagName == "H4" ? above.innerText : "", text: code.innerText});
}
document.body.textContent = JSON.stringify(answers);
</script>
"""


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
            self.assertNotIn(name, ("action", "style"))
            if name in ("src", "href"):
                within = name == "href" and value.startswith("#") and ("id", value[1:]) in page.attributes
                self.assertTrue(within or value.startswith("data:image/png;base64,"), value[:80])
        return page

    def test_a_recorded_run(self):
        session = self.path("secret.session")
        self.ok("run", *CPU, *SMALL[:-1], 8, "--recipe", "fp8-block", "--routing.distribution", "zipf",
                "--record", session)
        page = self.page_of(session)
        for word in ("Expertscope: secret.session", "It has 1 run.", "FP8 block", "FLOP/s", "Rows per expert",
                     "X: magnitudes before", '"scaling": "fp8-block"', "SNR of Y, worst expert"):
            self.assertIn(word, page.text)
        self.assertNotRegex(page.text, r"\b0 (runs|comparisons|visits)")
        self.assertGreaterEqual(page.tags.count("svg"), 5)
        self.assertRegex(page.text, r"[0-9.]+ [mµ]s (±[0-9.]+ %|[0-9.]+ ([mµ]?s )?to [0-9.]+ [mµ]?s) 8 ")

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
        page = self.page_of(SESSIONS / "h200_layer.session")
        self.assertIn("NVIDIA H200", page.text)
        self.assertIn("Recipes side by side", page.text)
        self.assertIn("Experts: Y, dX, dW and operand X", page.text)
        self.assertRegex(page.text, "Sweep of 5 runs .*Accuracy against time .*worst SNR .*frontier")
        one = self.page_of(SESSIONS / "h200_layer.session", "--run", 2)
        self.assertEqual(one.tags.count("h2"), 1)

    def test_a_stranger_reads_first_what_the_page_is_about_and_where_things_are(self):
        page = self.page_of(SESSIONS / "h200_layer.session")
        for word in ("what the profiler Expertscope measured of one step of a Mixture-of-Experts layer",
                     "Measured on NVIDIA H200", "22 runs, 2 comparisons of recipes and 2 visits to the graph doctor"):
            self.assertIn(word, page.text[:page.text.index("step, median")])
        links = [value for name, value in page.attributes if name == "href" and value.startswith("#")]
        self.assertEqual(len(links), page.tags.count("h2"))
        # A row says where it was measured, as not all are from one device.
        self.assertRegex(page.text, r"run\s+backend\s+device\s+step, median")
        self.assertRegex(page.text, r"15\. B: [^\n]*?\s+Expertscope\s+NVIDIA H200\s+538\.7")
        self.assertRegex(page.text, r"22\. [^\n]*?\s+CPU reference\s+Intel")
        # Runs come first, as in the table above them.
        order = [page.text.rindex(part) for part in ("Experts per token 8", "Recipes side by side", "Graph doctor: ")]
        self.assertEqual(order, sorted(order))
        self.assertIn("Steps during which the device lowered its clock",
                      [value for name, value in page.attributes if name == "title"])
        # The captured step of that visit has one edge.
        self.assertIn("step: 2 nodes, 1 edge ", page.text)
        self.assertNotRegex(page.text, r"\b1 (nodes|edges|samples|rows|experts|steps)\b")

    def test_the_table_of_runs_leads_to_their_sections(self):
        self.page_of(SESSIONS / "h200_layer.session")
        text = pathlib.Path(self.path("page.html")).read_text(encoding="utf-8")
        table = text[text.index("<table>"):text.index("</table>")]
        for section, name in re.findall('<td class="w"><a href="#([^"]+)">([^<]+)</a></td>', table):
            self.assertIn(f'<h2 id="{section}">{name}</h2>', text)
        self.assertEqual(table.count("<a href"), 22)

    def test_a_comparison_over_steps_is_a_chart_with_its_table_folded(self):
        page = self.page_of(SESSIONS / "h200_layer.session")
        self.assertIn("SNR of the worst expert in every step",
                      [value for name, value in page.attributes if name == "aria-label"])
        self.assertIn("The expert with the lowest SNR in every step (64 rows)", page.text)
        text = pathlib.Path(self.path("page.html")).read_text(encoding="utf-8")
        outside = re.sub("<details>.*?</details>", "", text, flags=re.DOTALL)
        self.assertLess(max(one.count("<tr>") for one in outside.split("</table>")), 25)

    def test_what_underflow_means_is_said_where_codes_are_transformed(self):
        sentence = "Of NVFP4 columnwise they are counted after its Hadamard transform is undone"
        self.assertEqual(self.page_of(SESSIONS / "h200_layer.session").text.count(sentence), 1)
        session = self.path("fp8.session")
        self.ok("compare", *CPU, "--rows", 64, "--k", 256, "--timed-launches", 0, "--recipes", "fp8-block",
                "--output", session)
        self.assertNotIn(sentence, self.page_of(session).text)

    def test_what_a_visit_examined_has_rows_not_tokens(self):
        page = self.page_of(SESSIONS / "h200_layer.session")
        self.assertIn("expert layer, 32 experts, 32 768 rows, n 4096, k 7168, 1 layer", page.text)
        for session in SESSIONS.glob("*.session"):
            self.assertNotRegex(self.page_of(session).text, r"experts, [0-9 ]+ tokens")

    def test_a_title_has_no_settings_that_it_does_not_need(self):
        page = self.page_of(SESSIONS / "h200_layer.session")
        text = pathlib.Path(self.path("page.html")).read_text(encoding="utf-8")
        titles = [html.unescape(one) for one in re.findall("<h2[^>]*>([^<]*)</h2>", text)][:12]
        self.assertEqual(len(set(titles)), 12, titles)
        for title in titles:
            self.assertNotIn("Traced", title)
            self.assertLessEqual(len(title), 125)  # the backend is part of it: A and B differ in theirs
        self.assertTrue(titles[0].startswith("1. DeepSeek-V3 layer, 32 experts · FP8 block"), titles[0])
        # Its section lists all of them.
        self.assertIn("Traced 10", page.text)

    def test_mistakes_are_named(self):
        session = SESSIONS / "h200_layer.session"
        self.assertIn("--run is 999", self.refused(1, "export", session, "--html", self.path("p.html"), "--run", 999))
        self.assertFalse(os.path.exists(self.path("p.html")))
        self.ok("export", session, "--html", self.path("p.html"))
        self.assertIn("p.html", self.refused(1, "export", session, "--html", self.path("p.html")))
        self.assertIn("--with-paths", self.refused(1, "export", session, "--csv", self.path("c"), "--with-paths"))

    def test_times_have_their_unit_and_charts_their_titles(self):
        page = self.page_of(SESSIONS / "h200_layer.session", "--run", 1)
        self.assertRegex(page.text, r"\b11\.\d+ 11\.\d+\b", "ticks of 11 ms have the unit of their axis")
        for word in ("Step time per replay", "time, ms replay", "SNR, dB expert", "Rows per expert"):
            self.assertIn(word, page.text)
        self.assertNotRegex(page.text, r"e\+\d\d ns")
        self.assertNotIn(" bytes in one pool", page.text)
        pictures = page.tags.count("svg")
        named = [value for name, value in page.attributes if name == "aria-label"]
        self.assertEqual(len(named), pictures)
        self.assertTrue(all(named))

    def test_pictures_of_shipped_recordings(self):
        layer = self.page_of(SESSIONS / "h200_layer.session")
        for title in ("Expert layer", "Timeline of one step", "Wup: where its scales are large"):
            self.assertIn(title, [value for name, value in layer.attributes if name == "aria-label"])
        for word in ("up projection", "896.2 MiB kept", "time, ms", "scale column", "fprop"):
            self.assertIn(word, layer.text)
        visit = self.page_of(SESSIONS / "workspace_bug.session")
        for word in ("Replays before and after the cure", "replays are wrong from replay 2 on", "all replays are right",
                     'The captured graph "step"', "named by shared-workspace", "workspace of all products (workspace)",
                     "32.0 MiB"):
            self.assertIn(word, visit.text)

    def browser(self, path, *arguments):
        shown = subprocess.run(
            [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--v=0",
             f"--user-data-dir={self.path('profile')}", "--window-size=1280,1400", *arguments,
             f"file://{path}"], capture_output=True, text=True, timeout=120)
        self.assertEqual(shown.returncode, 0, shown.stderr)
        return shown

    @unittest.skipUnless(BROWSER, "chromium is not installed")
    def test_in_a_browser_everything_is_inside_its_picture(self):
        for session in sorted(SESSIONS.glob("*.session")):
            self.page_of(session)
            text = pathlib.Path(self.path("page.html")).read_text(encoding="utf-8")
            asked = self.path("asked.html")
            without_policy = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", text)
            pathlib.Path(asked).write_text(without_policy.replace("</body>", QUESTIONS + "</body>"), encoding="utf-8")
            dump = self.browser(asked, "--dump-dom").stdout
            answers = json.loads(html.unescape(re.search(r"<body>(.*)</body>", dump, re.DOTALL)[1]))
            self.assertEqual(answers["outside"], [], session.name)
            self.assertEqual(answers["broken"], [], session.name)
            self.assertEqual(answers["wide"], [], session.name)
            if "h200" in session.name:
                self.assertGreater(answers["texts"], 100)
            for code in answers["code"]:
                self.assertNotRegex(code["text"], "&(lt|gt|amp|quot|#39);")
                if code["library"] in ("PyTorch", "Transformer Engine"):
                    compile(code["text"], session.name, "exec")
                elif code["library"] != "cuBLASLt":
                    json.loads(code["text"])  # a request, as it was ordered
            libraries = {code["library"] for code in answers["code"]}
            if session.name in ("gallery.session", "workspace_bug.session"):
                self.assertGreaterEqual(libraries, {"cuBLASLt", "PyTorch", "Transformer Engine"})

    @unittest.skipUnless(BROWSER, "chromium is not installed")
    def test_a_browser_shows_it_and_finds_nothing_to_refuse(self):
        path = self.path("page.html")
        for session in ("h200_layer.session", "workspace_bug.session"):
            self.page_of(SESSIONS / session)
            picture = self.path("page.png")
            shown = self.browser(path, f"--screenshot={picture}")
            self.assertNotRegex(shown.stderr, re.compile("CONSOLE|Content.Security.Policy|Refused to"))
            self.assertGreater(os.path.getsize(picture), 20_000, "an empty page")


if __name__ == "__main__":
    unittest.main(verbosity=2)
