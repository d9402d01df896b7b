// cuBLASLt libraries of the person's own choice: fetching a version, by the command line's
// mechanism and off the window's thread, and the question whether one that only a file names may be
// loaded. Loading a library runs its code, so a file alone never loads one.
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

/// Which libraries this person lets the workers of this window load. Forgotten with the window.
class LibraryConsent {
 public:
  struct Question {
    std::string library;
    std::string file;  // that names it; empty = not known
  };

  /// Chosen by this person: by an option, by fetching it.
  void allow(const std::string& library);
  const std::vector<std::string>& allowed() const { return allowed_; }
  bool allows(const std::string& library) const;

  /// A file that was just read names this library (empty = none): the question will say so.
  void named(const std::string& library, const std::string& file);
  /// `order` waits for the answer; of several orders of one kind the newest stays.
  void ask(const std::string& library, Command order);
  /// No order of this kind waits any more.
  template <class Order>
  void withdraw() {
    withdraw_kind(Command(Order{}).index());
  }
  /// The oldest that waits; null when nothing does.
  const Question* question() const;
  /// Answers it, and returns what waited for the answer.
  std::vector<Command> answer(bool yes);

 private:
  struct Open {
    Question question;
    std::vector<Command> waiting;  // as they were asked for
  };
  void withdraw_kind(std::size_t kind);

  std::vector<std::string> allowed_;
  std::map<std::string, std::string> files_;  // by the library they name
  std::deque<Open> open_;
};

class LibraryController {
 public:
  explicit LibraryController(const std::function<void()>& wake) : wake_(wake), task_(wake) {}
  /// Cancels what is under way; its processes are gone when this returns.
  ~LibraryController() { *cancel_ = true; }
  LibraryController(const LibraryController&) = delete;
  LibraryController& operator=(const LibraryController&) = delete;

  /// Ignored while another fetch is under way.
  void fetch(const std::string& version);
  void cancel_fetch() { *cancel_ = true; }
  const LibraryFetch& newest_fetch() const { return fetch_; }
  /// Takes in what the fetch says; true when there is something to draw.
  bool tick();

  LibraryConsent consent;
  /// Every order that names a library comes by here, wherever its request came from. False = the
  /// person is asked first, and `order` follows a yes.
  bool may_load(const std::string& library, const LinkSupervisor& link, Command order);
  /// Null until a worker has said what it has: before, nobody knows whether there is anything to
  /// ask.
  const LibraryConsent::Question* question(const LinkSupervisor& link) const;
  /// From now on nobody is there to ask: what would be a question is refused.
  void leave_alone() { alone_ = true; }
  /// The library that was just refused because nobody is there, once.
  std::optional<std::string> take_refused() { return std::exchange(refused_, std::nullopt); }
  /// Libraries that the runs of a recording name.
  void note(const profiling::Session& session);

 private:
  struct Shared {
    std::mutex mutex;
    bool changed = false;
    std::string line;   // the newest
    std::string lines;  // what there is to read if it fails: the last ones
  };

  std::function<void()> wake_;
  LibraryFetch fetch_;
  bool alone_ = false;
  std::optional<std::string> refused_;
  std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();
  std::shared_ptr<std::atomic<bool>> cancel_ = std::make_shared<std::atomic<bool>>(false);
  BackgroundTask<engine::Result<std::string>> task_;
};

}  // namespace app
