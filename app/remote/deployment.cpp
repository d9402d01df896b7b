#include "app/remote/deployment.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <thread>
#include <utility>

#include "app/doctor/library_versions.h"
#include "app/protocol/paths.h"
#include "app/protocol/terminal_text.h"
#include "app/remote/found_worker.h"
#include "app/remote/remote_script.h"
#include "app/remote/worker_build.h"
#include "app/remote/worker_bundle.h"
#include "engine/gemm/library_file.h"
#include "engine/input/regular_file.h"
#include "profiling/document/quantity.h"

namespace app {
namespace {

namespace fs = std::filesystem;
using engine::Error;
using engine::ErrorCode;
using State = StepReport::State;

// Scripts for `sh -c`, each on one line because csh takes no line breaks in quotes, and without
// '!'. $1: the folder that is made, $2: the SHA-256 of its MANIFEST (of the library). They read an
// archive from standard input and leave nothing behind if they fail.
constexpr std::string_view kReceiveBundle =
    "umask 077; mkdir -p \"${1%/*}\" && t=$(mktemp -d \"${1%/*}/.incoming-XXXXXX\") || exit 1; "
    "trap 'rm -rf \"$t\"' EXIT; trap 'exit 1' HUP INT TERM PIPE; "
    "tar -xzf - -C \"$t\" --no-same-owner || exit 1; "
    "if [ \"$(sha256sum <\"$t/MANIFEST\")\" = \"$2  -\" ] && (cd \"$t\" && sha256sum --quiet -c "
    "MANIFEST >&2 && [ -z \"$(find . -type l -o -type p -o -type s)\" ] && [ \"$(find . -type f | "
    "wc -l)\" -eq \"$(($(wc -l <MANIFEST) + 1))\" ]); then touch \"$t/MANIFEST\" && rm -rf \"$1\" "
    "&& mv -T \"$t\" \"$1\"; else echo 'what arrived is not what was sent' >&2; exit 1; fi";
constexpr std::string_view kReceiveLibrary =
    "umask 077; mkdir -p \"${1%/*}\" && t=$(mktemp -d \"${1%/*}/.incoming-XXXXXX\") || exit 1; "
    "trap 'rm -rf \"$t\"' EXIT; trap 'exit 1' HUP INT TERM PIPE; mkdir \"$t/lib\" && "
    "gzip -dc >\"$t/lib/libcublasLt.so.13\" || exit 1; "
    "if [ \"$(sha256sum <\"$t/lib/libcublasLt.so.13\")\" = \"$2  -\" ]; then rm -rf \"$1\" && mv "
    "-T \"$t\" \"$1\"; else echo 'what arrived is not what was sent' >&2; exit 1; fi";
// Those that nobody has connected to for two days: a queue may start one later.
constexpr std::string_view kRemoveOld =
    "for one; do if [ -n \"$(find \"$one/MANIFEST\" -mtime +1)\" ]; then rm -rf \"$one\"; fi; done";

constexpr std::uint64_t kUnpacked = 5;  // times the archive: more than was seen

std::string size_words(std::uint64_t bytes) { return profiling::bytes_text(bytes); }

/// One connecting: its steps share the connection, the facts and the callbacks.
class Connecting {
 public:
  Connecting(const ConnectOptions& options, const ConnectCallbacks& callbacks)
      : options_(options), callbacks_(callbacks) {}

  engine::Result<ConnectedMachine> run() {
    ENGINE_TRY(ended(ConnectStep::Reach, reach()));
    ENGINE_TRY(ended(ConnectStep::Look, look()));
    ENGINE_TRY(ended(ConnectStep::Worker, provide_worker()));
    ENGINE_TRY(ended(ConnectStep::Library, provide_library()));
    ConnectedMachine made{.ssh = ssh_, .machine = machine_, .worker = {}};
    made.worker.program = folder() + "/bin/expertscope-worker";
    made.worker.remote = options_.host;
    made.worker.ssh_options = ssh_->options();
    made.worker.launcher = options_.launcher;
    if (own_cxx_library_) {
      made.worker.environment.push_back("LD_LIBRARY_PATH=" + folder() + "/lib/expertscope/c++");
    }
    if (options_.gpu >= 0) {
      // By default CUDA counts the fastest device first; nvidia-smi counts by the bus.
      made.worker.environment.emplace_back("CUDA_DEVICE_ORDER=PCI_BUS_ID");
      made.worker.environment.push_back(fmt::format("CUDA_VISIBLE_DEVICES={}", options_.gpu));
    }
    return made;
  }

