// Whole requests are kept: a few hundred of them are less than a megabyte.
#include "app/controllers/request_history.h"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "app/controllers/request_controls.h"
#include "engine/model/leaves.h"

namespace app {
namespace {

constexpr std::size_t kNamedFields = 2;

std::string value_text(const engine::LeafTexts& values, const std::string& path) {
  const auto found = values.find(path);
  return found == values.end() ? "default" : found->second;
}

}  // namespace

std::string request_difference(const engine::RunRequest& from, const engine::RunRequest& to) {
  const engine::LeafTexts a = engine::leaf_texts(from);
  const engine::LeafTexts b = engine::leaf_texts(to);
  engine::LeafTexts all = a;
  all.insert(b.begin(), b.end());
  std::string text;
  std::size_t different = 0;
  for (const auto& [path, ignored] : all) {
    const std::string before = value_text(a, path);
    const std::string after = value_text(b, path);
    if (before == after || ++different > kNamedFields) continue;
    if (!text.empty()) text += ", ";
    text += fmt::format("{} {} → {}", setting_label(path), setting_value(path, before),
                        setting_value(path, after));
  }
  if (different > kNamedFields) text += fmt::format(" and {} more", different - kNamedFields);
  return text;
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
