// `expertscope bench`: the table of kernels/README.md, or steps against their peers, on this
// machine, row by row as it is measured.
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/cli/arguments.h"
#include "app/cli/bench_options.h"
#include "app/cli/bench_rows.h"
#include "app/cli/command.h"
#include "app/cli/terminal.h"
#include "app/cli/worker_session.h"
#include "engine/input/free_output.h"
#include "engine/input/regular_file.h"
#include "engine/model/backend_traits.h"
#include "engine/model/values.h"

namespace app::cli {
namespace {

struct BenchOptions {
  engine::BenchOrder order;
  std::vector<std::string> shapes;
  StepBenchOptions steps;
  WorkerChoice worker;
  std::string output;
  bool json = false;
};

engine::Error wrong_suite(const char* what, const char* instead) {
  return {engine::ErrorCode::InvalidArgument,
          fmt::format("{}; choose what to time with --{}", what, instead)};
}

engine::Result<engine::BenchOrder> order_of(const BenchOptions& options) {
  engine::BenchOrder order = options.order;
  for (const std::string& text : options.shapes) {
    ENGINE_ASSIGN(const engine::BenchShape shape, engine::parse_bench_shape(text));
    order.shapes.push_back(shape);
  }
  if (engine::times_steps(order.suite)) {
    if (!options.shapes.empty())
      return wrong_suite("--shapes belongs to the quantize suite", "presets");
    ENGINE_ASSIGN(order.steps, options.steps.order(engine::step_of(order.suite)));
    // The default presets are known once the worker has reported what it runs on.
    if (order.steps.shapes.empty()) return order;
  } else if (options.steps.given()) {
    return wrong_suite(
        "--presets, --routing, --torch and --deepgemm belong to the linear suite, all but the last "
        "to the layer suite too",
        "shapes");
  }
  ENGINE_TRY(engine::validate(order));
  return order;
}

engine::Status add_default_presets(engine::BenchOrder& order, const WorkerHello& hello) {
  bool gpu = false;
  for (const BackendOffer& offer : hello.backends) {
    gpu = gpu || (offer.available && engine::traits_of(offer.kind).device);
  }
  ENGINE_ASSIGN(order.steps.shapes,
                default_step_shapes(engine::step_of(order.suite), order.cpu || !gpu));
  return engine::validate(order);
}

/// Writes rows as they arrive.
class RowWriter {
 public:
  RowWriter(engine::BenchSuite suite, bool json, std::ofstream* file)
      : suite_(suite), json_(json), file_(file), date_(date_text()) {}

  void start(const BenchStart& start) {
    start_ = start;
    // In every row of JSON too, but a user who asked for a peer should not have to look for it.
    if (!start.peer_missing.empty() && json_) {
      print(stderr, "no peer: {}\n", start.peer_missing);
    }
    if (json_) return;
    print("{:<8}{}\n{}", "date", date_, bench_header(suite_, start_));
    std::fflush(stdout);
  }

  template <class Report>
  void row(const Report& report) {
    const std::string json = row_json(start_, date_, report);
    const std::string header = shape_header(start_, report.row);
    if (file_ != nullptr) *file_ << json << std::flush;
    if (json_) {
      print("{}", json);
    } else {
      if (header != header_) print("{}", header);
      print("{}", row_line(start_, report));
    }
    header_ = header;
    std::fflush(stdout);
  }

