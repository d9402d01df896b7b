// A handful of names: searched from front to back.
#include "app/gui/plot/lane_order.h"

#include <algorithm>

namespace app::plot {

bool LaneOrder::pinned(const std::string& label) const {
  return std::ranges::find(pinned_, label) != pinned_.end();
}

bool LaneOrder::hidden(const std::string& label) const {
  return std::ranges::find(hidden_, label) != hidden_.end();
}

void LaneOrder::toggle_pin(const std::string& label) {
  if (std::erase(pinned_, label) == 0) pinned_.push_back(label);
}

void LaneOrder::hide(const std::string& label) {
  if (!hidden(label)) hidden_.push_back(label);
}

std::vector<std::size_t> LaneOrder::shown(std::span<const std::string> labels) const {
  std::vector<std::size_t> order;
  for (const std::string& pin : pinned_) {
    const auto at = std::ranges::find(labels, pin);
    if (at == labels.end() || hidden(pin)) continue;
    order.push_back(static_cast<std::size_t>(at - labels.begin()));
  }
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (!hidden(labels[i]) && !pinned(labels[i])) order.push_back(i);
  }
  // A timeline without a lane would be empty and would offer no way to show the lanes again.
  if (order.empty() && !labels.empty()) order.push_back(0);
  return order;
}

}  // namespace app::plot
