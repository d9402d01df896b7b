// Whole requests are kept: a few hundred of them are less than a megabyte.
#include "app/controllers/request_history.h"

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "app/controllers/request_controls.h"
#include "engine/model/leaves.h"

namespace app {
namespace {

std::string value_text(const engine::LeafTexts& values, const std::string& path) {
  const auto found = values.find(path);
  return found == values.end() ? "default" : found->second;
}

/// A setting that differs, as the rail calls it.
struct ChangedSetting {
  std::string label;
  std::string before;
  std::string after;
};

/// The first settings that differ, and how many more do.
struct ChangedSettings {
  std::vector<ChangedSetting> named;
  std::size_t more = 0;
};

ChangedSettings changed_settings(const engine::RunRequest& from, const engine::RunRequest& to,
                                 std::size_t most_named) {
  const engine::LeafTexts a = engine::leaf_texts(from);
  const engine::LeafTexts b = engine::leaf_texts(to);
  engine::LeafTexts all = a;
  all.insert(b.begin(), b.end());
  ChangedSettings changed;
  for (const auto& [path, ignored] : all) {
    const std::string before = value_text(a, path);
    const std::string after = value_text(b, path);
    if (before == after) continue;
    if (changed.named.size() == most_named) {
      ++changed.more;
    } else {
      changed.named.push_back({.label = setting_label(path),
                               .before = setting_value(path, before),
                               .after = setting_value(path, after)});
    }
  }
  return changed;
}

/// `words` of each setting that is named, and how many more there are.
template <class Words>
std::string listed(const ChangedSettings& changed, Words words) {
  std::string text;
  for (const ChangedSetting& one : changed.named) {
    text += (text.empty() ? "" : ", ") + words(one);
  }
  if (changed.more > 0) text += fmt::format(" and {} more", changed.more);
  return text;
}

}  // namespace

std::string request_difference(const engine::RunRequest& from, const engine::RunRequest& to) {
  constexpr std::size_t kMostNamed = 2;
  return listed(changed_settings(from, to, kMostNamed), [](const ChangedSetting& one) {
    return fmt::format("{} {} → {}", one.label, one.before, one.after);
  });
}

DifferenceSides difference_sides(const engine::RunRequest& a, const engine::RunRequest& b) {
  constexpr std::size_t kMostNamed = 4;
  const ChangedSettings changed = changed_settings(a, b, kMostNamed);
  return {
      .a = listed(changed, [](const ChangedSetting& one) { return one.label + " " + one.before; }),
      .b = listed(changed, [](const ChangedSetting& one) { return one.label + " " + one.after; })};
}

void RequestHistory::changed(const engine::RunRequest& before, const engine::RunRequest& after,
                             std::uint64_t gesture) {
  if (before == after) return;
  const bool continues = gesture != 0 && position_ > 0 && position_ == steps_.size() &&
                         steps_.back().gesture == gesture;
  if (!continues) return add({before, after, gesture});
  steps_.back().after = after;
  // Dragged there and back: nothing has changed.
  if (steps_.back().before == after) steps_.pop_back();
  position_ = steps_.size();
}

void RequestHistory::took_over(const engine::RunRequest& before, const engine::RunRequest& recorded,
                               RecordedPlace from) {
  add({.before = before, .after = recorded, .from = std::move(from)});
}

void RequestHistory::add(Change change) {
  steps_.erase(steps_.begin() + static_cast<std::ptrdiff_t>(position_), steps_.end());
  steps_.push_back(std::move(change));
  if (steps_.size() > kMaxSteps) steps_.pop_front();
  position_ = steps_.size();
}

std::optional<RecordedPlace> RequestHistory::next_from() const {
  return position_ == steps_.size() ? std::nullopt : steps_[position_].from;
}

std::optional<RequestHistory::Step> RequestHistory::undo() {
  if (position_ == 0) return std::nullopt;
  const Change& change = steps_[--position_];
  return Step{change.before, request_difference(change.after, change.before), change.from};
}

std::optional<RequestHistory::Step> RequestHistory::redo() {
  if (position_ == steps_.size()) return std::nullopt;
  const Change& change = steps_[position_++];
  return Step{change.after, request_difference(change.before, change.after), change.from};
}

}  // namespace app
