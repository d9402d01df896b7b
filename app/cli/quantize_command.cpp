// `expertscope quantize`: what quantizing a user's tensor costs, by recipe and direction; or with
// --dump its codes, scales and amax as .npy files.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "app/cli/arguments.h"
#include "app/cli/command.h"
#include "app/cli/input_operand.h"
#include "app/cli/request_options.h"
#include "app/cli/terminal.h"
#include "app/cli/worker_session.h"
#include "engine/input/value_json.h"
#include "engine/model/recipe_words.h"
#include "profiling/document/quantity.h"
#include "profiling/document/run_document.h"
#include "profiling/document/underflow_words.h"

namespace app::cli {
namespace {

using engine::OperandRole;

struct QuantizeOptions {
  WorkerChoice worker;
  RequestOptions request;  // its recipe, seed and number of experts; the file gives the shape
  InputOperand input;
  std::string folder;
  std::optional<QuantizeDirections> directions;  // none = what the output usually has
  bool json = false;
};

/// The files and what was lost, with the direction in words: "files" are the worker's machine's.
nlohmann::ordered_json result_json(const QuantizeOrder& order, const QuantizeDone& done) {
  nlohmann::ordered_json document = {{"request", engine::to_json(order.request)},
                                     {"operand", engine::name_of(order.operand)},
                                     {"files", done.files},
                                     {"losses", nlohmann::ordered_json::array()}};
  for (const QuantizationLoss& loss : done.losses) {
    nlohmann::ordered_json entry = {{"direction", loss.columnwise ? "columnwise" : "rowwise"}};
    const nlohmann::ordered_json counts = engine::to_json(loss);
    for (const auto& [name, value] : counts.items()) {
      if (name != "columnwise") entry[name] = value;
    }
    document["losses"].push_back(std::move(entry));
  }
  return document;
}

/// The recipe that was chosen, else every recipe, each as it is usually set.
engine::ComparisonRequest comparison_of(const QuantizeOptions& options,
                                        const engine::RunRequest& request) {
  engine::ComparisonRequest order{.request = request,
                                  .weights = options.input.operand == OperandRole::Weights,
                                  .gradients = options.input.operand == OperandRole::Gradients,
                                  .timed_launches = 0};
  const bool chosen =
      options.request.given_field("recipe.scaling") || !options.request.file().empty();
  if (chosen) order.recipes = {request.recipe};
  // The sample is then around the largest element, wherever that is.
  const engine::ShapeSpec& shape = request.shape;
  order.sample_rows = order.weights ? shape.num_experts * shape.n : shape.rows;
  order.sample_columns = order.gradients ? shape.n : shape.k;
  return order;
}

/// Of the whole operand, which has its first row in the first expert.
struct LargestElement {
  double amax = profiling::kNaN;  // where no recipe ran
  std::int64_t row = -1;
  std::int64_t column = -1;
};

/// From the samples, which are around it.
LargestElement largest_of(const engine::RecipeComparison& comparison) {
  LargestElement largest;
  for (const engine::QuantizationReport& report : comparison.reports) {
    const engine::QuantizationSample& sample = report.sample;
    for (std::size_t i = 0; i < sample.original.size(); ++i) {
      const double magnitude = std::fabs(static_cast<double>(sample.original[i]));
      // A NaN is never larger, and everything is larger than none.
      if (std::isnan(magnitude) || magnitude <= largest.amax) continue;
      const auto columns = static_cast<std::size_t>(sample.columns);
      largest = {.amax = magnitude,
                 .row = sample.row + static_cast<std::int64_t>(i / columns),
                 .column = sample.column + static_cast<std::int64_t>(i % columns)};
    }
  }
  return largest;
}

/// Why none of the recipes ran, as an error; ok if one did.
engine::Status all_refused(const engine::RecipeComparison& comparison) {
  if (comparison.reports.empty()) return {};
  std::vector<std::string> reasons;
  for (const engine::QuantizationReport& report : comparison.reports) {
    if (report.refused.empty()) return {};
    if (std::ranges::find(reasons, report.refused) == reasons.end()) {
      reasons.push_back(report.refused);
    }
  }
  return invalid_argument(fmt::format("{}", fmt::join(reasons, "; ")));
}

bool wanted(QuantizeDirections directions, bool columnwise) {
  return directions == QuantizeDirections::Both ||
         columnwise == (directions == QuantizeDirections::Columnwise);
}

/// The figures alone; nothing is written.
int print_figures(const QuantizeOptions& options, const engine::RunRequest& request) {
  const engine::ComparisonRequest order = comparison_of(options, request);
  if (const engine::Status limits = engine::validate(order); !limits.ok()) {
    return report(limits.error());
  }
  WorkerChoice worker = options.worker;
  worker.note_library(order.request, options.request.library_file());
  engine::Result<std::unique_ptr<WorkerSession>> started = WorkerSession::start(worker);
  if (!started.ok()) return report(started.error());
  auto done = started.value()->perform<engine::RecipeComparison>(order);
  if (!done.ok()) return report(done.error());
  profiling::RecordedComparison recorded{.comparison = std::move(done).value()};
  if (options.directions) {
    std::erase_if(recorded.comparison.reports, [&](const engine::QuantizationReport& one) {
      return !wanted(*options.directions, one.columnwise);
    });
  }
  if (const engine::Status ran = all_refused(recorded.comparison); !ran.ok()) {
    return report(ran.error());
  }
  const LargestElement largest = largest_of(recorded.comparison);
  // Scales are of an infinite amax otherwise, which is not the printed one.
  const bool all_finite = std::ranges::all_of(
      recorded.comparison.reports,
      [](const engine::QuantizationReport& one) { return one.statistics.undefined == 0; });
  if (options.json) {
    nlohmann::ordered_json document = {{"amax", json_number(largest.amax)},
                                       {"amax_of_finite_only", !all_finite},
                                       {"amax_row", largest.row},
                                       {"amax_column", largest.column}};
    document.update(engine::to_json(recorded.comparison));
    print("{}\n", document.dump(2));
    return kExitOk;
  }
  profiling::Document document;
  document.fact(all_finite ? "amax" : "amax, finite",
                largest.row < 0 ? profiling::number_text(largest.amax)
                                : fmt::format("{}, in column {} of row {}",
                                              profiling::number_text(largest.amax), largest.column,
                                              largest.row));
  document.append(profiling::comparison_document(recorded));
  print_document(document);
  return kExitOk;
}

int quantize(const QuantizeOptions& options) {
  engine::Result<engine::RunRequest> request =
      options.input.request(options.request, options.worker.is_here());
  if (!request.ok()) return report(request.error());
  if (options.folder.empty()) return print_figures(options, request.value());
  const QuantizeOrder order{.request = std::move(request).value(),
                            .operand = options.input.operand,
                            .folder = options.folder,
                            .directions = options.directions.value_or(QuantizeDirections::Rowwise)};
  if (const engine::Status limits = engine::validate(order); !limits.ok()) {
    return report(limits.error());
  }
  WorkerChoice worker = options.worker;
  worker.note_library(order.request, options.request.library_file());
  engine::Result<std::unique_ptr<WorkerSession>> started = WorkerSession::start(worker);
  if (!started.ok()) return report(started.error());
  const auto done = started.value()->perform<QuantizeDone>(order);
  if (!done.ok()) return report(done.error());
  if (options.json) {
    print("{}\n", result_json(order, done.value()).dump(2));
    return kExitOk;
  }
  for (const std::string& file : done.value().files) print("{}\n", file);
  // Also where none was chosen: the codes mean nothing without it.
  print("{:<12}{}\n", "recipe",
        engine::recipe_name(order.request.recipe, order.operand == OperandRole::Weights));
  for (const QuantizationLoss& loss : done.value().losses) {
    print("{:<12}{} (lost: finite values that decode to inf or NaN)\n",
          loss.columnwise ? "columnwise" : "rowwise", profiling::loss_text(loss));
  }
  const auto transformed = [&order](const QuantizationLoss& loss) {
    return profiling::has_transformed_codes(order.request.recipe, order.operand, loss.columnwise);
  };
  if (std::ranges::any_of(done.value().losses, transformed)) {
    print("{}\n", profiling::underflow_note());
  }
  return kExitOk;
}

}  // namespace

void add_quantize_command(CLI::App& program, Action& chosen) {
  CLI::App& command = *program.add_subcommand(
      "quantize",
      "Quantize a tensor: print its amax, SNR, losses and worst rows and columns by recipe and "
      "direction, or write codes, scales and amax as .npy files");
  const auto options = std::make_shared<QuantizeOptions>();
  options->input.add_to(command, InputOperand::Need::Always);
  add_choice(command, "--operand", options->input.operand,
             "What the tensor is; activations and gradients take 1D blocks, weights square ones");
  command
      .add_option_function<std::string>(
          "--direction",
          [options](const std::string& word) {
            options->directions = names_of<QuantizeDirections>().at(word);
          },
          fmt::format("Along which dimension elements share scales: {} (default: both; {} with "
                      "--dump)",
                      fmt::join(words_of<QuantizeDirections>(), ", "),
                      engine::name_of(QuantizeDirections::Rowwise)))
      ->option_text("NAME")
      ->transform(enumerator(engine::kType<QuantizeDirections>));
  command
      .add_option("--dump", options->folder,
                  "Write the files of one recipe to this folder, instead of printing the figures "
                  "of every recipe (or of --recipe)")
      ->option_text("DIR");
  command.add_flag("--json", options->json,
                   "Print as JSON: all that was measured; with --dump the request, the files and "
                   "the losses");
  options->worker.add_to(command);
  options->request.add_to(command);
  command.callback([options, &chosen] { chosen = [options] { return quantize(*options); }; });
}

}  // namespace app::cli
