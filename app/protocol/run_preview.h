// What a slow link shows of a large run before all of it has arrived.
#pragma once

#include <optional>

#include "app/protocol/orders.h"

namespace app {

/// Cells of a preview's map along a side: about one for every four pixels of the card that shows
/// it.
inline constexpr int kPreviewMapSide = 96;

/// The run with coarse maps (mean and maximum alone), without records and graph. Nullopt where that
/// leaves out too little to be sent twice.
std::optional<RunPreview> preview_of(const RunDone& done);

}  // namespace app
