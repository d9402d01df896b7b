// The pictures of a run, in the order in which they are read.
#pragma once

#include "app/page/html_page.h"
#include "profiling/session/session_file.h"

namespace app {

/// Those that the run has something for: the layer, the time of one step, the scales of operands.
void write_run_pictures(const profiling::RecordedRun& run, HtmlPage& page);

}  // namespace app
