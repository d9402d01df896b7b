// Which lanes of a timeline are shown and in which order: pinned ones first, hidden ones not at
// all. Stored by label, so that the choice holds for the next run. No ImGui calls.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace app::plot {

class LaneOrder {
 public:
  bool pinned(const std::string& label) const;
  bool hidden(const std::string& label) const;
  void toggle_pin(const std::string& label);
  void hide(const std::string& label);
  void show_all() { hidden_.clear(); }
  /// Indices into the given labels; the last visible lane cannot be hidden.
  std::vector<std::size_t> shown(std::span<const std::string> labels) const;

 private:
  std::vector<std::string> pinned_;  // in the order they were pinned
  std::vector<std::string> hidden_;
};

}  // namespace app::plot
