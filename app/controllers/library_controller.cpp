#include "app/controllers/library_controller.h"

#include <algorithm>
#include <utility>

#include "app/doctor/library_versions.h"

namespace app {
namespace {

constexpr std::size_t kLongestLine = 200;
constexpr std::size_t kKeptBytes = 600;

/// A progress bar redraws its line many times a second: only the newest is worth showing, and none
/// of them is worth keeping.
bool is_progress(const std::string& line) {
  return line.find('%') != std::string::npos || line.find("MB/s") != std::string::npos;
}

const engine::RunRequest& request_of(const profiling::RecordedRun& run) { return run.request; }
const engine::RunRequest& request_of(const profiling::RecordedVisit& visit) {
  return visit.request;
}
const engine::RunRequest& request_of(const profiling::RecordedComparison& recorded) {
  return recorded.comparison.request.request;
}

}  // namespace

void LibraryConsent::allow(const std::string& library) {
  if (!library.empty() && !allows(library)) allowed_.push_back(library);
}

bool LibraryConsent::allows(const std::string& library) const {
  return std::ranges::find(allowed_, library) != allowed_.end();
}

void LibraryConsent::named(const std::string& library, const std::string& file) {
  // A hostile file could name thousands.
  constexpr std::size_t kMaxNamed = 1000;
  if (library.empty() || files_.size() >= kMaxNamed) return;
  files_[library] = file;
}

void LibraryConsent::ask(const std::string& library, Command order) {
  withdraw_kind(order.index());  // newest wins
  auto open =
      std::ranges::find_if(open_, [&](const Open& one) { return one.question.library == library; });
  if (open == open_.end()) {
    const auto file = files_.find(library);
    open_.push_back({.question = {library, file == files_.end() ? std::string() : file->second},
                     .waiting = {}});
    open = open_.end() - 1;
  }
  open->waiting.push_back(std::move(order));
}

void LibraryConsent::withdraw_kind(std::size_t kind) {
  for (Open& one : open_) {
    std::erase_if(one.waiting, [&](const Command& order) { return order.index() == kind; });
  }
  std::erase_if(open_, [](const Open& one) { return one.waiting.empty(); });
}

const LibraryConsent::Question* LibraryConsent::question() const {
  return open_.empty() ? nullptr : &open_.front().question;
}

std::vector<Command> LibraryConsent::answer(bool yes) {
  if (open_.empty()) return {};
  Open answered = std::move(open_.front());
  open_.pop_front();
  if (yes) allow(answered.question.library);
  return std::move(answered.waiting);
}

void LibraryController::fetch(const std::string& version) {
  if (fetch_.busy) return;
  cancel_ = std::make_shared<std::atomic<bool>>(false);
  shared_ = std::make_shared<Shared>();
  fetch_ = {.version = version, .busy = true, .line = "Starting", .error = "", .path = ""};
  task_.start([version, shared = shared_, cancel = cancel_, wake = wake_] {
    const auto read = [&](const std::string& line) {
      if (line.empty()) return;
      {
        const std::lock_guard lock(shared->mutex);
        shared->changed = true;
        shared->line = line.substr(0, kLongestLine);
        if (!is_progress(line)) shared->lines += shared->line + "\n";
        if (shared->lines.size() > kKeptBytes) {
          const std::size_t cut = shared->lines.find('\n', shared->lines.size() - kKeptBytes);
          shared->lines.erase(0, cut + 1);
        }
      }
      wake();
    };
    return fetch_library(version, read, *cancel);
  });
}

bool LibraryController::tick() {
  bool changed = false;
  {
    const std::lock_guard lock(shared_->mutex);
    if (std::exchange(shared_->changed, false)) {
      fetch_.line = shared_->line;
      changed = true;
    }
  }
  if (auto fetched = task_.take()) {
    changed = true;
    fetch_.busy = false;
    fetch_.line.clear();
    if (fetched->ok()) {
      fetch_.path = std::move(*fetched).value();
    } else {
      fetch_.error = fetched->error().message;
      const std::lock_guard lock(shared_->mutex);
      if (fetched->error().code != engine::ErrorCode::Cancelled && !shared_->lines.empty()) {
        fetch_.error += "\n" + shared_->lines;
      }
    }
  }
  return changed;
}

bool LibraryController::may_load(const std::string& library, const LinkSupervisor& link,
                                 Command order) {
  if (library.empty() || consent.allows(library) || library == link.cublaslt()) return true;
  if (link.hello() && has_library(*link.hello(), library)) return true;
  if (unattended_) {
    refused_ = library;
  } else {
    consent.ask(library, std::move(order));
  }
  return false;
}

const LibraryConsent::Question* LibraryController::question(const LinkSupervisor& link) const {
  const bool known = link.hello() || !link.started() || link.status().state == LinkState::Lost;
  return known ? consent.question() : nullptr;
}

void LibraryController::note(const profiling::Session& session) {
  profiling::for_each_kind(session, [&]<class Recorded>(const std::vector<Recorded>& list) {
    for (const Recorded& one : list) {
      consent.named(request_of(one).cublaslt_library, session.path);
    }
  });
}

}  // namespace app
