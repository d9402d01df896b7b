// cuBLASLt libraries: fetches a version in the background, by the same code as the command line,
// and asks whether a library that only a file names may be loaded. Loading a library runs its code,
// so a file alone never loads one.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "app/controllers/background.h"
#include "app/controllers/commands.h"
#include "app/controllers/link_supervisor.h"
#include "profiling/session/session_file.h"

namespace app {

/// Which libraries the user lets the workers of this window load. Not kept after the window closes.
class LibraryConsent {
 public:
  struct Question {
    std::string library;
    std::string file;  // that names it; empty = not known
  };

  /// Chosen by the user: with an option, or by fetching it.
  void allow(const std::string& library);
  const std::vector<std::string>& allowed() const { return allowed_; }
  bool allows(const std::string& library) const;

  /// A file that was just read names this library (empty = none): the question mentions it.
  void named(const std::string& library, const std::string& file);
  /// `order` waits for the answer; only the newest order of each kind is kept.
  void ask(const std::string& library, Command order);
  /// Drops waiting orders of this kind.
  template <class Order>
  void withdraw() {
    withdraw_kind(Command(Order{}).index());
  }
  /// The oldest open question; null = none.
  const Question* question() const;
  /// Closes it and returns the orders that waited for it.
  std::vector<Command> answer(bool yes);

 private:
  struct Open {
    Question question;
    std::vector<Command> waiting;  // in the order they were made
  };
  void withdraw_kind(std::size_t kind);

  std::vector<std::string> allowed_;
  std::map<std::string, std::string> files_;  // by the library they name
  std::deque<Open> open_;
};

class LibraryController {
 public:
  explicit LibraryController(const std::function<void()>& wake) : wake_(wake), task_(wake) {}
  /// Cancels a fetch in progress; its processes are gone when this returns.
  ~LibraryController() { *cancel_ = true; }
  LibraryController(const LibraryController&) = delete;
  LibraryController& operator=(const LibraryController&) = delete;

  /// Ignored during another fetch.
  void fetch(const std::string& version);
  void cancel_fetch() { *cancel_ = true; }
  const LibraryFetch& newest_fetch() const { return fetch_; }
  /// Collects output of the fetch; true when there is something to draw.
  bool tick();

  LibraryConsent consent;
  /// Every order that names a library is checked here, wherever its request came from. False = the
  /// user is asked first; a yes carries out `order`.
  bool may_load(const std::string& library, const LinkSupervisor& link, Command order);
  /// Null until a worker has listed its libraries, which need no question.
  const LibraryConsent::Question* question(const LinkSupervisor& link) const;
  /// Unattended: a library that would need a question is refused from now on.
  void refuse_questions() { unattended_ = true; }
  /// The library just refused because nobody can answer; returned once.
  std::optional<std::string> take_refused() { return std::exchange(refused_, std::nullopt); }
  /// Records which libraries the runs of a recording name.
  void note(const profiling::Session& session);

 private:
  struct Shared {
    std::mutex mutex;
    bool changed = false;
    std::string line;   // the newest
    std::string lines;  // the last ones, shown if it fails
  };

  std::function<void()> wake_;
  LibraryFetch fetch_;
  bool unattended_ = false;
  std::optional<std::string> refused_;
  std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();
  std::shared_ptr<std::atomic<bool>> cancel_ = std::make_shared<std::atomic<bool>>(false);
  BackgroundTask<engine::Result<std::string>> task_;
};

}  // namespace app
