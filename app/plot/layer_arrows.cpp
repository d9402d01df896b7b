#include "app/plot/layer_arrows.h"

#include <algorithm>
#include <cmath>

namespace app {
namespace {

/// Below the upper edge of the box that it leads to, clear of the arrow along that box's row.
constexpr double kEntry = 10.0;

std::vector<LayerPoint> past_the_column(const LayerBox& from, const LayerBox& to, double unit) {
  const double x = std::max(from.x + from.width, to.x + to.width) + 0.75 * kBesideColumn * unit;
  const double start = from.y + 0.75 * from.height;  // below the arrow along its own row
  const double end = to.y + kEntry * unit;
  return {{from.x + from.width, start}, {x, start}, {x, end}, {to.x + to.width, end}};
}

}  // namespace

std::vector<LayerPoint> arrow_path(const LayerBox& from, const LayerBox& to, bool kept,
                                   double unit) {
  const double from_middle = from.x + 0.5 * from.width;
  const double to_middle = to.x + 0.5 * to.width;
  const bool right = to_middle > from_middle;
  if (std::abs(from_middle - to_middle) < 0.5 * to.width) {
    if (kept) return past_the_column(from, to, unit);
    const bool down = to.y + 0.5 * to.height > from.y + 0.5 * from.height;
    return {{to_middle, down ? from.y + from.height : from.y},
            {to_middle, down ? to.y : to.y + to.height}};
  }
  if (to.y >= from.y + from.height) {
    const double out = 10.0 * unit;
    const double in = 14.0 * unit;
    return {{right ? from.x + from.width - out : from.x + out, from.y + from.height},
            {right ? to.x + in : to.x + to.width - in, to.y}};
  }
  const double middle = from.y + 0.5 * from.height;
  return {{right ? from.x + from.width : from.x, middle}, {right ? to.x : to.x + to.width, middle}};
}

}  // namespace app
