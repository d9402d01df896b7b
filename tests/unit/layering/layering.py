"""The structure of the tree as rules: include direction, what the window may use, headers, file names.

check(root) returns one sentence for each violation; it needs nothing but the standard library.
"""

import pathlib
import re

LAYERS = ["kernels", "engine", "profiling", "app"]
# Inside a layer too, from the lowest to the highest: a folder includes only itself and what stands before it. Folders
# of one entry do not include each other. A file belongs to the longest name that fits.
ORDER = (
    ("kernels/common",),
    ("kernels/offsets", "kernels/amax", "kernels/activation", "kernels/bias", "kernels/hazards", "kernels/product", "kernels/permute"),
    ("kernels/quantize", "kernels/dequantize"),
    ("kernels/diagnostics",),
    ("engine/model",),
    ("engine/device", "engine/observe"),
    ("engine/input",),
    ("engine/quantize",),
    ("engine/program",),
    ("engine/gemm",),
    ("engine/linear",),
    ("engine/layer",),
    ("engine/backend",),
    ("engine/backend/cpu", "engine/backend/cuda"),
    ("engine/bench",),
    ("profiling/hazards/model",),
    ("profiling/trace", "profiling/power", "profiling/hazards/core_dump", "profiling/hazards/snapshot"),
    ("profiling/cupti", "profiling/hazards/rules"),
    ("profiling/hazards/report", "profiling/hazards/proofs", "profiling/attach/spool"),
    ("profiling/attach/preload", "profiling/attach/observed"),
    ("profiling/hazards/gallery",),
    ("profiling/session",),
    ("profiling/document",),
    ("profiling/compare",),
    ("profiling/export",),
    ("app/protocol",),
    ("app/doctor", "app/sweep"),
    ("app/remote",),
    ("app/attach",),
    ("app/plot",),
    ("app/page",),
    ("app/controllers", "app/worker"),
    ("app/gui/theme",),
    ("app/gui/controls",),
    ("app/gui/plot",),
    ("app/gui/cards",),
    # Pages know nothing of each other. The Graphs page is the doctor's: it shows graphs, and the doctor on them.
    ("app/gui/panels", "app/gui/compare"),
    ("app/gui/graph",),
    ("app/gui/doctor",),
    ("app/gui/shell",),
    ("app/cli",),
)
FOLDERS = {"app", "engine", "kernels", "profiling", "assets", "tests"}
TOP_LEVEL = FOLDERS | {"CMakeLists.txt", "README.md", "LICENSE"}
SOURCES = {".h", ".cuh", ".cpp", ".cu"}

# The window and the command line start here ...
WINDOW = ("app/gui/", "app/cli/")
# ... and may reach, over any number of includes, only these folders and headers: none knows CUDA.
WINDOW_MAY_USE = (
    "app/gui/",
    "app/cli/",
    "app/attach/",
    "app/controllers/",
    "app/doctor/",
    "app/page/",
    "app/plot/",
    "app/protocol/",
    "app/remote/",
    "app/sweep/",
    "engine/gemm/library_file.h",
    "engine/gemm/support.h",
    "engine/input/",
    "engine/model/",
    "engine/observe/graph_capture.h",
    "engine/observe/replay_watch.h",
    "engine/observe/step_observer.h",
    "engine/program/",
    "kernels/common/activation.h",
    "kernels/common/formats.h",
    "kernels/common/host_device.h",
    "profiling/attach/observed/",
    "profiling/attach/spool/",
    "profiling/compare/",
    "profiling/document/",
    "profiling/export/",
    "profiling/hazards/core_dump/",
    "profiling/hazards/model/",
    "profiling/hazards/report/",
    "profiling/hazards/rules/",
    "profiling/hazards/snapshot/",
    "profiling/power/power_refreshes.h",
    "profiling/power/power_summary.h",
    "profiling/power/ranked_steps.h",
    "profiling/power/step_times.h",
    "profiling/session/",
    "profiling/trace/",
)
CUDA_HEADER = re.compile(r"^(cuda|cupti|cublas|nvml|nvtx|generated_cuda)", re.IGNORECASE)