 private:
  const engine::BenchSuite suite_;
  const bool json_;
  std::ofstream* file_;
  const std::string date_;
  BenchStart start_;
  std::string header_;  // of the shape whose rows were written last
};

engine::Status follow(WorkerSession& session, const engine::BenchOrder& order, RowWriter& writer) {
  ENGINE_TRY(session.submit(order));
  bool cancelled = false;
  const InterruptWatch interrupt;
  // Rows that appear on the same terminal are its progress.
  const bool rows_are_seen = ::isatty(STDERR_FILENO) != 0 && ::isatty(STDOUT_FILENO) != 0;
  const auto end = session.wait(
      [&writer](const LinkEvent& event) {
        if (const auto* start = std::get_if<BenchStart>(&event)) writer.start(*start);
        if (const auto* row = std::get_if<BenchRowReport>(&event)) writer.row(*row);
        if (const auto* row = std::get_if<StepRowReport>(&event)) writer.row(*row);
        return std::holds_alternative<BenchDone>(event);
      },
      [&](const LinkStatus& status) {
        if (!rows_are_seen) session.progress().show(status);
        if (!interrupt.seen() || cancelled) return;
        cancelled = true;
        session.link().cancel();
      });
  session.progress().erase();
  return end.ok() ? engine::Status() : end.error();
}

/// The exit code: rows that did not reach the disk are an error.
int check_complete(std::optional<std::ofstream>& file, const std::string& path) {
  if (!file || file->flush()) return kExitOk;
  return report(
      {engine::ErrorCode::Io, fmt::format("{} is incomplete: no space or a disk error", path)});
}

/// Once it is known that there will be rows: an order that fails leaves no file.
engine::Status open_output(const std::string& path, std::optional<std::ofstream>& file) {
  if (path.empty()) return {};
  const engine::Status regular = engine::check_regular_file(path);
  if (!regular.ok() && regular.error().code != engine::ErrorCode::NotFound) {
    return engine::Error{regular.error().code, regular.error().message + "; choose another file"};
  }
  ENGINE_TRY(engine::require_new_file(path));
  file.emplace(path, std::ios::trunc);
  if (*file) return {};
  return engine::Error{engine::ErrorCode::Io,
                       fmt::format("{} cannot be written; choose another file", path)};
}

int bench(const BenchOptions& options) {
  engine::Result<engine::BenchOrder> order = order_of(options);
  if (!order.ok()) return report(order.error());
  std::optional<std::ofstream> file;
  const engine::Result<std::unique_ptr<WorkerSession>> started =
      WorkerSession::start(options.worker);
  if (!started.ok()) return report(started.error());
  WorkerSession& session = *started.value();
  if (engine::times_steps(order.value().suite) && order.value().steps.shapes.empty()) {
    const engine::Status added = add_default_presets(order.value(), session.hello());
    if (!added.ok()) return report(added.error());
  }
  if (const engine::Status opened = open_output(options.output, file); !opened.ok()) {
    return report(opened.error());
  }
  RowWriter writer(order.value().suite, options.json, file ? &*file : nullptr);
  const engine::Status done = follow(session, order.value(), writer);
  if (!done.ok()) {
    const int code = report(done.error());
    // Stopped by the user: nothing failed, but the suite is incomplete.
    return done.error().code == engine::ErrorCode::Cancelled ? kExitUserError : code;
  }
  return check_complete(file, options.output);
}

}  // namespace

void add_bench_command(CLI::App& program, Action& chosen) {
  CLI::App& command = *program.add_subcommand(
      "bench",
      "Time the quantize kernels against a copy, or linear steps or whole expert layers against "
      "PyTorch, with clock and power of the device");
  const auto options = std::make_shared<BenchOptions>();
  add_choice(command, "--suite", options->order.suite, "What to time (default: quantize)");
  command
      .add_option(
          "--shapes", options->shapes,
          "quantize: EXPERTSxROWSxCOLUMNS, optionally with :one-hot or :half, separated by commas "
          "(default: those of kernels/README.md; smaller ones on a CPU)")
      ->option_text("SHAPES")
      ->delimiter(',');
  command
      .add_option("--seconds", options->order.seconds, "Time for each shape, at least five rounds")
      ->capture_default_str();
  command.add_flag("--cpu", options->order.cpu, "Time the CPU even where there is a GPU");
  options->steps.add_to(command);
  command.add_flag("--json", options->json, "Print one JSON object per row");
  command
      .add_option("--out", options->output,
                  "Write the JSON objects to this file too, which must not exist yet")
      ->option_text("FILE");
  options->worker.add_to(command);
  command.callback([options, &chosen] { chosen = [options] { return bench(*options); }; });
}

}  // namespace app::cli
