// What `expertscope bench` takes for suites that time steps, in addition to the options of every
// suite.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "engine/model/bench_order.h"
#include "engine/model/error.h"

namespace app::cli {

class StepBenchOptions {
 public:
  void add_to(CLI::App& command);
  /// Order of a suite that times this step. Without --presets the shapes are still empty. Errors
  /// name the preset, the routing or the file.
  engine::Result<engine::StepBenchOrder> order(engine::StepKind step) const;
  /// Whether any of these options was given.
  bool given() const {
    return !presets_.empty() || !routings_.empty() || !torch_.empty() || !deepgemm_.empty();
  }

 private:
  std::vector<std::string> presets_;
  std::vector<std::string> routings_;
  std::string torch_;
  std::string deepgemm_;
};

/// Every preset of this step intended for the device: those of real layers for a GPU, the laptop
/// presets for a CPU.
engine::Result<std::vector<engine::StepBenchShape>> default_step_shapes(engine::StepKind step,
                                                                        bool cpu);

}  // namespace app::cli
