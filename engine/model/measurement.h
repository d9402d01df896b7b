// How a run is measured, and what is measured besides the duration of its iterations. Plain values,
// no CUDA.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/model/stage.h"

namespace engine {

/// What CUPTI records of a CUDA run. The CPU backend always records its spans.
enum class TraceLevel {
  Nodes,   // every kernel, copy and memset; the nodes of a graph one by one
  Graphs,  // one record a graph launch; eager work as with Nodes
  Off,     // nothing: times come from CUDA events alone
};

/// What the caches hold when a timed iteration begins.
enum class CacheMode {
  Warm,  // whatever the iteration before has left
  Cold,  // nothing of the step: a buffer larger than the last cache was written in between
};

/// How timed iterations follow each other.
enum class Pace {
  Sustained,  // back to back: the clock settles where power allows
  Burst,      // with kBurstIdle of rest before each: a cool device at its highest clock
};
inline constexpr int kBurstIdleMs = 50;

struct MeasureOptions {
  TraceLevel trace = TraceLevel::Nodes;
  /// Only so many of the timed iterations are traced, the first ones; 1..kMaxIterations.
  int traced_iterations = 1000;
  CacheMode cache = CacheMode::Warm;
  Pace pace = Pace::Sustained;
  // Each of these costs extra launches after the timed iterations.
  bool observer = false;  // the step under each trace level by turns: what does watching cost
  bool stamps = false;    // per-expert time of the quantize launches from stamps of their tiles
  bool isolated = false;  // per-expert time of launches that have work for one expert only
  bool ceilings = false;  // this device's copy rate, and a dense product of the step's own size
  bool operator==(const MeasureOptions&) const = default;
};

/// How the time of one expert was found.
enum class ExpertMethod {
  Trace,     // records that name the expert (per-expert backend, CPU)
  Stamps,    // from the first tile's begin to the last tile's end in a launch for all experts
  Isolated,  // a launch in which only this expert has rows: all of the device is its own
};

/// Of layer 0. One launch is one sample.
struct ExpertTiming {
  ExpertMethod method = ExpertMethod::Isolated;
  Stage stage = Stage::Fprop;
  int expert = 0;
  int samples = 0;
  double median_ns = 0.0;
  double p5_ns = 0.0;
  double p95_ns = 0.0;
};

/// The step's own duration while it is watched in one way. Blocks of all ways take turns.
struct ObserverTiming {
  TraceLevel level = TraceLevel::Off;
  int samples = 0;
  double median_ns = 0.0;
  double p5_ns = 0.0;
  double p95_ns = 0.0;
};

/// What this device reached in this run. Medians.
struct Ceilings {
  double copy_bytes_per_s = 0.0;  // of a device-to-device copy: bytes read + bytes written; 0 =
                                  // not measured
  std::int64_t copy_bytes = 0;    // read by one copy
  int copies = 0;
  double product_flop_per_s = 0.0;  // 0 = not measured
  int products = 0;
  std::string product;  // which: "dense 16384 x 28672 x 4096, FP8 block, cuBLASLt"
};

/// What the options asked for beyond the iterations.
struct Measurements {
  std::vector<ExpertTiming> experts;
  std::vector<ObserverTiming> observer;
  Ceilings ceilings;
};

}  // namespace engine