 private:
  void report(ConnectStep step, State state, std::string words, double fraction = -1) const {
    if (callbacks_.report) callbacks_.report({step, state, std::move(words), fraction});
  }
  engine::Status ended(ConnectStep step, const engine::Status& status) const {
    if (!status.ok()) report(step, State::Failed, status.error().message);
    return status;
  }
  std::string folder() const { return machine_.cache + '/' + bundle_.name; }

  /// Runs a command there; an error unless it succeeds.
  engine::Result<ChildEnd> perform(const std::string& command, ChildRun run,
                                   std::string_view what) const {
    run.stop = callbacks_.stop;
    return performed_on(*ssh_, command, std::move(run), what);
  }

  engine::Status reach() {
    report(ConnectStep::Reach, State::Doing, "Connecting with ssh", 0);
    ENGINE_ASSIGN(std::unique_ptr<SshConnection> ssh,
                  SshConnection::open(options_.host, callbacks_.ask, callbacks_.stop));
    ssh_ = std::move(ssh);
    report(ConnectStep::Reach, State::Done, "Connected with ssh");
    return {};
  }

  engine::Status look() {
    report(ConnectStep::Look, State::Doing, "Packing the worker of this program", 0);
    ENGINE_ASSIGN(bundle_, provide_bundle(executable_folder(), callbacks_.stop));
    report(ConnectStep::Look, State::Doing, "Looking at the machine", 0);
    ENGINE_TRY(look_for(bundle_));
    if (!machine_.cannot.empty()) {
      return Error{ErrorCode::Device,
                   fmt::format("no worker can be kept on {}: {}; set XDG_CACHE_HOME there to a "
                               "folder that can hold programs",
                               options_.host, machine_.cannot)};
    }
    const BundleFit fit = bundle_fit(machine_);
    if (!fit.refused.empty()) {
      return Error{ErrorCode::Unsupported,
                   fmt::format("no worker runs on {}: {}", options_.host, fit.refused)};
    }
    own_cxx_library_ = fit.own_cxx_library;
    // A launcher starts the worker on a machine of its own choice.
    if (options_.gpu >= 0 && options_.launcher.empty() &&
        std::ranges::find(machine_.gpus, options_.gpu, &GpuFacts::index) == machine_.gpus.end()) {
      return Error{ErrorCode::InvalidArgument,
                   fmt::format("GPU {} is not on {}, which has {}: {}", options_.gpu, options_.host,
                               machine_.gpus.size(), machine_words(machine_))};
    }
    report(ConnectStep::Look, State::Done,
           machine_words(machine_) + ", " + found_worker_words(machine_, bundle_.name));
    return {};
  }

  engine::Status look_for(const WorkerBundle& bundle) {
    // `sh -s` reads the script from standard input, whichever shell the login shell is.
    ENGINE_ASSIGN(const ChildEnd answer, perform("sh -s -- " + shell_quoted(bundle.name),
                                                 {.argv = {}, .input = std::string(kLookScript)},
                                                 "looking at the machine"));
    ENGINE_ASSIGN(machine_, parse_machine(answer.output));
    return {};
  }

  /// A launcher may start the worker on another machine that has one.
  bool may_have_gpu() const {
    return !options_.launcher.empty() || !machine_.gpus.empty() || !machine_.driver.empty();
  }

  /// Where there is a GPU, a worker with CUDA takes the place of one without, if it can be built
  /// here and the user agrees; no_cuda_ says why not. A build that fails is an error: the next
  /// attempt can decline it.
  engine::Status provide_cuda() {
    if (bundle_.cuda || !may_have_gpu()) return {};
    ENGINE_ASSIGN(const CudaWorkerPlan plan, plan_cuda_worker(callbacks_.stop));
    no_cuda_ = plan.cannot;
    if (!no_cuda_.empty()) return {};
    if (!plan.built && !agreed_to(plan)) {
      no_cuda_ =
          "the worker of this build has no CUDA, and none was built: `expertscope bundle "
          "--cuda` builds one";
      return {};
    }
    const std::string words = "Building a worker with CUDA";
    report(ConnectStep::Worker, State::Doing, words, 0);
    ENGINE_ASSIGN(bundle_, build_cuda_bundle(
                               [&](const BuildProgress& progress) {
                                 report(ConnectStep::Worker, State::Doing,
                                        words + ": " + progress.words, progress.fraction);
                               },
                               callbacks_.stop));
    return look_for(bundle_);
  }

