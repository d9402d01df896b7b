#include "app/controllers/notices.h"

#include <algorithm>
#include <utility>

namespace app {
namespace {

bool is_error(const Notices::Notice& one) { return one.severity == Severity::Bad; }

}  // namespace

void Notices::add(Severity severity, std::string text, Clock::time_point now) {
  std::erase_if(notices_, [&](const Notice& one) { return one.text == text; });
  notices_.push_back({severity, std::move(text), now});
  if (notices_.size() > kMost) {
    // An error outlives what only reports.
    const auto last = notices_.end() - 1;
    const auto dropped = std::find_if_not(notices_.begin(), last, is_error);
    notices_.erase(dropped == last ? notices_.begin() : dropped);
  }
  changed_ = true;
}

void Notices::dismiss(std::size_t index) {
  notices_.erase(notices_.begin() + static_cast<std::ptrdiff_t>(index));
  changed_ = true;
}

void Notices::clear() {
  changed_ = changed_ || !notices_.empty();
  notices_.clear();
}

void Notices::clear_read() {
  const auto read = [](const Notice& one) { return !is_error(one); };
  if (std::erase_if(notices_, read) > 0) changed_ = true;
}

bool Notices::expire(Clock::time_point now) {
  const auto old = [now](const Notice& one) { return !is_error(one) && now - one.at > kShown; };
  const bool any = std::erase_if(notices_, old) > 0;
  // What was done that long ago is no news either.
  const bool stale = !status_message_.empty() && now - status_at_ > kShown;
  if (stale) status_message_.clear();
  changed_ = changed_ || any || stale;
  return any || stale;
}

std::size_t Notices::errors() const {
  return static_cast<std::size_t>(std::ranges::count_if(notices_, is_error));
}

void Notices::set_status(std::string message, Clock::time_point now) {
  changed_ = changed_ || message != status_message_;
  status_message_ = std::move(message);
  status_at_ = now;
}

Notices::Line Notices::line() const {
  const bool said = !status_message_.empty();
  if (notices_.empty() || (said && status_at_ > notices_.back().at)) return {status_message_};
  return {notices_.back().text, notices_.back().severity};
}

}  // namespace app
