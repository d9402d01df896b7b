"""Fetching a cuBLASLt from the Doctor: against the test's own package indexes, never the network."""
import hashlib
import http.server
import io
import threading
import zipfile

import pytest

WHEEL = "nvidia_cublas-13.5.1.27-py3-none-any.whl"


def another_wheel():
    """A well-formed wheel of that name and version that is not the library."""
    file = io.BytesIO()
    info = "nvidia_cublas-13.5.1.27.dist-info"
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: nvidia-cublas\nVersion: 13.5.1.27\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    return file.getvalue()


@pytest.fixture
def index(monkeypatch, tmp_path):
    """An index that answers as configured: "nothing", "silence" or "another"."""
    released = threading.Event()
    asked = threading.Event()
    wheel = another_wheel()  # once: a zip contains its creation time

    class Handler(http.server.BaseHTTPRequestHandler):
        mode = "nothing"

        def do_GET(self):
            asked.set()
            if Handler.mode == "silence":
                released.wait(60)
            page = (f'<a href="/{WHEEL}#sha256={hashlib.sha256(wheel).hexdigest()}">{WHEEL}</a>').encode()
            body = wheel if self.path.endswith(".whl") else page
            found = Handler.mode == "another"
            self.send_response(200 if found else 404)
            self.send_header("Content-Type", "application/zip" if body is wheel else "text/html")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    for name, value in (("PIP_INDEX_URL", f"http://127.0.0.1:{server.server_port}/simple"),
                        ("PIP_RETRIES", "0"), ("PIP_NO_CACHE_DIR", "1"), ("PIP_CONFIG_FILE", "/dev/null"),
                        ("XDG_CACHE_HOME", str(tmp_path / "cache"))):
        monkeypatch.setenv(name, value)
    Handler.asked = asked
    Handler.cache = tmp_path / "cache" / "expertscope" / "cublas"
    yield Handler
    released.set()
    server.shutdown()
    thread.join()
    server.server_close()


def start(open_window):
    window = open_window("--no-worker")
    window.key("ctrl+3")
    window.click("graphs.view.3")
    window.click("doctor.subject.1")
    window.choose("doctor.case", "Two grouped matmuls share one workspace")
    window.wait("the case", lambda m: any(c["id"] == "doctor.fetch" for c in m["controls"]))
    window.click("doctor.fetch")
    return window


def state(window, begin):
    window.wait(f"a fetch that is {begin}", lambda m: any(
        c["id"] == "doctor.fetch_state" and c["value"].startswith(begin) for c in m["controls"]), 90)
    return window.control("doctor.fetch_state")["value"]


def test_an_index_without_it_is_a_failure_that_stays_on_screen(open_window, index):
    window = start(open_window)
    said = state(window, "failed")
    assert "13.5.1.27" in said and "No matching distribution" in said
    window.key("ctrl+1")
    window.key("ctrl+3")
    assert state(window, "failed") == said
    assert window.control("doctor.fetch")["enabled"]
    assert list(index.cache.iterdir()) == []


def test_another_file_of_that_name_is_not_used(open_window, index):
    index.mode = "another"
    window = start(open_window)
    assert "does not have the expected SHA-256" in state(window, "failed")
    assert not any(c["id"] == "doctor.use_library" for c in window.map()["controls"])
    assert list(index.cache.iterdir()) == []


def test_a_fetch_shows_progress_and_can_be_cancelled(open_window, index):
    index.mode = "silence"
    window = start(open_window)
    assert index.asked.wait(60)
    window.wait("what the fetch says", lambda m: any(
        c["id"] == "doctor.fetch_state" and c["value"].startswith("busy: ") and "Starting" not in c["value"]
        for c in m["controls"]))
    window.click("doctor.cancel_fetch")
    assert "cancelled" in state(window, "failed")
    assert window.control("doctor.fetch")["enabled"]


def test_a_damaged_library_is_not_offered_but_fetched_again(open_window, index):
    library = index.cache / "13.5.1.27" / "lib" / "libcublasLt.so.13"
    library.parent.mkdir(parents=True)
    library.write_bytes(b"any")
    window = start(open_window)
    assert f"{library} is not cuBLASLt 13.5.1.27 as it was fetched" in state(window, "failed")
    assert index.asked.is_set()
    assert not any(c["id"] == "doctor.use_library" for c in window.map()["controls"])