DRAWING_HEADER = re.compile(r"^(imgui|backends/imgui|GLFW/|GL/)", re.IGNORECASE)

# Runs on the default stream and, on device memory, after the call has returned ...
DEFAULT_STREAM = re.compile(r"\bcuda(Memset|Memcpy)(2D|3D)?\(")
# ... so that whoever uses it waits before the engine's streams, which do not, may go on.
DEFAULT_STREAM_WAIT = re.compile(r"\bcuda(StreamSynchronize\(cudaStreamLegacy|DeviceSynchronize\()")

# Calls that only some files may make, so that their care is taken everywhere: (where the rule holds, the call, why, the
# files that may).
PRODUCT = ("kernels/", "engine/", "profiling/", "app/")
ONE_PLACE = (
    (
        PRODUCT,
        re.compile(r"\b[Jj]son::(parse|accept|sax_parse)\("),
        "JSON comes in through engine/input/json_text.h, which bounds depth and size",
        ("engine/input/json_text.cpp",),
    ),
    (
        PRODUCT,
        re.compile(r"\bJsonStringToMessage\("),
        "JSON comes in through engine/input/json_text.h, which bounds depth and size",
        (),
    ),
    (
        PRODUCT,
        re.compile(r"\bifstream\b|\bfopen\("),
        "files are read through engine/input/regular_file.h, which waits for no FIFO",
        (
            # What the kernel tells: /proc and /sys.
            "engine/backend/cpu/machine.cpp",
            "engine/device/device_facts.cpp",
            "profiling/trace/host_thread.cpp",
        ),
    ),
    (
        PRODUCT,
        re.compile(
            r"\bImGui::(Text|TextUnformatted|TextWrapped|TextDisabled|TextColored|LabelText|BulletText|SetTooltip|CalcTextSize)\("
            r"|(->|\.)(AddText|RenderText|CalcTextSizeA)\("
        ),
        "text is drawn through app/gui/theme/text.h, which cuts what would end ImGui",
        ("app/gui/theme/text.cpp",),
    ),
    (
        PRODUCT,
        re.compile(r"\b(posix_spawnp?|v?fork|popen|system)\("),
        "children are started by app/protocol/child_process.h: below a guard, and never through a shell",
        (
            "app/protocol/child_process.cpp",
            "app/protocol/worker_guard.cpp",
            # A program of the user's, which goes on without this one.
            "app/attach/attached_program.cpp",
        ),
    ),
    (
        PRODUCT,
        re.compile(r"\bdlm?open\("),
        "libraries are loaded by engine/gemm/library_file.h, which checks what a person chose; others have fixed names",
        (
            "engine/gemm/library_file.cpp",
            # Names for the loader's own search: constants, or allowed as a path is.
            "engine/gemm/cublaslt_library.cpp",
            "app/gui/shell/display_libraries.cpp",
            "profiling/cupti/cupti_library.cpp",
            "profiling/power/nvml_library.cpp",
            # Only what the attached program has loaded itself.
            "profiling/attach/preload/communicator_hooks.cpp",
            "profiling/attach/preload/entry_points.cpp",
            "profiling/attach/preload/process.cpp",
            "profiling/attach/preload/stacks.cpp",
        ),
    ),
    (
        PRODUCT,
        re.compile(r"\bstd::(jthread\b|async\(|thread\b(?!::))|\bpthread_create\("),
        "threads are engine::GuardedThread (engine/model/guarded_thread.h): what they throw is somebody's error; in the "
        "window they are tasks and queues of app/controllers/background.h",
        # The last one is in other people's programs, with the C library alone; it cannot throw.
        ("engine/model/guarded_thread.h", "engine/model/guarded_thread.cpp", "profiling/attach/preload/marker_watch.cpp"),
    ),
    (
        ("app/",),
        re.compile(r'"(/usr/bin/)?ssh"'),
        "remote commands are made by app/protocol/worker_command.h, which quotes",
        # The connection that they share passes no command.
        ("app/protocol/worker_command.cpp", "app/remote/ssh_connection.cpp"),
    ),
    (
        PRODUCT,
        re.compile(
            r"(==|!=|\bcase)\s*(engine::)?(GemmBackend|WorkspaceStrategy|Scaling)::"
            r"|\b(GemmBackend|WorkspaceStrategy|Scaling)::\w+\s*(==|!=)"
        ),
        "a recipe, a backend or a strategy is asked what it can do: engine/model/recipe_traits.h and backend_traits.h",
        (),
    ),
    (
        PRODUCT,
        re.compile(r"\bOperationKind::|\busing enum (engine::)?OperationKind\b"),
        "what there is to say about an operation is a column of kOperations (engine/program/operations.h); only "
        "the program and its executors know the kinds",
        (
            "engine/program/operations.h",
            "engine/program/step_program.cpp",
            "engine/program/projection_program.h",
            "engine/program/projection_program.cpp",
            "engine/backend/cpu/cpu_expert_layer.cpp",
            "engine/backend/cpu/cpu_projection.cpp",
            "engine/backend/cpu/program_step.cpp",
            "engine/linear/grouped_step.cpp",
            "engine/linear/grouped_step_setup.cpp",
            "engine/layer/expert_layer_step.cpp",
        ),
    ),
    (
        ("app/cli/",),
        re.compile(r"\bfmt::print\(|\bstd::(cout|cerr|clog|puts|printf|fprintf)\b"),
        "the command line prints through app/cli/terminal.h: a terminal obeys escape sequences of workers and files",
        (),
    ),
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


def check_order(root):
    ranks = {folder: rank for rank, folders in enumerate(ORDER) for folder in folders}

    def place(name):
        """The folder of ORDER that `name` lies in."""
        return max((folder for folder in ranks if name.startswith(folder + "/")), key=len, default=None)

    for path in sources(root):
        name = path.relative_to(root).as_posix()
        layer = name.split("/")[0]
        if layer not in LAYERS:
            continue
        own = place(name)
        if own is None:
            yield f"{name}: ORDER does not name its folder"
            continue
        for quoted, target in includes_of(path):
            other = place(target) if quoted and target.startswith(layer + "/") else None
            if other and other != own and ranks[other] >= ranks[own]:
                yield f'{name} includes "{target}": {other} does not stand below {own}'


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


def check_controllers(root):
    """What the window does is tested without a window: it draws nothing (and ORDER keeps it below what does)."""
    for path in sources(root):
        name = path.relative_to(root).as_posix()
        if not name.startswith("app/controllers/"):
            continue
        for _, target in includes_of(path):
            if DRAWING_HEADER.match(target):
                yield f'{name} includes "{target}": a controller draws nothing'


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
                yield f"{path.relative_to(root).as_posix()}: '{word}' is meaningless; name what it is"


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
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
        for folders, call, why, files in ONE_PLACE:
            if name in files or not name.startswith(folders):
                continue
            for number, line in enumerate(lines, 1):
                if not line.lstrip().startswith(("//", "#")) and (use := call.search(line)):
                    yield f"{name}:{number}: {use.group()}: {why}"


def check_top_level(root):
    for path in sorted(root.iterdir()):
        hidden_or_built = path.name.startswith((".", "build"))
        if path.name not in TOP_LEVEL and not hidden_or_built:
            yield f"{path.name} does not belong on the top level"


def check(root):
    root = pathlib.Path(root)
    return [
        violation
        for rule in (check_direction, check_order, check_window, check_controllers, check_headers, check_names,
                     check_default_stream, check_one_place, check_top_level)
        for violation in rule(root)
    ]
