"""The structure of the tree as rules: include direction, what the window may use, headers, file names.

check(root) returns one sentence for each violation; it needs nothing but the standard library.
"""

import pathlib
import re

LAYERS = ["kernels", "engine", "profiling", "app"]
FOLDERS = {"app", "engine", "kernels", "profiling", "assets", "tests"}
TOP_LEVEL = FOLDERS | {"CMakeLists.txt", "README.md", "LICENSE"}
SOURCES = {".h", ".cuh", ".cpp", ".cu"}

# The window and the command line start here ...
WINDOW = ("app/gui/", "app/cli/")
# ... and may reach, over any number of includes, only these folders and headers: none knows CUDA.
WINDOW_MAY_USE = (
    "app/gui/",
    "app/cli/",
    "app/doctor/",
    "app/protocol/",
    "app/sweep/",
    "engine/backend/backend.h",
    "engine/gemm/support.h",
    "engine/input/",
    "engine/model/",
    "kernels/common/formats.h",
    "profiling/compare/",
    "profiling/export/",
    "profiling/graph/",
    "profiling/power/power_summary.h",
    "profiling/power/power_trace.h",
    "profiling/session/",
    "profiling/trace/",
)
CUDA_HEADER = re.compile(r"^(cuda|cupti|cublas|nvml|nvtx|generated_cuda)", re.IGNORECASE)

# Runs on the default stream and, on device memory, after the call has returned ...
DEFAULT_STREAM = re.compile(r"\bcuda(Memset|Memcpy)(2D|3D)?\(")
# ... so that whoever uses it waits before the engine's streams, which do not, may go on.
DEFAULT_STREAM_WAIT = re.compile(r"\bcuda(StreamSynchronize\(cudaStreamLegacy|DeviceSynchronize\()")

# What is done in one place, so that its care is taken everywhere: (where the rule holds, what is meant, the only
# files that may, what the others use).
ONE_PLACE = (
    # A child that is not below a guard outlives a killed window; one that a shell reads can be made to run anything.
    (("kernels/", "engine/", "profiling/", "app/"), re.compile(r"\b(posix_spawnp?|v?fork|popen|system)\("),
     ("app/protocol/child_process.cpp", "app/protocol/worker_guard.cpp"), "app/protocol/child_process.h"),
    (("app/",), re.compile(r'"(/usr/bin/)?ssh"'), ("app/protocol/worker_command.cpp",), "app/protocol/worker_command.h"),
    # A terminal obeys escape sequences in what workers and files say.
    (("app/cli/",), re.compile(r"\bfmt::print\(|\bstd::(cout|cerr|clog|puts|printf|fprintf)\b"), (),
     "print() of app/cli/terminal.h"),
)

FORBIDDEN_WORDS = {"fast", "optimized", "new", "v2", "helper", "util", "utils", "manager", "data", "info"}

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)


def sources(root):
    for folder in LAYERS + ["tests"]:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in SOURCES and path.is_file():
                yield path


def includes_of(path):
    """(quoted, name) of every include line."""
    text = path.read_text(encoding="utf-8", errors="replace")
    return [(mark == '"', name) for mark, name in INCLUDE.findall(text)]


def check_direction(root):
    for path in sources(root):
        name = path.relative_to(root).as_posix()
        own = name.split("/")[0]
        for quoted, target in includes_of(path):
            if not quoted:
                continue
            layer = target.split("/")[0]
            if layer not in LAYERS + ["tests"]:
                yield f'{name} includes "{target}": includes are written from the root of the repository'
            elif own in LAYERS and (layer == "tests" or LAYERS.index(layer) > LAYERS.index(own)):
                yield f'{name} includes "{target}", which points right: {" <- ".join(LAYERS)}'


def check_window(root):
    """Follows includes from app/gui and app/cli; each violation names the way that leads there."""
    ways = {}
    for path in sources(root):
        name = path.relative_to(root).as_posix()
        if name.startswith(WINDOW):
            ways[name] = name
    pending = list(ways)
    while pending:
        name = pending.pop()
        for quoted, target in includes_of(root / name):
            way = f"{ways[name]} > {target}"
            if CUDA_HEADER.match(target.rsplit("/", 1)[-1]):
                yield f"the window reaches a CUDA header: {way}"
            elif quoted and target not in ways:
                ways[target] = way
                if not target.startswith(WINDOW_MAY_USE):
                    yield f"the window may not use {target}: {way}"
                elif (root / target).is_file():
                    pending.append(target)


def check_headers(root):
    for path in sources(root):
        if path.suffix not in {".h", ".cuh"}:
            continue
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
        if "#pragma once" not in lines:
            yield f"{path.relative_to(root).as_posix()} has no #pragma once"


def check_names(root):
    for folder in sorted(FOLDERS):
        for path in sorted((root / folder).rglob("*")):
            if "__pycache__" in path.parts:
                continue
            words = re.split(r"[^a-z0-9]+", path.name.lower())
            for word in FORBIDDEN_WORDS.intersection(words):
                yield f"{path.relative_to(root).as_posix()}: '{word}' says nothing; name what it is"


def check_default_stream(root):
    """Every use must have a wait behind it in its file: which is seen without parsing functions."""
    for path in sources(root):
        name = path.relative_to(root).as_posix()
        text = path.read_text(encoding="utf-8", errors="replace")
        if name.split("/")[0] not in LAYERS:
            continue
        for use in DEFAULT_STREAM.finditer(text):
            if not DEFAULT_STREAM_WAIT.search(text, use.end()):
                line = text.count("\n", 0, use.start()) + 1
                yield f"{name}:{line}: {use.group()}...) is not waited for, and the engine's streams do not wait either"


def check_one_place(root):
    for path in sources(root):
        name = path.relative_to(root).as_posix()
        text = path.read_text(encoding="utf-8", errors="replace")
        for folders, pattern, allowed, instead in ONE_PLACE:
            if not name.startswith(folders) or name in allowed:
                continue
            for use in pattern.finditer(text):
                line = text.count("\n", 0, use.start()) + 1
                yield f"{name}:{line}: {use.group()} is not written here; use {instead}"


def check_top_level(root):
    for path in sorted(root.iterdir()):
        hidden_or_built = path.name.startswith((".", "build"))
        if path.name not in TOP_LEVEL and not hidden_or_built:
            yield f"{path.name} does not belong on the top level"


def check(root):
    root = pathlib.Path(root)
    return [
        violation
        for rule in (check_direction, check_window, check_headers, check_names, check_default_stream, check_one_place,
                     check_top_level)
        for violation in rule(root)
    ]
