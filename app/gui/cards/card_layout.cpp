// Shares need not sum to 1: they are relative.
#include "app/gui/cards/card_layout.h"

#include <cmath>
#include <numeric>

namespace app {
namespace {

std::vector<float> cut(float length, float gap, const std::vector<float>& shares) {
  const float sum = std::accumulate(shares.begin(), shares.end(), 0.0F);
  const float room = length - gap * static_cast<float>(shares.size() - 1);
  std::vector<float> lengths;
  float left = room;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    const bool last = i + 1 == shares.size();
    lengths.push_back(last ? left : std::floor(room * shares[i] / sum));
    left -= lengths.back();
  }
  return lengths;
}

}  // namespace

std::vector<Area> columns_of(const Area& area, float gap, const std::vector<float>& shares) {
  std::vector<Area> parts;
  float x = std::floor(area.at.x);
  for (const float width : cut(area.size.x, gap, shares)) {
    parts.push_back({ImVec2(x, std::floor(area.at.y)), ImVec2(width, area.size.y)});
    x += width + gap;
  }
  return parts;
}

std::vector<Area> rows_of(const Area& area, float gap, const std::vector<float>& shares) {
  std::vector<Area> parts;
  float y = std::floor(area.at.y);
  for (const float height : cut(area.size.y, gap, shares)) {
    parts.push_back({ImVec2(std::floor(area.at.x), y), ImVec2(area.size.x, height)});
    y += height + gap;
  }
  return parts;
}

}  // namespace app