  bool agreed_to(const CudaWorkerPlan& plan) const {
    if (!callbacks_.ask) return false;
    const auto processors = static_cast<int>(std::thread::hardware_concurrency());
    const std::optional<std::string> answer = callbacks_.ask(
        {.kind = ConnectQuestion::Kind::Build,
         .text = fmt::format("{} {}, and the worker of this build has no CUDA. Build one that has? "
                             "{} Without it, runs use the CPU there.",
                             options_.host,
                             machine_.gpus.empty() && machine_.driver.empty()
                                 ? "may start the worker where there is a GPU"
                                 : "has a GPU",
                             plan_words(plan, processors))});
    return answer && answer->starts_with('y');
  }

  engine::Status provide_worker() {
    ENGINE_TRY(provide_cuda());
    remove_old_bundles();
    if (machine_.has_bundle) {
      report(ConnectStep::Worker, State::Done, "The worker is already there, unchanged");
      return {};
    }
    const std::string size = size_words(bundle_.bytes);
    ENGINE_TRY(has_room(kUnpacked * bundle_.bytes, "the worker"));
    report(ConnectStep::Worker, State::Doing, "Sending the worker, " + size, 0);
    ENGINE_ASSIGN(const engine::RegularFile archive, engine::RegularFile::open(bundle_.path));
    ENGINE_TRY(perform(script_command(kReceiveBundle, {folder(), bundle_.name}),
                       sending(archive, ConnectStep::Worker, "Sending the worker, " + size),
                       "unpacking the worker"));
    report(ConnectStep::Worker, State::Done, "Sent the worker, " + size);
    return {};
  }

  /// Asked for before much is sent; what fills the disk meanwhile is reported by the command there.
  engine::Status has_room(std::uint64_t bytes, std::string_view what) const {
    if (machine_.free_bytes < 0) return {};  // not known
    const auto free = static_cast<std::uint64_t>(machine_.free_bytes);
    if (free >= bytes) return {};
    return Error{
        ErrorCode::Device,
        fmt::format("{} needs {} on {}, which has {} free in {}: make room, or set "
                    "XDG_CACHE_HOME there to another folder",
                    what, size_words(bytes), options_.host, size_words(free), machine_.cache)};
  }

  ChildRun sending(const engine::RegularFile& file, ConnectStep step, std::string words) const {
    ChildRun run{.argv = {}, .input_file = file.descriptor()};
    run.sent = [this, step, words = std::move(words),
                all = static_cast<double>(std::max<std::size_t>(file.size(), 1)),
                shown = -1.0](std::uint64_t bytes) mutable {
      const double fraction = static_cast<double>(bytes) / all;
      if (fraction - shown < 0.01 && fraction < 1) return;
      shown = fraction;
      report(step, State::Doing, words, fraction);
    };
    return run;
  }

  /// Bundles of other builds that no worker runs from. That some stay is no reason to fail.
  void remove_old_bundles() const {
    std::vector<std::string> old;
    for (const std::string& name : machine_.bundles) {
      const bool used = std::ranges::find(machine_.in_use, name) != machine_.in_use.end();
      if (is_bundle_name(name) && !used && name != bundle_.name)
        old.push_back(machine_.cache + '/' + name);
    }
    if (old.empty()) return;
    static_cast<void>(
        perform(script_command(kRemoveOld, old), {.argv = {}}, "removing former workers").ok());
  }

  engine::Status provide_library() {
    const std::string why_not = no_library_needed();
    if (!why_not.empty()) {
      report(ConnectStep::Library, State::Skipped, why_not);
      return {};
    }
    const engine::PinnedLibrary& pinned = engine::pinned_libraries().back();
    const std::string version(pinned.version);
    if (std::ranges::find(machine_.cublaslt, version) != machine_.cublaslt.end()) {
      report(ConnectStep::Library, State::Done,
             fmt::format("cuBLASLt {} is already there", version));
      return {};
    }
    std::string reasons;
    const auto try_one = [&](ProvideLibrary way, auto&& provide) {
      if (options_.library != ProvideLibrary::Automatic && options_.library != way) return false;
      const engine::Status status = provide();
      if (status.ok()) return true;
      reasons += (reasons.empty() ? "" : "; ") + status.error().message;
      return false;
    };
    if (try_one(ProvideLibrary::Fetch, [&] { return fetch_there(version); })) return {};
    if (stopped()) return Error{ErrorCode::Cancelled, "connecting was cancelled"};
    if (try_one(ProvideLibrary::Send, [&] { return send_from_here(version, pinned.sha256); }))
      return {};
    if (stopped()) return Error{ErrorCode::Cancelled, "connecting was cancelled"};
    report(
        ConnectStep::Library, State::Skipped,
        fmt::format("No cuBLASLt {}: {}. The worker takes what it finds there", version, reasons));
    return {};
  }

  bool stopped() const { return callbacks_.stop && callbacks_.stop(); }

