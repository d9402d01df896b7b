#include "app/gui/shell/library_consent.h"

#include <algorithm>
#include <utility>

namespace app {

void LibraryConsent::allow(const std::string& library) {
  if (!library.empty() && !allows(library)) allowed_.push_back(library);
}

bool LibraryConsent::allows(const std::string& library) const {
  return std::ranges::find(allowed_, library) != allowed_.end();
}

void LibraryConsent::named(const std::string& library, const std::string& file) {
  // A hostile file could name a great many.
  constexpr std::size_t kMostNamed = 1000;
  if (library.empty() || files_.size() >= kMostNamed) return;
  files_[library] = file;
}

void LibraryConsent::ask(const std::string& library, const std::string& order,
                         std::function<void()> then) {
  withdraw(order);  // newest wins
  auto open =
      std::ranges::find_if(open_, [&](const Open& one) { return one.question.library == library; });
  if (open == open_.end()) {
    const auto file = files_.find(library);
    open_.push_back({.question = {library, file == files_.end() ? std::string() : file->second},
                     .waiting = {}});
    open = open_.end() - 1;
  }
  open->waiting.emplace_back(order, std::move(then));
}

void LibraryConsent::withdraw(const std::string& order) {
  for (Open& one : open_) {
    std::erase_if(one.waiting, [&](const auto& waits) { return waits.first == order; });
  }
  std::erase_if(open_, [](const Open& one) { return one.waiting.empty(); });
}

const LibraryConsent::Question* LibraryConsent::question() const {
  return open_.empty() ? nullptr : &open_.front().question;
}

std::vector<std::function<void()>> LibraryConsent::answer(bool yes) {
  if (open_.empty()) return {};
  Open answered = std::move(open_.front());
  open_.pop_front();
  if (yes) allow(answered.question.library);
  std::vector<std::function<void()>> waited;
  for (auto& [order, then] : answered.waiting) waited.push_back(std::move(then));
  return waited;
}

}  // namespace app
