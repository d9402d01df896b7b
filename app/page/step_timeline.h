// The work of one step on a time axis, as a picture.
#pragma once

#include <string>

#include "app/page/svg_picture.h"
#include "profiling/session/session_file.h"

namespace app {

struct StepTimeline {
  SvgPicture picture{};
  std::string note{};  // which step it is, and what is folded
};

/// The traced iteration whose length is the median; empty if none was traced.
StepTimeline step_timeline(const profiling::RecordedRun& run);

}  // namespace app
