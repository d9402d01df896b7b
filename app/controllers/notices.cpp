#include "app/controllers/notices.h"

#include <utility>

namespace app {
namespace {

constexpr std::size_t kMaxNotices = 3;

}  // namespace

void Notices::add(Severity severity, std::string text) {
  std::erase_if(notices_, [&](const Notice& one) { return one.text == text; });
  notices_.push_back({severity, std::move(text)});
  if (notices_.size() > kMaxNotices) notices_.erase(notices_.begin());
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

void Notices::set_status(std::string message) {
  changed_ = changed_ || message != status_message_;
  status_message_ = std::move(message);
}

}  // namespace app
