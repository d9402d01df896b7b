#include "app/cli/explained_step.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "app/cli/command.h"
#include "app/cli/terminal.h"
#include "engine/gemm/support.h"
#include "engine/input/routing.h"
#include "engine/input/value_json.h"
#include "engine/model/projections.h"
#include "engine/program/explain.h"
#include "profiling/document/quantity.h"
#include "profiling/document/run_document.h"
#include "profiling/document/run_tables.h"

namespace app::cli {
namespace {

void print_json(const engine::RunRequest& request, const engine::ForcedSettings& forced,
                const std::vector<engine::ExplainedOperation>& operations) {
  nlohmann::ordered_json document;
  document["request"] = engine::to_json(request);
  document["effective"] = engine::to_json(forced.effective);
  nlohmann::ordered_json& list = document["operations"] = nlohmann::ordered_json::array();
  for (const engine::ExplainedOperation& one : operations) {
    list.push_back({{"part", one.part},
                    {"graph", one.graph},
                    {"layer", one.layer},
                    {"stage", engine::stage_name(one.stage)},
                    {"operation", one.sentence},
                    {"read_bytes", one.work.read_bytes},
                    {"written_bytes", one.work.written_bytes},
                    {"flop", one.work.flop}});
  }
  print("{}\n", document.dump(2));
}

void print_text(const engine::ForcedSettings& forced,
                const std::vector<engine::ExplainedOperation>& operations) {
  profiling::Document document;
  for (const engine::Deviation& deviation : forced.deviations) {
    document.fact("deviation", profiling::deviation_text(deviation));
  }
  document.table(profiling::operations_table(forced.effective, operations));
  engine::OperationWork sum;
  for (const engine::ExplainedOperation& one : operations) {
    if (one.graph.empty()) continue;  // before the first step
    sum.read_bytes += one.work.read_bytes;
    sum.written_bytes += one.work.written_bytes;
    sum.flop += one.work.flop;
  }
  const auto bytes = [](double value) {
    return profiling::bytes_text(static_cast<std::uint64_t>(value));
  };
  document.paragraph(fmt::format("one step reads at least {}, writes at least {} and computes {}",
                                 bytes(sum.read_bytes), bytes(sum.written_bytes),
                                 profiling::flop_text(sum.flop)));
  print_document(document, operations.size());
}

}  // namespace

int explain_step(const engine::RunRequest& request, bool json) {
  const engine::ForcedSettings forced = engine::forced_settings(request);
  const engine::Result<engine::GroupedShape> shape = engine::resolve_shape(forced.effective);
  if (!shape.ok()) return report(shape.error());
  const engine::StepProgram program = engine::program_of(forced.effective);
  const std::vector<engine::ExplainedOperation> operations =
      engine::explain(program, {.splits = shape.value().splits});
  json ? print_json(request, forced, operations) : print_text(forced, operations);
  return kExitOk;
}

}  // namespace app::cli
