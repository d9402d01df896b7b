// Prints what the element inspector shows for every element of every comparison in a recording, one
// JSON object per line, for inspector_test.py, which recomputes all of it.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "app/gui/panels/recipes_model.h"
#include "profiling/session/session_file.h"

namespace {

using nlohmann::json;

void print(const engine::QuantizationReport& report, engine::OperandRole role) {
  const engine::QuantizationSample& sample = report.sample;
  app::RecipeOverlay overlay;
  overlay.report = &report;
  overlay.format = app::code_format(report.recipe, role);
  overlay.transformed = app::transformed_codes(report.recipe, role, report.columnwise);
  for (int row = 0; row < sample.rows; ++row) {
    for (int column = 0; column < sample.columns; ++column) {
      const app::ElementReading reading = app::read_element(overlay, row, column);
      const json line = {{"scaling", engine::name_of(report.recipe.scaling)},
                         {"format", overlay.format.name},
                         {"pow2", report.recipe.pow2_scales},
                         {"columnwise", report.columnwise},
                         {"row", sample.row + row},
                         {"column", sample.column + column},
                         {"original", reading.original},
                         {"code", reading.code},
                         {"value", reading.value},
                         {"decoded", reading.decoded},
                         {"error", reading.error}};
      fmt::print("{}\n", line.dump());
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "print_readings RECORDING\n");
    return 2;
  }
  const auto session = profiling::open_session(argv[1]);
  if (!session.ok()) {
    fmt::print(stderr, "{}\n", session.error().message);
    return 1;
  }
  for (const profiling::RecordedComparison& recorded : session.value().comparisons) {
    const engine::ComparisonRequest& request = recorded.comparison.request;
    const engine::OperandRole role = request.gradients ? engine::OperandRole::Gradients
                                     : request.weights ? engine::OperandRole::Weights
                                                       : engine::OperandRole::Activations;
    for (const engine::QuantizationReport& report : recorded.comparison.reports) {
      print(report, role);
    }
  }
  return 0;
}
