// Times a few launches at a time with a pair of CUDA events, for work too short to be timed alone:
// an event pair around nothing already takes about two microseconds.
#pragma once

#include <vector>

#include "engine/device/handles.h"
#include "engine/model/error.h"

namespace engine {

class BatchClock {
 public:
  static Result<BatchClock> create() {
    BatchClock clock;
    for (Event* event : {&clock.start_, &clock.end_}) {
      Result<Event> made = make_timing_event();
      if (!made.ok()) return made.error();
      *event = std::move(made).value();
    }
    return clock;
  }

  /// Nanoseconds of one launch, the mean of `launches` back to back. Synchronises.
  template <class Launch>
  Result<double> time(int launches, cudaStream_t stream, Launch&& launch) const {
    ENGINE_CUDA_TRY(cudaEventRecord(start_.get(), stream), "Recording the start of a batch");
    for (int i = 0; i < launches; ++i) ENGINE_TRY(launch());
    ENGINE_CUDA_TRY(cudaEventRecord(end_.get(), stream), "Recording the end of a batch");
    ENGINE_CUDA_TRY(cudaEventSynchronize(end_.get()), "Waiting for a batch");
    float elapsed_ms = 0.0F;
    ENGINE_CUDA_TRY(cudaEventElapsedTime(&elapsed_ms, start_.get(), end_.get()), "Timing a batch");
    return static_cast<double>(elapsed_ms) * 1e6 / launches;
  }

 private:
  Event start_;
  Event end_;
};

}  // namespace engine
