// A sweep as a picture: accuracy against time, with the frontier as a stepped line.
#pragma once

#include <string>
#include <vector>

#include "app/page/svg_picture.h"
#include "profiling/compare/sweep_points.h"

namespace app {

struct SweepPicture {
  SvgPicture picture;  // empty where no point has a time and an SNR
  std::string note;    // what its colours and lines are
};

/// The points as mark_frontier() left them, by their worst expert.
SweepPicture sweep_picture(const std::vector<profiling::SweepPoint>& points, std::string title);

}  // namespace app
