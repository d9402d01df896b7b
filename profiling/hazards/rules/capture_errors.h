// CUDA's error numbers of captures, which the rules about captures share.
#pragma once

#include <string>

#include "profiling/hazards/model/snapshot.h"

namespace profiling {

/// cudaErrorStreamCaptureUnsupported to cudaErrorStreamCaptureWrongThread.
constexpr bool is_capture_error(int code) { return code >= 900 && code <= 908; }

/// "cudaErrorStreamCaptureInvalidated (901) at cuStreamEndCapture".
std::string failure_text(const CaptureFailure& failure);

/// A call of another thread that CUDA refused because of this capture.
bool refused_to_other_thread(const CaptureEvent& event);

}  // namespace profiling
