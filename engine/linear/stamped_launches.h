// Launches whose tiles record when and where they ran: the time of every expert inside a launch,
// and the launch tile by tile. Stamped launches are apart from the timed ones and use kernel
// instances of their own. Both functions synchronise.
#pragma once

#include <vector>

#include "engine/linear/grouped_step.h"
#include "engine/model/measurement.h"

namespace engine {

struct StampedLaunches {
  /// From the begin of an expert's first tile to the end of its last, on the device's own clock
  /// (%globaltimer). Tiles of other experts run at the same time, so the times of all experts add
  /// up to more than the launch.
  std::vector<ExpertTiming> experts;
  std::vector<TiledLaunch> launches;  // of several of one kind, that of median duration
};

/// Of X's quantization, and of each product whose tiles leave stamps
/// (GroupedProduct::stamped_tiles), on the operands of an earlier launch. `multiprocessors`: of the
/// device. Unsupported for inputs other than BF16 and for recipes without quantization.
Result<StampedLaunches> stamp_launches(const GroupedStep& step, int multiprocessors,
                                       cudaStream_t stream);

/// Of the products alone; empty where none leaves stamps.
Result<StampedLaunches> stamp_products(const GroupedStep& step, int multiprocessors,
                                       cudaStream_t stream);

}  // namespace engine
