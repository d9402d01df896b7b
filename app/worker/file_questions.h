// Answers the window's questions about files on a separate thread: reading a routing file may take
// seconds, and commands are read meanwhile. Only the newest question about routing counts, since
// every edit of the routing sends one, and only the newest about a folder, since a user is in one
// at a time. A file that has not changed is not read again.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include "app/protocol/worker_link.h"
#include "engine/input/tensor_source.h"
#include "engine/model/guarded_thread.h"

namespace app {

/// What is in the file; an error is part of it. `cancel` ends the reading with Cancelled.
engine::Result<FileReport> read_file_report(const FileQuestion& question,
                                            const std::atomic<bool>& cancel);

class FileQuestions {
 public:
  using Reader = std::function<engine::Result<FileReport>(const FileQuestion&,
                                                          const std::atomic<bool>& cancel)>;

  /// `answer` gets exactly one report for every question, on the thread or on that of put(), unless
  /// close() comes first.
  explicit FileQuestions(std::function<void(const FileReport&)> answer,
                         Reader reader = read_file_report);
  FileQuestions(const FileQuestions&) = delete;
  FileQuestions& operator=(const FileQuestions&) = delete;
  /// Waits for the reading in progress, which ends soon unless a disk does not answer: close()
  /// tells.
  ~FileQuestions();

  void put(FileQuestion question);
  /// Nothing is answered any more, and the reading in progress is cancelled. False if it has not
  /// ended after `grace`.
  bool close(std::chrono::milliseconds grace);

 private:
  /// The newest answer to a question about routing, for as long as the file is the same.
  struct Known {
    FileQuestion question;
    engine::FileStamp stamp;
    FileReport report;
  };
  void answer_until_closed();
  FileReport report_on(const FileQuestion& question);

  const std::function<void(const FileReport&)> answer_;
  const Reader reader_;
  std::mutex mutex_;  // guards the five below
  std::condition_variable changed_;
  std::deque<FileQuestion> waiting_;
  std::optional<FileQuestion> reading_;
  bool closed_ = false;
  bool ended_ = false;
  std::string failure_;  // why the thread has ended before it was closed
  std::atomic<bool> cancel_{false};
  std::optional<Known> known_;    // only the thread's
  engine::GuardedThread thread_;  // last: it uses all of the above
};

}  // namespace app
