#include "app/cli/linear_bench_options.h"

#include <fmt/format.h>

#include "app/cli/request_options.h"
#include "app/protocol/paths.h"
#include "engine/input/presets.h"
#include "engine/input/regular_file.h"

namespace app::cli {
namespace {

using engine::RoutingDistribution;

engine::Result<RoutingDistribution> find_routing(const std::string& name) {
  for (int i = 0; i < static_cast<int>(RoutingDistribution::File); ++i) {
    const auto routing = static_cast<RoutingDistribution>(i);
    if (engine::name_of(routing) == name) return routing;
  }
  return engine::Error{engine::ErrorCode::InvalidArgument,
                       fmt::format("'{}' is not a routing; choose uniform, mild, zipf, heavy, "
                                   "one-hot or half-empty",
                                   name)};
}

constexpr std::size_t kMaxScriptBytes = 100'000;  // Linux limits one argument to 128 KiB

/// As an argument, not as a file: the worker may be on another machine.
engine::Result<std::vector<std::string>> torch_peer(const std::string& python) {
  const std::string path = assets_folder() + "/bench/torch_products.py";
  const engine::Result<std::string> script = engine::read_file(path, kMaxScriptBytes);
  if (!script.ok() || script.value().empty()) {
    return engine::Error{engine::ErrorCode::NotFound,
                         fmt::format("{} cannot be read; it ships with this program", path)};
  }
  return std::vector<std::string>{python, "-c", script.value()};
}

}  // namespace

void LinearBenchOptions::add_to(CLI::App& command) {
  command
      .add_option(
          "--presets", presets_,
          "linear: names of presets without commas in them, separated by commas (default: every "
          "preset of a real layer; on a CPU the laptop presets)")
      ->option_text("NAMES")
      ->delimiter(',');
  command
      .add_option("--routing", routings_,
                  "linear: uniform, mild, zipf, heavy, one-hot, half-empty (default: uniform,zipf)")
      ->option_text("NAMES")
      ->delimiter(',');
  command
      .add_option(
          "--torch", torch_,
          "linear: a Python on the worker's machine whose torch is interleaved with our steps")
      ->option_text("PYTHON");
}

engine::Result<engine::LinearBenchOrder> LinearBenchOptions::order() const {
  engine::LinearBenchOrder order;
  for (const std::string& name : presets_) {
    const engine::Result<engine::ShapeSpec> shape = find_preset(name);
    if (!shape.ok()) return shape.error();
    order.shapes.push_back(shape.value());
  }
  if (!routings_.empty()) order.routings.clear();
  for (const std::string& name : routings_) {
    const engine::Result<RoutingDistribution> routing = find_routing(name);
    if (!routing.ok()) return routing.error();
    order.routings.push_back(routing.value());
  }
  if (torch_.empty()) return order;
  engine::Result<std::vector<std::string>> peer = torch_peer(torch_);
  if (!peer.ok()) return peer.error();
  order.peer = std::move(peer).value();
  return order;
}

engine::Result<std::vector<engine::ShapeSpec>> default_linear_shapes(bool cpu) {
  const engine::Result<std::vector<engine::ShapePreset>> presets =
      engine::load_presets(assets_folder() + "/shapes");
  if (!presets.ok()) return presets.error();
  std::vector<engine::ShapeSpec> shapes;
  for (const engine::ShapePreset& preset : presets.value()) {
    if (preset.laptop != cpu) continue;
    shapes.push_back(preset.shape);
    shapes.back().preset = preset.name;
  }
  return shapes;
}

}  // namespace app::cli
