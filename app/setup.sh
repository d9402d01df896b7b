# shellcheck shell=bash disable=SC2034
# Set-up shared by app/run and tests/run: packages, CUDA toolkit, cuBLASLt, configuring, building.
# Sourced, never run. Asks the network only for what is missing, and says each thing it does.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/expertscope

build_packages=(build-essential cmake ninja-build pkg-config libimgui-dev libstb-dev libglfw3-dev libgl-dev
                libopengl-dev libprotobuf-dev protobuf-compiler libsqlite3-dev libzstd-dev libopenblas-dev
                libcli11-dev libfmt-dev libspdlog-dev nlohmann-json3-dev libpng-dev fonts-inter
                fonts-jetbrains-mono libgl1-mesa-dri xvfb python3 python3-pip python3-venv ca-certificates)
test_packages=(libgtest-dev libgmock-dev libbenchmark-dev xdotool sqlite3)

cublas_version=13.10.0.20
cublas_sha256=dcc6d63884c53d07e267ce7e6feac17b2538cebaafec5db865736c3e28e4dc84

say() { printf '%s\n' "$*" >&2; }
die() {
  say "error: $*"
  exit 1
}

# Installs the packages that dpkg does not list as installed; apt is not touched when none is missing.
need_packages() {
  command -v dpkg-query >/dev/null || {
    say "No dpkg here: packages are only checked on Debian 12 and Ubuntu 24.04. Building with what there is."
    return 0
  }
  local package missing=()
  for package in "$@"; do
    # The status has three words; "deinstall ok config-files" also answers with success.
    [[ $(dpkg-query -W -f '${Status}' "$package" 2>/dev/null) == *" ok installed" ]] || missing+=("$package")
  done
  ((${#missing[@]})) || return 0
  if ((EUID != 0)); then
    say "Missing packages. Run this once, then start again:"
    say "  sudo apt-get update && sudo apt-get install -y --no-install-recommends ${missing[*]}"
    exit 1
  fi
  say "Installing ${missing[*]}"
  apt-get update -qq || die "apt-get update failed; check the network and the package sources"
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >&2 ||
    die "apt-get could not install: ${missing[*]}"
}

# Sets nvcc to the compiler of a CUDA toolkit 13.0 or newer, or leaves it empty and sets no_cuda to why.
find_nvcc() {
  nvcc=$(command -v nvcc || true)
  [[ -n $nvcc || ! -x /usr/local/cuda/bin/nvcc ]] || nvcc=/usr/local/cuda/bin/nvcc
  no_cuda=
  if [[ -z $nvcc ]]; then
    no_cuda="no CUDA toolkit (no nvcc on PATH or in /usr/local/cuda/bin)"
    return
  fi
  nvcc=$(readlink -f "$nvcc")
  local release
  release=$("$nvcc" --version | sed -n 's/.*release \([0-9]*\)\.\([0-9]*\).*/\1.\2/p')
  if [[ ! $release =~ ^[0-9]+\.[0-9]+$ ]] || ((${release%.*} < 13)); then
    no_cuda="$nvcc is CUDA ${release:-of unknown version}; 13.0 or newer is needed"
    nvcc=
  fi
}

# The toolkit's own cuBLASLt as major*100+minor, 0 when there is none.
toolkit_cublas() {
  local header=$1/include/cublas_api.h major minor
  [[ -r $header && -r $1/include/cublasLt.h ]] || header=/dev/null
  major=$(sed -n 's/^#define CUBLAS_VER_MAJOR \([0-9]*\).*/\1/p' "$header")
  minor=$(sed -n 's/^#define CUBLAS_VER_MINOR \([0-9]*\).*/\1/p' "$header")
  echo $((${major:-0} * 100 + ${minor:-0}))
}

# Downloads the pinned nvidia-cublas wheel and keeps its headers and libcublasLt.so.13 in $1. All in a
# temporary folder next to $1 that is renamed at the end: an interrupted download leaves nothing half done.
# Called as a condition, where errexit is off: every step that may fail returns by itself.
fetch_cublas() {
  local target=$1 parent temporary python=python3
  parent=$(dirname "$target")
  mkdir -p "$parent" || return 1
  temporary=$(mktemp -d "$parent/.fetch-XXXXXX") || return 1
  # shellcheck disable=SC2064  # the folder of now, not of later
  trap "rm -rf '$temporary'" EXIT
  if ! python3 -m pip --version >/dev/null 2>&1; then
    python3 -m venv "$temporary/venv" >&2 || return 1
    python=$temporary/venv/bin/python
  fi
  say "Fetching nvidia-cublas $cublas_version (once, about 400 MB; kept: headers and libcublasLt)"
  "$python" -m pip download --no-deps --only-binary=:all: --disable-pip-version-check --progress-bar on \
    --dest "$temporary" "nvidia-cublas==$cublas_version" >&2 || return 1
  local wheels=("$temporary"/*.whl)
  if ! echo "$cublas_sha256  ${wheels[0]}" | sha256sum --check --status; then
    say "The downloaded ${wheels[0]##*/} does not have the expected SHA-256 $cublas_sha256; it is not used."
    return 1
  fi
  say "Unpacking"
  "$python" - "${wheels[0]}" "$temporary/kept" <<'PYTHON' || return 1
import pathlib, shutil, sys, zipfile
wheel, kept = sys.argv[1], pathlib.Path(sys.argv[2])
prefix = "nvidia/cu13/"
with zipfile.ZipFile(wheel) as archive:
    for entry in archive.infolist():
        name = entry.filename.removeprefix(prefix)
        header = name.startswith("include/") and not entry.is_dir()
        if name == entry.filename or not (header or name == "lib/libcublasLt.so.13"):
            continue
        target = kept / name
        target.parent.mkdir(parents=True, exist_ok=True)
        with archive.open(entry) as source, open(target, "wb") as sink:
            shutil.copyfileobj(source, sink, 1 << 20)
PYTHON
  [[ -r $temporary/kept/include/cublasLt.h && -r $temporary/kept/lib/libcublasLt.so.13 ]] || return 1
  rm -rf "$target" && mv -T "$temporary/kept" "$target" || return 1
  rm -rf "$temporary"
  trap - EXIT
}

# Sets cublas_root for the CUDA flavour; without a grouped cuBLASLt there is none, and no_cuda says why.
provide_cublas() {
  cublas_root=
  [[ -n $nvcc ]] || return 0
  local toolkit
  toolkit=$(dirname "$(dirname "$nvcc")")
  if (($(toolkit_cublas "$toolkit") >= 1306)); then
    cublas_root=$toolkit
    return 0
  fi
  local cached=$cache/cublas/$cublas_version
  if [[ ! -r $cached/include/cublasLt.h || ! -r $cached/lib/libcublasLt.so.13 ]]; then
    # In a subshell, so that its trap cleans up and is gone with it.
    if ! (fetch_cublas "$cached"); then
      no_cuda="nvidia-cublas $cublas_version could not be fetched, and the toolkit's own cuBLASLt is older than 13.6"
      nvcc=
      return 0
    fi
  fi
  cublas_root=$cached
}

# find_toolkit found|cpu: sets nvcc, cublas_root and no_cuda for what follows.
find_toolkit() {
  if [[ $1 == cpu ]]; then
    nvcc=""
    cublas_root=""
    no_cuda="--cpu or --sanitize asked for it"
    return 0
  fi
  find_nvcc
  provide_cublas
}

# Runs a command quietly; its output is shown only if it fails.
quietly() {
  local log=$1
  shift
  mkdir -p "$(dirname "$log")"
  "$@" >"$log" 2>&1 && return 0
  cat "$log" >&2
  return 1
}

# configure FOLDER ARGUMENT...: CMake with Ninja, flavour as found by find_nvcc and provide_cublas.
configure() {
  local folder=$1 selection=(-DEXPERTSCOPE_CUDA=OFF)
  shift
  if [[ -n ${nvcc:-} ]]; then
    selection=(-DEXPERTSCOPE_CUDA=ON "-DCMAKE_CUDA_COMPILER=$nvcc" "-DEXPERTSCOPE_CUBLAS_ROOT=$cublas_root")
    # A folder of the CPU flavour remembers that it found no header.
    selection+=("-DEXPERTSCOPE_CUBLAS_INCLUDE=$cublas_root/include")
  fi
  quietly "$folder/configure.log" cmake -S "$root" -B "$folder" -G Ninja "${selection[@]}" "$@" ||
    die "CMake could not configure $folder (its messages are above)"
}

# build FOLDER [TARGET...]
build() {
  local folder=$1 targets=()
  shift
  (($# == 0)) || targets=(--target "$@")
  cmake --build "$folder" --parallel "$(nproc)" "${targets[@]}" >&2 || die "the build in $folder failed (see above)"
}
