// Times a few launches at a time with a pair of CUDA events, for work too short to be timed alone:
// an event pair around nothing already takes about two microseconds.
#pragma once

#include "engine/device/handles.h"

namespace engine {

class BatchClock {
 public:
  static Result<BatchClock> create() {
    BatchClock clock;
    ENGINE_ASSIGN(clock.begin_, make_timing_event());
    ENGINE_ASSIGN(clock.end_, make_timing_event());
    return clock;
  }

  /// Nanoseconds of one launch, the mean of `launches` back to back. Synchronises. A refused launch
  /// ends the batch with its error.
  template <class Launch>
  Result<double> time(int launches, cudaStream_t stream, Launch&& launch) const {
    ENGINE_CUDA_TRY(cudaEventRecord(begin_.get(), stream), "Marking the begin of a batch");
    for (int i = 0; i < launches; ++i) ENGINE_TRY(launch());
    ENGINE_CUDA_TRY(cudaEventRecord(end_.get(), stream), "Marking the end of a batch");
    ENGINE_CUDA_TRY(cudaEventSynchronize(end_.get()), "Waiting for a batch");
    ENGINE_ASSIGN(const double elapsed, elapsed_ns(begin_, end_));
    return elapsed / launches;
  }

 private:
  Event begin_;
  Event end_;
};

}  // namespace engine
