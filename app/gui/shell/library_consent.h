// Which cuBLASLt libraries this person lets the workers of this window load, and the question about
// one that only a file names. Loading a library runs its code, so a file alone never loads one.
// What was allowed is forgotten with the window. A value; the shell asks and carries out.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace app {

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
  /// `then` waits for the answer; of several that wait as the same `order` the newest stays.
  void ask(const std::string& library, const std::string& order, std::function<void()> then);
  /// Nothing of this name waits any more.
  void withdraw(const std::string& order);
  /// The oldest that waits; null when nothing does.
  const Question* question() const;
  /// Answers it, and returns what waited for the answer.
  std::vector<std::function<void()>> answer(bool yes);

 private:
  struct Open {
    Question question;
    std::vector<std::pair<std::string, std::function<void()>>> waiting;  // as they were asked for
  };
  std::vector<std::string> allowed_;
  std::map<std::string, std::string> files_;  // by the library they name
  std::deque<Open> open_;
};

}  // namespace app
