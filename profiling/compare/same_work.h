// Whether the times of two runs can be compared at all: a verdict is about settings, so both must
// do the same work on the same kind of device.
#pragma once

#include <string>

#include "engine/model/run_result.h"
#include "profiling/session/session_file.h"

namespace profiling {

struct WorkDifference {
  bool work = false;     // else only the device differs, or nothing
  std::string sentence;  // what differs, and what to do; empty if nothing does
};

/// The fields that work_difference() compares, as one text: equal for runs of the same work.
std::string work_text(const RecordedRun& run);

/// Compares step, shape, layers, passes, micro-batches in flight and rows per step as they took
/// effect, and the name of the device. How rows are routed to experts is a setting, as is the
/// recipe.
WorkDifference work_difference(const RecordedRun& a, const RecordedRun& b);

/// Why a difference of the products' SNRs is no effect of a setting: their shapes or tensors
/// differ, as they took effect. Empty if it may be one; on which device does not matter, nor does
/// the seed.
std::string product_difference(const RecordedRun& a, const RecordedRun& b, engine::Product product);

}  // namespace profiling
