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

void LaneOrder::reveal(const std::string& label, const std::string& group) {
  std::erase(hidden_, label);
  // A pinned lane is above the groups.
  if (!pinned(label)) std::erase(collapsed_, group);
}

bool LaneOrder::collapsed(const std::string& group) const {
  return std::ranges::find(collapsed_, group) != collapsed_.end();
}

void LaneOrder::toggle_group(const std::string& group) {
  if (std::erase(collapsed_, group) == 0) collapsed_.push_back(group);
}

void LaneOrder::toggle_groups(std::span<const std::string> groups) {
  const bool all =
      std::ranges::all_of(groups, [this](const std::string& group) { return collapsed(group); });
  for (const std::string& group : groups) {
    if (collapsed(group) == all) toggle_group(group);
  }
}

std::vector<LaneLine> LaneOrder::lines(std::span<const std::string> labels,
                                       std::span<const std::string> groups) const {
  std::vector<LaneLine> lines;
  std::vector<std::size_t> rest;
  for (const std::size_t lane : shown(labels)) {
    if (pinned(labels[lane])) {
      lines.push_back({.lane = lane, .group = groups[lane]});
    } else {
      rest.push_back(lane);
    }
  }
  for (std::size_t i = 0; i < rest.size();) {
    const std::string& group = groups[rest[i]];
    std::size_t end = i;
    while (end < rest.size() && groups[rest[end]] == group) ++end;
    const bool several = end - i > 1;
    const bool closed = several && collapsed(group);
    if (several) {
      lines.push_back({.heading = true,
                       .lane = rest[i],
                       .group = group,
                       .lanes = end - i,
                       .collapsed = closed});
    }
    for (; i < end; ++i) {
      if (!closed) lines.push_back({.lane = rest[i], .group = group});
    }
  }
  return lines;
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
