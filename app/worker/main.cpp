// expertscope-worker: speaks frames on stdin and stdout, runs requests, and ends with its window.
// Threads: this one reads commands, one runs the engine, one reads files that are asked about, one
// pulses, one reads the device while nothing runs; CUPTI adds its own.
#include <fcntl.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <future>
#include <map>
#include <system_error>

#include "app/protocol/descriptor.h"
#include "app/protocol/paths.h"
#include "app/worker/command_reader.h"
#include "app/worker/end_worker.h"
#include "app/worker/engine_loop.h"
#include "app/worker/file_questions.h"
#include "app/worker/frame_sender.h"
#include "app/worker/newest_ping.h"
#include "app/worker/order_slot.h"
#include "app/worker/pulse.h"
#include "engine/input/regular_file.h"
#include "engine/model/guarded_thread.h"

namespace {

constexpr std::chrono::seconds kEngineGrace{2};
constexpr std::chrono::seconds kFilesGrace{1};
constexpr int kExitWrongCall = 2;

/// Restarts this program with OpenMP threads that sleep while they wait. By default they spin: next
/// to a window that draws, a 12 ms run was measured at over a second. The runtime reads its setting
/// before main(), so setting it here alone would be too late.
void wait_without_spinning(char** argv) {
  if (::getenv("OMP_WAIT_POLICY") != nullptr) return;
  ::setenv("OMP_WAIT_POLICY", "passive", /*overwrite=*/0);
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (!error) ::execv(self.c_str(), argv);
  // exec failed: the worker is slower under load, not wrong.
}

/// Frames get their own descriptor, and stdout becomes stderr: a library that prints cannot corrupt
/// the stream.
app::UniqueFd take_stdout() {
  app::UniqueFd frames(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3));
  if (!frames.valid() || ::dup2(STDERR_FILENO, STDOUT_FILENO) < 0) frames.reset();
  return frames;
}

int work(const app::BackendOptions& options) {
  app::UniqueFd frames = take_stdout();
  if (!frames.valid()) {
    spdlog::error("stdout is closed; a worker needs it for its frames");
    return kExitWrongCall;
  }
  app::FrameSender sender(std::move(frames));
  engine::RunProgress progress;
  app::OrderSlot orders(progress);
  app::EngineLoop engine_loop(sender, orders, progress);
  app::IdleReadings readings(progress, {});
  app::FileQuestions files(
      [&](const app::FileReport& report) { static_cast<void>(sender.report(report).ok()); });
  app::NewestPing ping;
  app::CommandReader reader(STDIN_FILENO, sender, orders, files, readings, ping);

  int code = 0;
  bool engine_ended = false;
  {
    const app::Pulse pulse(sender, progress, engine_loop.dropped_records(), engine_loop.board(),
                           readings, ping);
    std::promise<void> engine_done;
    engine::GuardedThread engine_thread(
        [&] {
          engine_loop.run(options, readings,
                          [&](const app::WorkerHello& hello) { reader.backends_ready(hello); });
          engine_done.set_value();
        },
        app::end_worker);
    code = reader.read_until_end();
    orders.close();
    // A reading checks its flag too, unless its disk does not answer.
    const bool files_ended = files.close(kFilesGrace);
    // A run checks its cancel flag between stages; one that is stuck in the driver never will.
    engine_ended = engine_done.get_future().wait_for(kEngineGrace) == std::future_status::ready;
    if (!engine_ended || !files_ended) ::_exit(code);
    engine_thread.join();
  }
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  wait_without_spinning(argv);
  // A write to a closed window fails with an error code and does not end the process.
  app::set_write_signals(app::ClosedPipe::FailsWrite);
  engine::survive_missing_pages();
  CLI::App program("Runs grouped quantize + GEMM requests for expertscope, over stdin and stdout.",
                   "expertscope-worker");
  app::BackendOptions options;
  const std::map<std::string, app::BackendChoice> choices = {{"auto", app::BackendChoice::Auto},
                                                             {"cpu", app::BackendChoice::Cpu},
                                                             {"cuda", app::BackendChoice::Cuda}};
  program
      .add_option("--cublaslt", options.cublaslt_path,
                  "cuBLASLt library to load (default: the first one found)")
      ->take_last();  // a window appends its choice after the original option
  program.add_option("--backend", options.choice, "Backends to offer: auto, cpu or cuda")
      ->transform(CLI::CheckedTransformer(choices))
      ->default_str("auto");
  program.add_flag(
      "!--no-tracing", options.tracing,
      "Leave CUPTI out of the process: runs have no activity records, and graphs replay as in a "
      "program without a tracer");
  program.set_version_flag("--version", app::worker_version());
  try {
    program.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return program.exit(error) == 0 ? 0 : kExitWrongCall;
  }

  spdlog::set_default_logger(spdlog::stderr_logger_mt("worker"));
  spdlog::set_pattern("%l: %v");
  if (::isatty(STDIN_FILENO) != 0) {
    spdlog::error("this program is started by expertscope and is not meant to be run by hand");
    return kExitWrongCall;
  }
  return work(options);
}
