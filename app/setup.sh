# shellcheck shell=bash disable=SC2034
# Set-up shared by app/run and tests/run: packages, CUDA toolkit, cuBLASLt, configuring, building.
# Sourced, never run. Uses the network only for what is missing, and prints every step.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/expertscope

build_packages=(build-essential cmake ninja-build pkg-config libimgui-dev libstb-dev libglfw3-dev libgl-dev
                libprotobuf-dev protobuf-compiler libsqlite3-dev libzstd-dev zlib1g-dev libopenblas-dev
                libcli11-dev libfmt-dev libspdlog-dev nlohmann-json3-dev libpng-dev fonts-inter
                fonts-jetbrains-mono libgl1-mesa-dri openssh-client xvfb python3 python3-pip python3-venv ca-certificates)
# openssh-server: the machine that remote workers are tested on, with a configuration of its own.
test_packages=(libgtest-dev libgmock-dev libbenchmark-dev openssh-server procps xdotool sqlite3)
# Installed where the distribution has it; without it the test that needs it is skipped by name.
optional_test_packages=(chromium-headless-shell)
fuzz_packages=(clang libclang-rt-dev libomp-dev)

cublas_version=13.10.0.20

say() { printf '%s\n' "$*" >&2; }
die() {
  say "error: $*"
  exit 1
}

is_installed() {
  # The status has three words; "deinstall ok config-files" also exits with success.
  [[ $(dpkg-query -W -f '${Status}' "$1" 2>/dev/null) == *" ok installed" ]]
}

# Installs the packages that dpkg does not list as installed; apt is not touched when none is missing.
need_packages() {
  command -v dpkg-query >/dev/null || {
    say "No dpkg here: packages are only checked on Debian 12 and Ubuntu 24.04. Building with the installed ones."
    return 0
  }
  local package missing=()
  for package in "$@"; do
    is_installed "$package" || missing+=("$package")
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

# Installs those of the given packages that apt has, if it may; the others are left out.
want_packages() {
  local package available=()
  command -v dpkg-query >/dev/null && ((EUID == 0)) || return 0
  for package in "$@"; do
    is_installed "$package" || [[ -z $(apt-cache madison "$package" 2>/dev/null) ]] || available+=("$package")
  done
  need_packages "${available[@]}"
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

has_cached_cublas() {
  local cached=$cache/cublas/$cublas_version
  [[ -r $cached/include/cublasLt.h && -r $cached/lib/libcublasLt.so.13 ]]
}

# Sets cublas_root for the CUDA flavour; without a grouped cuBLASLt it is empty, and no_cuda says why.
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
  if ! has_cached_cublas; then
    if ! python3 -I "$root/assets/fetch_cublaslt.py" "$cublas_version" "$cached"; then
      no_cuda="nvidia-cublas $cublas_version could not be fetched, and the toolkit's own cuBLASLt is older than 13.6"
      nvcc=
      return 0
    fi
  fi
  cublas_root=$cached
}

# isolated PYTHON ARGUMENT...: runs in a fresh private folder, importing nothing from the current folder or from
# locations in PYTHON* or pip's variables; the rules are those of assets/fetch_cublaslt.py.
isolated() {
  local folder status=0
  folder=$(mktemp -d) || return 1
  python3 -I -c '
import runpy, sys
run = runpy.run_path(sys.argv[1])["python"]
sys.exit(run(sys.argv[2], sys.argv[3], *sys.argv[4:]).returncode)' \
    "$root/assets/fetch_cublaslt.py" "$1" "$folder" "${@:2}" || status=$?
  rm -rf "$folder"
  return "$status"
}

# provide_environment FOLDER LIST: makes FOLDER a Python environment with exactly the packages of LIST, each pinned by
# SHA-256. It holds a copy of the list: a changed list creates a fresh environment.
provide_environment() {
  local folder=$1 list=$2
  has_environment "$folder" "$list" && return 0
  say "Creating the Python environment $folder"
  rm -rf "$folder"
  mkdir -p "$(dirname "$folder")"
  isolated python3 -m venv "$folder" || die "python3 -m venv $folder failed"
  isolated "$folder/bin/python" -m pip install --quiet --disable-pip-version-check --only-binary=:all: --require-hashes \
    --requirement "$list" >&2 || die "pip could not install the packages of $list into $folder"
  cp "$list" "$folder/requirements.txt"
}

has_environment() {
  cmp -s "$2" "$1/requirements.txt"
}

# Sets venv to the environment of the tests.
provide_python() {
  venv=$cache/venv
  provide_environment "$venv" "$root/tests/support/requirements.txt"
}

# NVIDIA's compiler as PyPI has it, for machines without a toolkit. Sizes: of its wheels, and of the environment.
compiler_list=$root/app/cuda_compiler.txt
compiler_environment=$cache/cuda_compiler
compiler_size="115 MB (345 MB unpacked)"

# Sets nvcc to PyPI's.
provide_nvcc() {
  provide_environment "$compiler_environment" "$compiler_list"
  local toolkit=("$compiler_environment"/lib/python3*/site-packages/nvidia/cu13)
  nvcc=${toolkit[0]}/bin/nvcc
  [[ -x $nvcc ]] || die "the packages of $compiler_list hold no nvcc"
  # nvcc links with lib64, and CMake looks for the name without a version; wheels hold no links.
  ln -sfn lib "${toolkit[0]}/lib64"
  ln -sfn libcudart.so.13 "${toolkit[0]}/lib/libcudart.so"
  no_cuda=
}

# Detects an NVIDIA driver: its device, or its library if the device appears only on first use.
has_driver() {
  [[ -e /dev/nvidiactl ]] || [[ $(ldconfig -p 2>/dev/null) == *libcuda.so.1* ]]
}

# find_toolkit found|device|cpu: sets nvcc, cublas_root and no_cuda for what follows. With `device` the
# CUDA flavour is built only where it can run, so that 440 MB are not downloaded without a use.
find_toolkit() {
  nvcc=""
  cublas_root=""
  case $1 in
    cpu)
      no_cuda="requested by --cpu or --sanitize"
      return 0
      ;;
    device)
      if ! has_driver; then
        no_cuda="no NVIDIA driver here (--cuda builds the CUDA flavour anyway)"
        return 0
      fi
      ;;
  esac
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
    # A folder configured for the CPU flavour has cached that there is no header.
    selection+=("-DEXPERTSCOPE_CUBLAS_INCLUDE=$cublas_root/include")
  fi
  # CMake forgets every option when the compiler's path changes; starting afresh keeps those given here.
  local known
  known=$(sed -n 's/^CMAKE_CUDA_COMPILER:[^=]*=//p' "$folder/CMakeCache.txt" 2>/dev/null) || true
  [[ -z $known || -z ${nvcc:-} || $known == "$nvcc" ]] || selection+=(--fresh)
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
