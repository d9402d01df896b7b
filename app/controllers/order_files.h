// Input files on their way to the machine of the worker: an order or a question waits here, off the
// window's thread, until the files that it names are there. The newest wins.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "app/controllers/background.h"
#include "app/protocol/orders.h"
#include "app/protocol/worker_link.h"
#include "app/remote/sent_files.h"
#include "engine/model/error.h"

namespace app {

/// The files of one connection, used by several threads in turn.
class SharedFiles {
 public:
  SharedFiles(std::shared_ptr<const SshConnection> ssh, std::string cache)
      : files_(std::move(ssh), std::move(cache)) {}
  template <class Work>
  auto with(Work&& work) {
    const std::lock_guard lock(mutex_);
    return work(files_);
  }

 private:
  std::mutex mutex_;
  SentFiles files_;
};

/// Whether the task names a file with input, of whichever machine.
bool names_input_files(const Task& task);

class OrderFiles {
 public:
  explicit OrderFiles(std::function<void()> wake) : orders_(wake), questions_(wake), wake_(wake) {}
  ~OrderFiles();

  struct Placed {
    std::uint64_t id = 0;
    engine::Result<Task> task;
  };
  /// Returns the id of the order that this one replaces; 0 = none was on its way.
  std::uint64_t place(std::uint64_t id, Task task, std::shared_ptr<SharedFiles> files);
  void place(FileQuestion question, std::shared_ptr<SharedFiles> files);
  /// Nothing is sent on. Returns the id of the order that was on its way; 0 = none.
  std::uint64_t cancel();

  /// An order whose files are there, or that failed; once.
  std::optional<Placed> take_order();
  /// The same for a question.
  std::optional<engine::Result<FileQuestion>> take_question();
  /// What answers them names files as they did. Never waits for a file that is being sent.
  void name_as_here(LinkEvent& event) const;
  /// The question that is on its way or was the last to be taken.
  const FileQuestion& asked() const { return asked_; }

  /// "Sending x.npy, 1.2 GiB"; empty = nothing is being sent.
  std::string words() const;
  double fraction() const;

 private:
  struct Progress {
    std::mutex mutex;
    std::string words;
    double fraction = -1;
    std::atomic<bool> stop{false};
  };
  SentFiles::Callbacks callbacks(const std::shared_ptr<Progress>& progress) const;

  struct PlacedTask {
    Task task;
    std::map<std::string, std::string> names;  // of its files here, by their places there
  };

  BackgroundTask<engine::Result<PlacedTask>> orders_;
  BackgroundTask<engine::Result<FileQuestion>> questions_;
  std::function<void()> wake_;
  std::shared_ptr<Progress> progress_;  // of the order on its way
  std::uint64_t id_ = 0;                // of that order
  std::map<std::string, std::string> names_;
  std::shared_ptr<Progress> question_progress_;
  FileQuestion asked_;
  std::string asked_place_;  // where the file of the question that was taken is
};

}  // namespace app
