#include "app/remote/worker_build.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "app/protocol/child_run.h"
#include "app/protocol/paths.h"
#include "app/protocol/terminal_text.h"
#include "app/remote/remote_script.h"

namespace app {
namespace {

namespace fs = std::filesystem;
using engine::Error;
using engine::ErrorCode;

/// Beside the assets in a source tree; an installation has none.
std::string build_script() {
  return (fs::path(assets_folder()) / "../app/build_cuda_worker").lexically_normal().string();
}

/// Beside the programs of this build, so that two build trees do not replace each other's.
std::string build_folder() {
  return (fs::path(executable_folder()) / "../cuda-worker").lexically_normal().string();
}

std::string programs_folder() { return build_folder() + "/bin"; }

template <class Number>
std::optional<Number> leading_number(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return std::nullopt;
  return number;
}

/// Each line that begins with `name` and '=', without them.
std::vector<std::string> values_of(std::string_view text, std::string_view name) {
  std::vector<std::string> values;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!line.starts_with(name) || !line.substr(name.size()).starts_with('=')) continue;
    line.remove_prefix(name.size() + 1);
    values.push_back(terminal_text(line));
  }
  return values;
}

engine::Result<ChildEnd> run_script(std::vector<std::string> argv, ChildRun run) {
  run.argv = std::move(argv);
  ENGINE_ASSIGN(std::optional<ChildEnd> end, run_child(run));
  if (!end) return Error{ErrorCode::Cancelled, "building the worker with CUDA was cancelled"};
  return *std::move(end);
}

}  // namespace

engine::Result<CudaWorkerPlan> plan_cuda_worker(const std::function<bool()>& stop) {
  CudaWorkerPlan plan;
  const std::string script = build_script();
  std::error_code error;
  if (!fs::is_regular_file(script, error)) {
    plan.cannot =
        "this installation has no worker with CUDA, and one is only built from the source tree: "
        "install a package that was built with CUDA, or start app/run of the source tree";
    return plan;
  }
  ENGINE_ASSIGN(const ChildEnd end, run_script({script, "--plan"}, {.argv = {}, .stop = stop}));
  if (!end.succeeded()) {
    return Error{ErrorCode::Io,
                 fmt::format("{} --plan failed: {}", script, last_line(end.errors, end.how))};
  }
  const std::vector<std::string> missing = values_of(end.output, "missing");
  if (!missing.empty()) {
    plan.cannot = fmt::format(
        "{} {} missing here, so that no worker with CUDA can be built; app/run --setup installs "
        "what is needed",
        fmt::join(missing, ", "), missing.size() == 1 ? "is" : "are");
  }
  plan.built = fs::is_regular_file(programs_folder() + "/expertscope-worker", error);
  plan.fetches = values_of(end.output, "fetch");
  for (const std::string& value : values_of(end.output, "cpu_minutes")) {
    plan.cpu_minutes = leading_number<int>(value).value_or(0);
  }
  return plan;
}

std::string plan_words(const CudaWorkerPlan& plan, int processors) {
  processors = std::max(processors, 1);
  const int minutes = std::max((plan.cpu_minutes + processors - 1) / processors, 1);
  const std::string time =
      fmt::format("compiles for about {} minute{} on the {} processor{} here", minutes,
                  minutes == 1 ? "" : "s", processors, processors == 1 ? "" : "s");
  if (plan.fetches.empty()) return fmt::format("It {}.", time);
  return fmt::format("It fetches {} from PyPI, then {}.", fmt::join(plan.fetches, " and "), time);
}

BuildProgress build_progress(const std::string& line) {
  BuildProgress progress{.words = terminal_text(line)};
  if (!line.starts_with('[')) return progress;
  const std::size_t slash = line.find('/');
  const auto done = leading_number<int>(std::string_view(line).substr(1));
  const auto all = slash == std::string::npos ? done : leading_number<int>(line.substr(slash + 1));
  if (slash == std::string::npos || !done || !all || *all <= 0 || *done < 0 || *done > *all) {
    return progress;
  }
  return {.words = fmt::format("Compiling, file {} of {}", *done, *all),
          .fraction = static_cast<double>(*done) / *all};
}

engine::Result<WorkerBundle> build_cuda_bundle(
    const std::function<void(const BuildProgress&)>& progress, const std::function<bool()>& stop) {
  std::string last;
  const auto line = [&](const std::string& text) {
    if (text.empty()) return;
    last = terminal_text(text);
    if (progress) progress(build_progress(text));
  };
  // Below the window, which stays usable meanwhile.
  ENGINE_ASSIGN(const ChildEnd end,
                run_script({"/usr/bin/env", "nice", build_script(), build_folder()},
                           {.argv = {}, .output_line = line, .error_line = line, .stop = stop}));
  if (!end.succeeded()) {
    return Error{ErrorCode::Io, fmt::format("the worker with CUDA could not be built: {}",
                                            last.empty() ? end.how : last)};
  }
  return provide_bundle(programs_folder(), stop);
}

}  // namespace app
