// How long a graph replay may take before it counts as stalled: a multiple of the 99th percentile
// of the previous replays. No CUDA.
#pragma once

#include <cstddef>
#include <vector>

namespace engine {

/// Normal replays take microseconds to seconds; a deadline below this would report a busy host as a
/// stall.
inline constexpr double kShortestReplayDeadline = 0.5;
/// For the first replays: kernels may be loaded, and there is no statistic yet.
inline constexpr double kFirstReplayDeadline = 60.0;
inline constexpr int kReplaysBeforeDeadline = 3;

class ReplayDeadline {
 public:
  /// `factor`: how many times the 99th percentile; 0 = no deadline.
  explicit ReplayDeadline(double factor) : factor_(factor) {}

  /// A replay that has finished.
  void add(double seconds);
  /// For the next replay; infinite without a deadline. The percentile is updated whenever the
  /// number of replays has doubled, so that its cost per replay is negligible.
  double seconds() const;
  /// Over all replays so far, with linear interpolation; 0 = none.
  double p99_seconds() const;
  int replays() const { return static_cast<int>(seconds_.size()); }

 private:
  double factor_;
  std::vector<double> seconds_;
  double p99_ = 0.0;  // as of `counted_` replays
  std::size_t counted_ = 0;
};

}  // namespace engine
