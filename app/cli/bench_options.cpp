#include "app/cli/bench_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "app/cli/request_options.h"
#include "app/protocol/paths.h"
#include "engine/input/presets.h"
#include "engine/input/regular_file.h"
#include "engine/model/values.h"

namespace app::cli {
namespace {

using engine::RoutingDistribution;

engine::Result<RoutingDistribution> find_routing(const std::string& name) {
  constexpr const engine::Type& kRouting = engine::kType<RoutingDistribution>;
  RoutingDistribution routing = RoutingDistribution::File;
  const bool known = engine::parse(kRouting, &routing, name);
  if (known && routing != RoutingDistribution::File) return routing;
  std::vector<std::string_view> rules;
  for (const engine::EnumName& one : kRouting.names) {
    if (one.value != static_cast<std::int64_t>(RoutingDistribution::File))
      rules.push_back(one.name);
  }
  return engine::Error{
      engine::ErrorCode::InvalidArgument,
      fmt::format("--routing is '{}'{}; it must be one of {}", name,
                  known ? "" : engine::nearest_name(kRouting, name), fmt::join(rules, ", "))};
}

constexpr std::size_t kMaxScriptBytes = 60'000;  // Linux limits one argument to 128 KiB

/// The text of a peer, which follows that of the protocol. As an argument, not as a file: the
/// worker may be on another machine.
engine::Result<std::vector<std::string>> peer_command(const std::string& python,
                                                      std::string_view peer) {
  std::string text;
  for (const std::string_view name : {std::string_view("peer_protocol.py"), peer}) {
    const std::string path = fmt::format("{}/bench/{}", assets_folder(), name);
    const engine::Result<std::string> script = engine::read_file(path, kMaxScriptBytes);
    if (!script.ok() || script.value().empty()) {
      return engine::Error{engine::ErrorCode::NotFound,
                           fmt::format("{} cannot be read; it ships with this program", path)};
    }
    text += script.value();
    text += '\n';
  }
  return std::vector<std::string>{python, "-c", text};
}

engine::StepBenchShape shape_of(const engine::ShapePreset& preset) {
  return {.shape = preset.shape,
          .activation = preset.activation,
          .bias = preset.bias,
          .top_k = preset.top_k};
}

}  // namespace

void StepBenchOptions::add_to(CLI::App& command) {
  command
      .add_option(
          "--presets", presets_,
          "linear, layer: names of presets without commas in them, separated by commas (default: "
          "every preset of a real model; on a CPU the laptop presets)")
      ->option_text("NAMES")
      ->delimiter(',');
  command
      .add_option("--routing", routings_,
                  "linear, layer: uniform, mild, zipf, heavy, one-hot, half-empty (default: "
                  "uniform,zipf)")
      ->option_text("NAMES")
      ->delimiter(',');
  command
      .add_option("--torch", torch_,
                  "linear, layer: a Python on the worker's machine whose torch is interleaved with "
                  "our steps")
      ->option_text("PYTHON");
  command
      .add_option("--deepgemm", deepgemm_,
                  "linear: a Python on the worker's machine whose torch and DeepGEMM (deep_gemm) "
                  "are interleaved with our products; CUDA_HOME names its toolkit")
      ->option_text("PYTHON")
      ->excludes("--torch");
}

engine::Result<engine::StepBenchOrder> StepBenchOptions::order(engine::StepKind step) const {
  engine::StepBenchOrder order;
  for (const std::string& name : presets_) {
    ENGINE_ASSIGN(const engine::ShapePreset preset, find_preset(name));
    if (preset.step != step) {
      const bool layer = preset.step == engine::StepKind::ExpertLayer;
      return engine::Error{
          engine::ErrorCode::InvalidArgument,
          fmt::format("'{}' is {}, and this suite times {}: choose --suite {}, or {}", preset.name,
                      layer ? "a whole expert layer" : "a linear step",
                      layer ? "linear steps" : "whole expert layers", layer ? "layer" : "linear",
                      layer ? "one of its projections" : "the preset of a layer")};
    }
    order.shapes.push_back(shape_of(preset));
  }
  if (!routings_.empty()) order.routings.clear();
  for (const std::string& name : routings_) {
    ENGINE_ASSIGN(const RoutingDistribution routing, find_routing(name));
    order.routings.push_back(routing);
  }
  if (!deepgemm_.empty() && step != engine::StepKind::Linear) {
    return engine::Error{engine::ErrorCode::InvalidArgument,
                         "--deepgemm is for --suite linear: DeepGEMM has products, no layer"};
  }
  if (!torch_.empty()) {
    ENGINE_ASSIGN(order.peer, peer_command(torch_, "torch_peer.py"));
  } else if (!deepgemm_.empty()) {
    ENGINE_ASSIGN(order.peer, peer_command(deepgemm_, "deepgemm_peer.py"));
  }
  return order;
}

engine::Result<std::vector<engine::StepBenchShape>> default_step_shapes(engine::StepKind step,
                                                                        bool cpu) {
  ENGINE_ASSIGN(const std::vector<engine::ShapePreset> presets,
                engine::load_presets(assets_folder() + "/shapes"));
  std::vector<engine::StepBenchShape> shapes;
  for (const engine::ShapePreset& preset : presets) {
    if (preset.step == step && preset.laptop == cpu) shapes.push_back(shape_of(preset));
  }
  return shapes;
}

}  // namespace app::cli
