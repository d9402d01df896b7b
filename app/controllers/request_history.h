// Undo and redo of the user's changes to the request. A value: no clock, no window. A drag is
// one step, however many frames it took.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "engine/model/run_request.h"

namespace app {

/// A run of a recording.
struct RecordedPlace {
  std::string path;
  std::size_t run = 0;
  bool operator==(const RecordedPlace&) const = default;
};

class RequestHistory {
 public:
  struct Step {
    engine::RunRequest request;  // to be shown now
    std::string words;           // what that changes: "Tokens 512 → 1024"
    /// The request was taken over from this run: undone, it is shown again, redone, left again.
    std::optional<RecordedPlace> from{};
  };

  /// Changes of one non-zero `gesture` (a press of the mouse until its release) become one step.
  /// What was undone before is forgotten.
  void changed(const engine::RunRequest& before, const engine::RunRequest& after,
               std::uint64_t gesture);
  /// The request of a recorded run became the user's: a step even if both are equal, because it
  /// left the recording.
  void took_over(const engine::RunRequest& before, const engine::RunRequest& recorded,
                 RecordedPlace from);
  /// Where the step that redo() would return was taken from.
  std::optional<RecordedPlace> next_from() const;
  /// nullopt when there is nothing to undo or redo.
  std::optional<Step> undo();
  std::optional<Step> redo();
  std::size_t undo_depth() const { return position_; }
  std::size_t redo_depth() const { return steps_.size() - position_; }

  static constexpr std::size_t kMaxSteps = 300;

 private:
  struct Change {
    engine::RunRequest before;
    engine::RunRequest after;
    std::uint64_t gesture = 0;
    std::optional<RecordedPlace> from{};
  };
  void add(Change change);
  std::deque<Change> steps_;
  std::size_t position_ = 0;  // steps before it can be undone, from it on redone
};

/// "Tokens 512 → 1024, Experts … and 3 more"; settings as the rail calls them.
std::string request_difference(const engine::RunRequest& from, const engine::RunRequest& to);
/// The same as each of the two has it: "Tokens 512" and "Tokens 1024"; both are empty for equal
/// requests.
struct DifferenceSides {
  std::string a;
  std::string b;
};
DifferenceSides difference_sides(const engine::RunRequest& a, const engine::RunRequest& b);

}  // namespace app
