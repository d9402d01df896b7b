// Search and stepping in the timeline: which record is chosen, which records match the search.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/controllers/background.h"
#include "app/gui/panels/run_picture.h"

namespace app {

/// Immutable; keeps alive the run that it refers to.
struct SearchHits {
  std::shared_ptr<const RunPicture> run;
  std::string text;
  profiling::TimelineLod lod;  // its members are the hits
};

class TimelineFind {
 public:
  explicit TimelineFind(const std::function<void()>& wake) : task_(wake) {}

  /// Another run drops the choice and repeats the search.
  void show(const std::shared_ptr<const RunPicture>& run);
  bool take();

  /// The text field with its count, `width` wide at the cursor; a first search starts at the view.
  /// Returns the record that must be brought into view: the choice that has moved, or, where a
  /// search has ended without a hit in the view, the next one after it.
  std::optional<std::uint32_t> draw(const PanelContext& context, float width, plot::Range view);
  /// Handles the keys. True when the choice has moved.
  bool handle_keys(const PlotKeys& keys, const plot::TimelineLanes& lanes);

  std::optional<std::uint32_t> chosen() const { return chosen_; }
  void choose(std::optional<std::uint32_t> record) { chosen_ = record; }
  /// Null without a search or without hits.
  const profiling::TimelineLod* hits() const;
  /// "3 / 120", "no record" or why there is none, "" without a search.
  std::string count() const;

 private:
  void search();
  std::string no_hit() const;
  bool step(int direction, double view_begin_ns);
  std::optional<std::uint32_t> hit_to_show(plot::Range view);

  std::shared_ptr<const RunPicture> run_;
  std::string text_;
  bool focus_ = false;
  bool typed_ = false;  // the search in progress was typed; else it is repeated for another run
  int asked_step_ = 0;  // Enter was pressed before it ended
  std::optional<std::uint32_t> chosen_;
  std::shared_ptr<const SearchHits> hits_;
  BackgroundTask<std::shared_ptr<const SearchHits>> task_;
};

}  // namespace app
