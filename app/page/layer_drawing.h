// The picture of an expert layer: tensors, the kernels between them, and what backward keeps.
#pragma once

#include "app/page/svg_picture.h"
#include "profiling/session/session_file.h"

namespace app {

/// Empty for a run of another step.
SvgPicture layer_drawing(const profiling::RecordedRun& run);

}  // namespace app
