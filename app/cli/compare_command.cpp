// `expertscope compare`: one operand quantized with every recipe, as a table.
#include <fmt/format.h>

#include <cmath>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "app/cli/arguments.h"
#include "app/cli/batch_run.h"
#include "app/cli/command.h"
#include "app/cli/request_options.h"
#include "app/cli/terminal.h"
#include "app/cli/worker_session.h"
#include "engine/input/value_json.h"
#include "engine/model/median_interval.h"
#include "engine/model/recipe_words.h"
#include "profiling/export/setting_names.h"
#include "profiling/session/session_file.h"

namespace app::cli {
namespace {

struct CompareOptions {
  RequestOptions request;
  engine::ComparisonRequest comparison;
  engine::OperandRole operand = engine::OperandRole::Activations;
  std::vector<std::string> recipes;
  WorkerChoice worker;
  std::string output;
  bool json = false;
};

/// Bytes per second of a recipe's launches relative to those of the interleaved copies.
std::string share_of_copy(const engine::RecipeComparison& comparison,
                          const engine::QuantizationReport& report) {
  const double time = engine::median_of(report.times_ns);
  const double copy_time = engine::median_of(comparison.copy_times_ns);
  const double moved = static_cast<double>(report.moved_bytes) * copy_time;
  const double copied = static_cast<double>(comparison.copy_bytes) * time;
  return copied > 0.0 ? fmt::format("{:.2f}", moved / copied) : "none";
}

constexpr std::string_view kRow =
    "{:<42} {:<10} {:>8} {:>11} {:>9} {:>8} {:>12} {:>10} {:>7} {:>7} {:>7} {:>11} {:>7}\n";

void print_report(const engine::RecipeComparison& comparison,
                  const engine::QuantizationReport& report) {
  const char* direction = report.columnwise ? "columnwise" : "rowwise";
  const std::string title = profiling::recipe_title(report.recipe);
  if (!report.refused.empty()) {
    print("{:<42} {:<10} refused: {}\n", title, direction, report.refused);
    return;
  }
  const engine::OperandStatistics& statistics = report.statistics;
  const double bits = 8.0 * static_cast<double>(report.code_bytes + report.scale_bytes) /
                      static_cast<double>(statistics.elements);
  print(
      kRow, title, direction, decibels(statistics.snr_db), decibels(statistics.median_block_snr_db),
      statistics.left_out(), statistics.lost, statistics.underflowed, statistics.saturated,
      engine::binades_text(report.waste, report.waste.mean),
      engine::binades_text(report.waste, report.waste.max), fmt::format("{:.3f}", bits),
      report.times_ns.empty() ? "none"
                              : fmt::format("{:.3f} ms", engine::median_of(report.times_ns) / 1e6),
      report.times_ns.empty() ? "none" : share_of_copy(comparison, report));
}

void print_table(const engine::RecipeComparison& comparison) {
  print("{:<12}{}\n", "device", comparison.device.name);
  const std::uint64_t elements =
      comparison.reports.empty() ? 0 : comparison.reports.front().statistics.elements;
  const char* operand = comparison.request.weights     ? "weights of layer 0"
                        : comparison.request.gradients ? "gradients"
                                                       : "activations";
  print("{:<12}{}, {} elements\n\n", "operand", operand, elements);
  print(kRow, "recipe", "direction", "SNR dB", "typical dB", "left out", "lost", "underflowed",
        "saturated", "wasted", "worst", "bits", "median", "of copy");
  for (const engine::QuantizationReport& report : comparison.reports) {
    print_report(comparison, report);
  }
  print(
      "\ntypical dB: median over blocks of {} neighbours in a row of the SNR of each, which a few "
      "large elements do not decide\n"
      "left out: elements that are, or decode to, infinity or NaN; every SNR ignores them\n"
      "lost: finite elements among them\n"
      "wasted, worst: binades of the code's range that the scales leave unused, mean and largest\n",
      engine::kErrorBlock);
}

engine::Result<engine::ComparisonRequest> request_of(const CompareOptions& options) {
  engine::Result<engine::RunRequest> request =
      options.request.resolve(options.worker.input_files());
  if (!request.ok()) return request.error();
  engine::ComparisonRequest comparison = options.comparison;
  comparison.weights = options.operand == engine::OperandRole::Weights;
  comparison.gradients = options.operand == engine::OperandRole::Gradients;
  comparison.request = std::move(request).value();
  for (const std::string& name : options.recipes) {
    // The other settings of a recipe come from the request.
    engine::Recipe recipe = comparison.request.recipe;
    recipe.scaling = names_of<engine::Scaling>().at(name);
    comparison.recipes.push_back(recipe);
  }
  ENGINE_TRY(engine::validate(comparison));
  return comparison;
}

int compare(const CompareOptions& options) {
  const engine::Result<engine::ComparisonRequest> request = request_of(options);
  if (!request.ok()) return report(request.error());
  const auto created = create_recording(options.output);
  if (!created.ok()) return report(created.error());
  profiling::SessionWriter* const writer = created.value().get();
  WorkerChoice worker = options.worker;
  worker.note_library(request.value().request, options.request.library_file());
  const engine::Result<std::unique_ptr<WorkerSession>> started = WorkerSession::start(worker);
  if (!started.ok()) return report(started.error());
  auto done = started.value()->perform<engine::RecipeComparison>(request.value());
  if (!done.ok()) return report(done.error());
  const profiling::RecordedComparison recorded{.comparison = std::move(done).value(),
                                               .wall_clock_ms = profiling::unix_time_ms()};
  engine::Status kept = keep(writer, recorded);
  if (kept.ok()) kept = close_recording(writer);
  if (options.json) {
    print("{}\n", engine::to_json_text(recorded.comparison, /*indented=*/true));
  } else {
    print_table(recorded.comparison);
  }
  if (!kept.ok()) return report(kept.error());
  return kExitOk;
}

}  // namespace

void add_compare_command(CLI::App& program, Action& chosen) {
  CLI::App& command = *program.add_subcommand(
      "compare",
      "Quantize one operand rowwise and columnwise with every recipe; print error and time");
  const auto options = std::make_shared<CompareOptions>();
  add_choice(command, "--operand", options->operand, "Operand to quantize");
  command
      .add_option(
          "--recipes", options->recipes,
          "Recipes to compare, separated by commas; their other settings come from the request "
          "(default: all, as each is usually set)")
      ->option_text("NAMES")
      ->delimiter(',')
      ->transform(enumerator(engine::kType<engine::Scaling>));
  command
      .add_option("--timed-launches", options->comparison.timed_launches,
                  "Timed launches of each recipe and direction; 0 = numerics only")
      ->capture_default_str();
  command.add_option("--sample-row", options->comparison.sample_row, "First row of the sample")
      ->capture_default_str();
  command
      .add_option("--sample-column", options->comparison.sample_column,
                  "First column of the sample")
      ->capture_default_str();
  command
      .add_option("--output", options->output,
                  "Record the comparison to this file, which must not exist yet")
      ->option_text("SESSION");
  command.add_flag("--json", options->json, "Print the comparison as JSON");
  options->worker.add_to(command);
  options->request.add_to(command);
  command.callback([options, &chosen] { chosen = [options] { return compare(*options); }; });
}

}  // namespace app::cli