  /// Why the machine gets no cuBLASLt; empty = it should have it.
  std::string no_library_needed() const {
    if (!may_have_gpu()) {
      return "No NVIDIA GPU there: runs use its CPU";
    }
    if (!bundle_.cuda) {
      return "Runs use the CPU there: " + no_cuda_;
    }
    if (options_.library == ProvideLibrary::Skip) {
      return "cuBLASLt is left out, as requested: the worker takes what it finds there";
    }
    return {};
  }

  engine::Status fetch_there(const std::string& version) {
    if (machine_.python.empty()) return Error{ErrorCode::NotFound, "there is no python3 there"};
    const std::string words = fmt::format("Fetching cuBLASLt {} there", version);
    report(ConnectStep::Library, State::Doing, words, 0);
    ChildRun run{.argv = {}};
    std::string last;
    run.error_line = [&](const std::string& line) {
      last = terminal_text(line);
      report(ConnectStep::Library, State::Doing, words + ": " + last);
    };
    const auto fetched = perform(
        script_command("exec python3 -I \"$1/share/expertscope/fetch_cublaslt.py\" \"$2\" \"$3\"",
                       {folder(), version, machine_.cache + "/cublas/" + version}),
        std::move(run), "fetching cuBLASLt from PyPI");
    if (!fetched.ok()) {
      return Error{fetched.error().code,
                   last.empty() ? fetched.error().message
                                : fmt::format("{}; it printed: {}", fetched.error().message, last)};
    }
    report(ConnectStep::Library, State::Done, fmt::format("Fetched cuBLASLt {} there", version));
    return {};
  }

  engine::Status send_from_here(const std::string& version, std::string_view sha256) {
    const std::string library = fetched_library(version);
    std::error_code error;
    if (library.empty() || !fs::is_regular_file(library, error)) {
      return Error{ErrorCode::NotFound,
                   fmt::format("cuBLASLt {} is not in the cache here either", version)};
    }
    ENGINE_TRY(engine::LibraryFile::open(library));  // it is the pinned one
    const std::string packed = library + ".gz";
    report(ConnectStep::Library, State::Doing, fmt::format("Compressing cuBLASLt {}", version), 0);
    ENGINE_TRY(compress(library, packed));
    ENGINE_ASSIGN(const engine::RegularFile archive, engine::RegularFile::open(packed));
    const std::string words =
        fmt::format("Sending cuBLASLt {}, {}", version, size_words(archive.size()));
    const std::string there = machine_.cache + "/cublas/" + version;
    ENGINE_TRY(perform(script_command(kReceiveLibrary, {there, std::string(sha256)}),
                       sending(archive, ConnectStep::Library, words), "unpacking cuBLASLt"));
    report(ConnectStep::Library, State::Done, fmt::format("Sent cuBLASLt {}", version));
    return {};
  }

  /// Kept beside the library for the next machine.
  engine::Status compress(const std::string& from, const std::string& to) const {
    std::error_code error;
    if (fs::is_regular_file(to, error)) return {};
    const std::string part = fmt::format("{}.{}", to, ::getpid());
    ENGINE_ASSIGN(
        const std::optional<ChildEnd> end,
        run_child({.argv = {"/bin/sh", "-c", "exec gzip -1 <\"$1\" >\"$2\"", "sh", from, part},
                   .stop = callbacks_.stop}));
    const bool done = end && end->succeeded();
    if (done) fs::rename(part, to, error);
    if (done && !error) return {};
    fs::remove(part, error);
    if (!end) return Error{ErrorCode::Cancelled, "connecting was cancelled"};
    return Error{ErrorCode::Io, fmt::format("{} cannot be compressed: {}", from,
                                            last_line(end->errors, end->how))};
  }

  const ConnectOptions& options_;
  const ConnectCallbacks& callbacks_;
  std::shared_ptr<const SshConnection> ssh_;
  WorkerBundle bundle_;
  MachineFacts machine_;
  bool own_cxx_library_ = false;
  std::string no_cuda_;  // why the worker has none, where there is a GPU
};

}  // namespace

engine::Result<ConnectedMachine> connect_machine(const ConnectOptions& options,
                                                 const ConnectCallbacks& callbacks) {
  return Connecting(options, callbacks).run();
}

WorkerCommand with_words_of(WorkerCommand connected, const WorkerCommand& typed) {
  connected.arguments = typed.arguments;
  connected.cublaslt = typed.cublaslt;
  connected.backend = typed.backend;
  connected.environment.insert(connected.environment.end(), typed.environment.begin(),
                               typed.environment.end());
  return connected;
}

}  // namespace app
