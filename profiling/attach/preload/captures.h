// Whether some stream of this process is under capture: only then do calls that a capture does not
// allow get a frame.
#pragma once

#include "profiling/attach/preload/driver_names.h"

namespace attach {

bool any_capture();

/// This stream takes part in a capture, so a stream-ordered call on it becomes a node of a graph.
bool is_captured(CUstream stream, bool per_thread);

/// The capture that a stream takes part in.
struct CaptureInfo {
  cuuint64_t id = 0;             // unique in this process
  CUgraph graph = nullptr;       // null = none, or the driver is older than 12.3
  CUgraphNode newest = nullptr;  // what the next node would depend on; null = none yet
};
CaptureInfo capture_of(CUstream stream, bool per_thread);

/// A frame for a call that no capture allows, or that was refused with a capture's error. `result`
/// is returned.
CUresult noted(const char* name, CUresult result);

}  // namespace attach
