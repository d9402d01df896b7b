// The largest magnitude along the columns of an operand, with the outliers named.
#pragma once

#include <string>

#include "app/page/svg_picture.h"
#include "engine/model/channel_statistics.h"

namespace app {

/// Empty if no column has an element that is not zero.
SvgPicture channel_picture(const engine::ChannelStatistics& channels, std::string title);

}  // namespace app
