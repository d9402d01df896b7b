// `expertscope compare`: one operand quantized with every recipe, as a table.
#include <fmt/format.h>

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "app/cli/arguments.h"
#include "app/cli/batch_run.h"
#include "app/cli/command.h"
#include "app/cli/input_operand.h"
#include "app/cli/request_options.h"
#include "app/cli/terminal.h"
#include "app/cli/worker_session.h"
#include "engine/input/value_json.h"
#include "profiling/document/run_document.h"
#include "profiling/session/session_file.h"

namespace app::cli {
namespace {

struct CompareOptions {
  RequestOptions request;
  engine::ComparisonRequest comparison;
  InputOperand input;
  std::vector<std::string> recipes;
  WorkerChoice worker;
  std::string output;
  bool json = false;
};

engine::Result<engine::ComparisonRequest> request_of(const CompareOptions& options) {
  // Its kind would be ignored without a word: every recipe that is compared has one of its own.
  if (options.recipes.empty() && options.request.given_field("recipe.scaling")) {
    return invalid_argument(
        "--recipe has no effect here: recipes to compare are named with --recipes, as in "
        "--recipes fp8-block,nvfp4");
  }
  engine::Result<engine::RunRequest> request =
      options.input.file.empty() ? options.request.resolve(options.worker.is_here())
                                 : options.input.request(options.request, options.worker.is_here());
  if (!request.ok()) return request.error();
  engine::ComparisonRequest comparison = options.comparison;
  comparison.weights = options.input.operand == engine::OperandRole::Weights;
  comparison.gradients = options.input.operand == engine::OperandRole::Gradients;
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
    print_document(profiling::comparison_document(recorded));
  }
  if (!kept.ok()) return report(kept.error());
  return kExitOk;
}

}  // namespace

void add_compare_command(CLI::App& program, Action& chosen) {
  CLI::App& command = *program.add_subcommand("compare",
                                              "Quantize one operand, synthetic or of a file, "
                                              "rowwise and columnwise with every recipe; print "
                                              "error, time and the worst rows and columns");
  const auto options = std::make_shared<CompareOptions>();
  options->input.add_to(command, InputOperand::Need::IfGiven);
  add_choice(command, "--operand", options->input.operand,
             "Operand to quantize, and what the tensor of --input is");
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
      .add_option("--sample-rows", options->comparison.sample_rows,
                  "With --sample-columns: the sample is around the largest element of a region of "
                  "this size, which begins at --sample-row and --sample-column")
      ->option_text("INT");
  command.add_option("--sample-columns", options->comparison.sample_columns, "See --sample-rows")
      ->option_text("INT");
  command.add_flag("--only-sample", options->comparison.only_sample,
                   "Leave out experts that have no row of the sample; the CPU then reads only "
                   "what it needs of a large operand. With --timed-launches 0");
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
