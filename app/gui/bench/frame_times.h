// Frame costs by activity, and their summary.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "app/gui/bench/window_bench.h"
#include "app/gui/shell/frame_probe.h"
#include "profiling/trace/statistics.h"

namespace app {

/// Of the steady clock.
inline double wall_ms() {
  return std::chrono::duration<double, std::milli>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

class FrameTimes {
 public:
  void add(const std::string& what, const FrameCost& cost) {
    if (what.empty()) return;
    Costs& costs = by_what_[what];
    costs.cpu.push_back(cost.cpu);
    costs.present.push_back(cost.present);
  }

  std::vector<WindowBenchRow> rows(std::size_t records, double budget) const {
    std::vector<WindowBenchRow> rows;
    for (const auto& [what, costs] : by_what_) {
      rows.push_back({.what = what,
                      .records = records,
                      .n = costs.cpu.size(),
                      .p50 = profiling::quantile(costs.cpu, 0.5),
                      .p95 = profiling::quantile(costs.cpu, 0.95),
                      .maximum = profiling::quantile(costs.cpu, 1.0),
                      .present_p50 = profiling::quantile(costs.present, 0.5),
                      .budget = budget,
                      .unit = "ms CPU per frame"});
    }
    return rows;
  }

 private:
  struct Costs {
    std::vector<double> cpu;
    std::vector<double> present;
  };
  std::map<std::string, Costs> by_what_;
};

}  // namespace app
