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

namespace app::cli {
namespace {

std::string bytes_text(double bytes) {
  if (bytes == 0.0) return "";
  if (bytes < 1024.0) return fmt::format("{:.0f} B", bytes);
  if (bytes < 1024.0 * 1024.0) return fmt::format("{:.1f} KiB", bytes / 1024.0);
  if (bytes < 1024.0 * 1024.0 * 1024.0) return fmt::format("{:.1f} MiB", bytes / 1048576.0);
  return fmt::format("{:.2f} GiB", bytes / 1073741824.0);
}

std::string flop_text(double flop) {
  if (flop == 0.0) return "";
  if (flop < 1e9) return fmt::format("{:.1f} MFLOP", flop / 1e6);
  return fmt::format("{:.1f} GFLOP", flop / 1e9);
}

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

void print_table(const engine::ForcedSettings& forced,
                 const std::vector<engine::ExplainedOperation>& operations) {
  for (const engine::Deviation& deviation : forced.deviations) {
    print("{} = {} instead of {}: {}\n", deviation.field, deviation.effective, deviation.requested,
          deviation.reason);
  }
  const bool layers = forced.effective.layers > 1;
  std::string heading;
  engine::OperationWork sum;
  for (const engine::ExplainedOperation& one : operations) {
    const std::string graph =
        one.graph.empty() || one.graph == "step" ? "" : fmt::format(", graph \"{}\"", one.graph);
    const std::string own = one.part + graph;
    if (own != heading) {
      heading = own;
      print("\n{}\n  {:<10} {:<52} {:>10} {:>10} {:>14}\n", heading, "stage", "operation", "reads",
            "writes", "work");
    }
    const std::string sentence =
        layers ? fmt::format("{} (layer {})", one.sentence, one.layer) : one.sentence;
    print("  {:<10} {:<52} {:>10} {:>10} {:>14}\n", engine::stage_name(one.stage), sentence,
          bytes_text(one.work.read_bytes), bytes_text(one.work.written_bytes),
          flop_text(one.work.flop));
    if (one.graph.empty()) continue;  // before the first step
    sum.read_bytes += one.work.read_bytes;
    sum.written_bytes += one.work.written_bytes;
    sum.flop += one.work.flop;
  }
  print("\none step reads at least {}, writes at least {} and computes {}\n",
        bytes_text(sum.read_bytes), bytes_text(sum.written_bytes), flop_text(sum.flop));
}

}  // namespace

int explain_step(const engine::RunRequest& request, bool json) {
  const engine::ForcedSettings forced = engine::forced_settings(request);
  const engine::Result<engine::GroupedShape> shape = engine::resolve_shape(forced.effective);
  if (!shape.ok()) return report(shape.error());
  const engine::StepProgram program = engine::program_of(forced.effective);
  const std::vector<engine::ExplainedOperation> operations =
      engine::explain(program, {.splits = shape.value().splits});
  json ? print_json(request, forced, operations) : print_table(forced, operations);
  return kExitOk;
}

}  // namespace app::cli
