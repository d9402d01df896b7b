// How a run is measured, and what is measured besides the duration of its iterations. Plain values,
// no CUDA.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/model/shape.h"
#include "engine/model/stage.h"
#include "engine/model/tiled_launch.h"

namespace engine {

// Quantiles of measured times.

/// Quantile of sorted values, of which there is at least one, with linear interpolation.
inline double quantile(const std::vector<double>& sorted, double q) {
  const double at = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return std::lerp(sorted[below], sorted[above], at - std::floor(at));
}

/// The same for unsorted values, at least one, without sorting them all.
inline double quantile_of(std::vector<double> values, double q) {
  const double at = q * static_cast<double>(values.size() - 1);
  const auto below = values.begin() + static_cast<std::ptrdiff_t>(at);
  std::nth_element(values.begin(), below, values.end());
  const auto above = std::min_element(below + 1, values.end());
  return above == values.end() ? *below : std::lerp(*below, *above, at - std::floor(at));
}

/// What CUPTI records of a CUDA run. The CPU backend always records its spans.
enum class TraceLevel {
  Nodes,   // every kernel, copy and memset; the nodes of a graph one by one
  Graphs,  // one record per graph launch; eager work as with Nodes
  Off,     // nothing: times come from CUDA events alone
};
constexpr auto enum_names(TraceLevel) {
  return std::to_array<std::string_view>({"nodes", "graphs", "off"});
}

/// What the caches hold when a timed iteration begins.
enum class CacheMode {
  Warm,  // left by the previous iteration
  Cold,  // no data of the step: a buffer larger than the last cache was written in between
};
constexpr auto enum_names(CacheMode) { return std::to_array<std::string_view>({"warm", "cold"}); }

/// How timed iterations follow each other.
enum class Pace {
  Sustained,  // back to back: the clock drops to what the power limit allows
  Burst,      // with kBurstIdle of idle time before each: a cool device at its highest clock
};
constexpr auto enum_names(Pace) { return std::to_array<std::string_view>({"sustained", "burst"}); }
inline constexpr int kBurstIdleMs = 50;
inline constexpr int kMaxIterations = 100000;

struct MeasureOptions {
  TraceLevel trace = TraceLevel::Nodes;
  /// Only the first N timed iterations are traced; 1..kMaxIterations.
  int traced_iterations = 1000;
  CacheMode cache = CacheMode::Warm;
  Pace pace = Pace::Sustained;
  // Each of these costs extra launches after the timed iterations.
  bool observer = false;  // overhead of tracing: the step under each trace level, interleaved
  bool stamps = false;  // per-expert time from stamps of the tiles of launches that leave them, and
                        // these launches tile by tile
  bool isolated = false;  // per-expert time from launches with work for one expert only
  bool ceilings = false;  // this device's copy rate, and a dense product of the step's own size
  /// If a routing file has several steps, the output error is measured in the first N steps that
  /// the run replayed; 0 = in none.
  int recorded_steps = 16;
  bool operator==(const MeasureOptions&) const = default;
  template <int = 0>
  static constexpr auto fields() {
    return std::array{
        engine::field<&MeasureOptions::trace>(),
        engine::field<&MeasureOptions::traced_iterations>({.low = 1, .high = kMaxIterations}),
        engine::field<&MeasureOptions::cache>(),
        engine::field<&MeasureOptions::pace>(),
        engine::field<&MeasureOptions::observer>(),
        engine::field<&MeasureOptions::stamps>(),
        engine::field<&MeasureOptions::isolated>(),
        engine::field<&MeasureOptions::ceilings>(),
        engine::field<&MeasureOptions::recorded_steps>({.low = 0, .high = kMaxRecordedSteps})};
  }
};

/// How the time of one expert was measured.
enum class ExpertMethod {
  Trace,     // records that name the expert (per-expert backend, CPU)
  Stamps,    // from the first tile's begin to the last tile's end in a launch for all experts
  Isolated,  // a launch in which only this expert has rows, with the whole device
};
constexpr auto enum_names(ExpertMethod) {
  return std::to_array<std::string_view>({"trace", "stamps", "isolated"});
}

/// For layer 0. One launch is one sample.
struct ExpertTiming {
  ExpertMethod method = ExpertMethod::Isolated;
  Stage stage = Stage::Fprop;
  int expert = 0;
  int samples = 0;
  double median_ns = 0.0;
  double p5_ns = 0.0;
  double p95_ns = 0.0;
  /// With the stage, the operation: of stamps. Recordings from before do not have it.
  WrittenValue writes = WrittenValue::Unknown;
  template <int = 0>
  static constexpr auto fields() {
    return std::array{engine::field<&ExpertTiming::method>(),
                      engine::field<&ExpertTiming::stage>(),
                      engine::field<&ExpertTiming::expert>({.low = 0}),
                      engine::field<&ExpertTiming::samples>(kCount),
                      engine::field<&ExpertTiming::median_ns>(),
                      engine::field<&ExpertTiming::p5_ns>(),
                      engine::field<&ExpertTiming::p95_ns>(),
                      engine::field<&ExpertTiming::writes>()};
  }
};

/// The step's duration under one trace level. Blocks of all levels are interleaved.
struct ObserverTiming {
  TraceLevel level = TraceLevel::Off;
  int samples = 0;
  double median_ns = 0.0;
  double p5_ns = 0.0;
  double p95_ns = 0.0;
  template <int = 0>
  static constexpr auto fields() {
    return std::array{
        engine::field<&ObserverTiming::level>(), engine::field<&ObserverTiming::samples>(kCount),
        engine::field<&ObserverTiming::median_ns>(), engine::field<&ObserverTiming::p5_ns>(),
        engine::field<&ObserverTiming::p95_ns>()};
  }
};

/// Rates this device reached in this run. Medians.
struct Ceilings {
  double copy_bytes_per_s = 0.0;  // of a device-to-device copy: bytes read + bytes written; 0 =
                                  // not measured
  std::int64_t copy_bytes = 0;    // read by one copy
  int copies = 0;
  double product_flop_per_s = 0.0;  // 0 = not measured
  int products = 0;
  std::string product;  // which: "dense 16384 x 28672 x 4096, FP8 block, cuBLASLt"
  template <int = 0>
  static constexpr auto fields() {
    return std::array{engine::field<&Ceilings::copy_bytes_per_s>(),
                      engine::field<&Ceilings::copy_bytes>(kCount),
                      engine::field<&Ceilings::copies>(kCount),
                      engine::field<&Ceilings::product_flop_per_s>(),
                      engine::field<&Ceilings::products>(kCount),
                      engine::field<&Ceilings::product>()};
  }
};

/// The quantization of X, and three products of each projection.
inline constexpr std::size_t kMostTiledLaunches = 8;

/// Results requested beyond the iterations.
struct Measurements {
  std::vector<ExpertTiming> experts;
  std::vector<ObserverTiming> observer;
  Ceilings ceilings;
  std::vector<TiledLaunch> tiled_launches = {};  // of layer 0, in the order of a step
  template <int = 0>
  static constexpr auto fields() {
    return std::array{engine::field<&Measurements::experts>({.most = 1 << 16}),
                      engine::field<&Measurements::observer>({.most = 100}),
                      engine::field<&Measurements::ceilings>(),
                      engine::field<&Measurements::tiled_launches>({.most = kMostTiledLaunches})};
  }
};

}  // namespace engine
