// Clock and power during a benchmark: sampled continuously, reported for the launches of each row.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "app/protocol/bench_report.h"
#include "engine/bench/measured_span.h"
#include "profiling/power/power_sampler.h"

namespace app {

class BenchPower {
 public:
  struct Readings {
    profiling::PowerSummary power;
    bool of_shape = false;  // none fell into the row's own launches
  };

  /// As NVML names the device; empty = not an NVIDIA device, so no readings.
  explicit BenchPower(const std::string& pci_bus_id);

  /// How it samples, or why it does not.
  void describe(BenchStart& start) const;
  /// A shape is done: all readings since the last call belong to it.
  void take();
  /// For the shape taken last: the readings in a row's spans, or in those of all its rows.
  Readings of(const std::vector<engine::MeasuredSpan>& row,
              const std::vector<engine::MeasuredSpan>& shape) const;

 private:
  std::unique_ptr<profiling::PowerSampler> sampler_;
  std::string missing_;
  std::vector<profiling::PowerSample> samples_;
};

}  // namespace app
