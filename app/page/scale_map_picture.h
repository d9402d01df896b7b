// Where in an operand the scales are large, as a picture.
#pragma once

#include <string>

#include "app/page/svg_picture.h"
#include "engine/model/operand_statistics.h"

namespace app {

struct ScaleMapPicture {
  SvgPicture picture{};
  std::string note{};
};

/// Empty without scales. Folded further than the window's map, so that a page holds many.
ScaleMapPicture scale_map_picture(const engine::ScaleMap& map, std::string title);

}  // namespace app
