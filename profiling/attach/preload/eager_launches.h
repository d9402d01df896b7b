// What kernels were launched with before they were captured: the last few different argument bytes
// of each kernel, kept in memory. Frames are written only when a graph with that kernel is read.
#pragma once

#include <cstdint>

#include "profiling/attach/preload/driver_names.h"
#include "profiling/attach/spool/frames.h"

namespace attach {

struct LaunchShape {
  profiling::spool::Extent grid;
  profiling::spool::Extent block;
  std::uint32_t shared_bytes;
};

/// Of a launch that succeeded, while nothing is captured. `function` may be a CUkernel.
void note_eager_launch(CUfunction function, const LaunchShape& shape, void** parameters,
                       void** extra);

/// Frames for what has none yet, behind the frame of the function. Bounded for each kernel.
void write_eager_launches(std::uint64_t function);

/// Handles of functions may be given again after this.
void forget_eager_launches();
/// In a forked child, where another thread of the parent may have been at work.
void drop_eager_launches_of_parent();

}  // namespace attach
