// What a run saw of a recorded routing, step by step: rows, time and error. Plain values, no CUDA.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "engine/model/fields.h"
#include "engine/model/shape.h"

namespace engine {

// run_result.h
struct Iteration;
struct RunResult;

struct RecordedStep {
  std::int64_t step = 0;             // of the file, from 0
  std::int64_t rows = 0;             // the sum of the splits
  std::int64_t dropped = 0;          // choices without an expert: negative ids, placeholders
  std::vector<std::int64_t> splits;  // [experts]
  double imbalance = std::numeric_limits<double>::quiet_NaN();  // imbalance_of(splits)
  int visits = 0;  // how often it ran; its times are those of its iterations, NaN without any and
                   // where several micro-batches share them
  double median_ns = std::numeric_limits<double>::quiet_NaN();
  double p5_ns = std::numeric_limits<double>::quiet_NaN();
  double p95_ns = std::numeric_limits<double>::quiet_NaN();
  /// SNR of the outputs of layer 0 over all experts, as in ProductAccuracy; NaN where it was not
  /// measured, which RecordedRouting::numerics explains. In an expert layer dW is that of Wup.
  double y_snr_db = std::numeric_limits<double>::quiet_NaN();
  double dx_snr_db = std::numeric_limits<double>::quiet_NaN();
  double dw_snr_db = std::numeric_limits<double>::quiet_NaN();
  // Elements that they leave out.
  std::uint64_t y_left_out = 0;
  std::uint64_t dx_left_out = 0;
  std::uint64_t dw_left_out = 0;
  template <int = 0>
  static constexpr auto fields() {
    return std::array{engine::field<&RecordedStep::step>(kCount),
                      engine::field<&RecordedStep::rows>({.low = 0, .high = kMaxDimension}),
                      engine::field<&RecordedStep::dropped>(kCount),
                      engine::field<&RecordedStep::splits>(
                          {.low = 0, .high = kMaxDimension, .most = kMaxExperts}),
                      engine::field<&RecordedStep::imbalance>(),
                      engine::field<&RecordedStep::visits>(kCount),
                      engine::field<&RecordedStep::median_ns>(),
                      engine::field<&RecordedStep::p5_ns>(),
                      engine::field<&RecordedStep::p95_ns>(),
                      engine::field<&RecordedStep::y_snr_db>(),
                      engine::field<&RecordedStep::dx_snr_db>(),
                      engine::field<&RecordedStep::dw_snr_db>(),
                      engine::field<&RecordedStep::y_left_out>(kCount),
                      engine::field<&RecordedStep::dx_left_out>(kCount),
                      engine::field<&RecordedStep::dw_left_out>(kCount)};
  }
};

struct RecordedRouting {
  std::string source;  // what the file holds: "vLLM routed_experts, int16 [4096, 27, 8]"
  int layers = 1;      // that the file has
  std::int64_t file_steps = 0;
  std::string numerics;  // which steps have an SNR, or why none has
  /// Steps in the order of replay: iteration i ran steps[i % size]; with several micro-batches in
  /// flight it ran as many consecutive ones.
  std::vector<RecordedStep> steps;
  template <int = 0>
  static constexpr auto fields() {
    return std::array{engine::field<&RecordedRouting::source>(),
                      engine::field<&RecordedRouting::layers>(kCount),
                      engine::field<&RecordedRouting::file_steps>(kCount),
                      engine::field<&RecordedRouting::numerics>(),
                      engine::field<&RecordedRouting::steps>({.most = kMaxRecordedSteps})};
  }
};

/// Largest split divided by the mean split: 1 = balanced. NaN without rows.
double imbalance_of(std::span<const std::int64_t> splits);

/// Adds the visits and times of steps from the iterations of a run. With several micro-batches in
/// flight, each iteration ran as many consecutive steps.
void add_times(std::span<const Iteration> iterations, std::vector<RecordedStep>& steps,
               int in_flight = 1);

/// Rows of every expert in the mean of the timed iterations, rounded; as routed without a
/// routing file. What times over all iterations are to be compared with.
std::vector<std::int64_t> mean_splits(const RunResult& result);

/// Indices into the steps that were run, the slowest first, at most `most`.
std::vector<std::size_t> slowest_steps(const RecordedRouting& recorded, std::size_t most);

}  // namespace engine
