// Whole requests are kept: a few hundred of them are less than a megabyte.
#include "app/gui/shell/request_history.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "app/protocol/request_json.h"
#include "engine/input/json_text.h"

namespace app {
namespace {

using nlohmann::json;

constexpr std::size_t kNamedFields = 2;

std::string field_name(std::string pointer) {
  if (!pointer.empty() && pointer.front() == '/') pointer.erase(0, 1);
  for (char& c : pointer) {
    if (c == '/') c = '.';
  }
  return pointer;
}

std::string value_text(const json& values, const std::string& key) {
  const auto found = values.find(key);
  if (found == values.end()) return "default";
  return found->is_string() ? found->get<std::string>() : found->dump();
}

}  // namespace

std::string request_difference(const engine::RunRequest& from, const engine::RunRequest& to) {
  const json a = engine::written_json<json>(request_to_json(from)).flatten();
  const json b = engine::written_json<json>(request_to_json(to)).flatten();
  json keys = a;
  keys.update(b);
  std::string text;
  std::size_t different = 0;
  for (const auto& [key, ignored] : keys.items()) {
    if (a.contains(key) && b.contains(key) && a[key] == b[key]) continue;
    if (++different > kNamedFields) continue;
    if (!text.empty()) text += ", ";
    text += fmt::format("{} {} → {}", field_name(key), value_text(a, key), value_text(b, key));
  }
  if (different > kNamedFields) text += fmt::format(" and {} more", different - kNamedFields);
  return text;
}

void RequestHistory::changed(const engine::RunRequest& before, const engine::RunRequest& after,
                             std::uint64_t gesture) {
  if (before == after) return;
  const bool continues = gesture != 0 && position_ > 0 && position_ == steps_.size() &&
                         steps_.back().gesture == gesture;
  steps_.erase(steps_.begin() + static_cast<std::ptrdiff_t>(position_), steps_.end());
  if (continues) {
    steps_.back().after = after;
    // Dragged there and back: nothing has changed.
    if (steps_.back().before == after) steps_.pop_back();
  } else {
    steps_.push_back({before, after, gesture});
    if (steps_.size() > kMaxSteps) steps_.pop_front();
  }
  position_ = steps_.size();
}

std::optional<RequestHistory::Step> RequestHistory::undo() {
  if (position_ == 0) return std::nullopt;
  const Change& change = steps_[--position_];
  return Step{change.before, request_difference(change.after, change.before)};
}

std::optional<RequestHistory::Step> RequestHistory::redo() {
  if (position_ == steps_.size()) return std::nullopt;
  const Change& change = steps_[position_++];
  return Step{change.after, request_difference(change.before, change.after)};
}

}  // namespace app
