// What a comparison of recipes over steps has pictures of.
#pragma once

#include "app/page/html_page.h"
#include "profiling/session/session_file.h"

namespace app {

/// Nothing for a comparison without steps.
void write_series_pictures(const profiling::RecordedComparison& recorded, HtmlPage& page);

}  // namespace app
