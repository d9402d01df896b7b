#include "app/gui/shell/library_desk.h"

#include <utility>

#include "app/doctor/library_fetch.h"

namespace app {
namespace {

constexpr std::size_t kLongestLine = 200;
constexpr std::size_t kKeptBytes = 600;

/// A progress bar redraws its line many times a second: only the newest is worth showing, and none
/// of them is worth keeping.
bool is_progress(const std::string& line) {
  return line.find('%') != std::string::npos || line.find("MB/s") != std::string::npos;
}

}  // namespace

void LibraryDesk::fetch(const std::string& version) {
  if (news_.busy) return;
  cancel_ = std::make_shared<std::atomic<bool>>(false);
  shared_ = std::make_shared<Shared>();
  news_ = {.version = version, .busy = true, .line = "Starting", .error = "", .path = ""};
  task_.start([version, shared = shared_, cancel = cancel_, wake = wake_] {
    const auto hear = [&](const std::string& line) {
      if (line.empty()) return;
      {
        const std::lock_guard lock(shared->mutex);
        shared->changed = true;
        shared->line = line.substr(0, kLongestLine);
        if (!is_progress(line)) shared->spoken += shared->line + "\n";
        if (shared->spoken.size() > kKeptBytes) {
          const std::size_t cut = shared->spoken.find('\n', shared->spoken.size() - kKeptBytes);
          shared->spoken.erase(0, cut + 1);
        }
      }
      wake();
    };
    return fetch_library(version, hear, *cancel);
  });
}

bool LibraryDesk::tick() {
  bool changed = false;
  {
    const std::lock_guard lock(shared_->mutex);
    if (std::exchange(shared_->changed, false)) {
      news_.line = shared_->line;
      changed = true;
    }
  }
  if (auto fetched = task_.take()) {
    changed = true;
    news_.busy = false;
    news_.line.clear();
    if (fetched->ok()) {
      news_.path = std::move(*fetched).value();
    } else {
      news_.error = fetched->error().message;
      const std::lock_guard lock(shared_->mutex);
      if (fetched->error().code != engine::ErrorCode::Cancelled && !shared_->spoken.empty()) {
        news_.error += "\n" + shared_->spoken;
      }
    }
  }
  return changed;
}

}  // namespace app
