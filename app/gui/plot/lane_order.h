// Which lanes of a timeline are shown and in which order: pinned ones first, then group by group
// under a heading that collapses the group, hidden ones not at all. Stored by label, so that the
// choice holds for the next run. No ImGui calls.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace app::plot {

/// A lane, or the heading of a group.
struct LaneLine {
  bool heading = false;
  std::size_t lane = 0;  // index into the labels; of a heading: of its group's first lane
  std::string group{};
  std::size_t lanes = 1;  // of a heading: in its group
  bool collapsed = false;
};

class LaneOrder {
 public:
  bool pinned(const std::string& label) const;
  bool hidden(const std::string& label) const;
  void toggle_pin(const std::string& label);
  void hide(const std::string& label);
  void show_all() { hidden_.clear(); }
  /// Neither hidden nor collapsed any more.
  void reveal(const std::string& label, const std::string& group);
  bool collapsed(const std::string& group) const;
  void toggle_group(const std::string& group);
  /// Collapses all of these, or opens them if they are all collapsed.
  void toggle_groups(std::span<const std::string> groups);

  /// From top to bottom. A group has a heading if it has several lanes. `groups`: of each label.
  std::vector<LaneLine> lines(std::span<const std::string> labels,
                              std::span<const std::string> groups) const;
  /// The labels' indices without headings and what they hide; the last visible lane cannot be
  /// hidden.
  std::vector<std::size_t> shown(std::span<const std::string> labels) const;

 private:
  std::vector<std::string> pinned_;  // in the order they were pinned
  std::vector<std::string> hidden_;
  std::vector<std::string> collapsed_;
};

}  // namespace app::plot
