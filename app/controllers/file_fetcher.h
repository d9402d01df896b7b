// A file of the worker's machine on its way here, where the window reads it: a recording, a
// request. Tensors and recorded routing stay there, because the worker reads them.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "app/controllers/background.h"
#include "app/remote/ssh_connection.h"

namespace app {

class FileFetcher {
 public:
  explicit FileFetcher(std::function<void()> wake) : wake_(wake), task_(std::move(wake)) {}
  /// What is on its way is given up.
  ~FileFetcher() { cancel(); }
  FileFetcher(const FileFetcher&) = delete;
  FileFetcher& operator=(const FileFetcher&) = delete;

  /// `path`: on the machine of `ssh`. Replaces a file that is on its way.
  void start(std::shared_ptr<const SshConnection> ssh, const std::string& path);
  void cancel();
  bool running() const { return task_.running(); }
  /// "x.session, 12 MiB: 40 %"; empty = nothing has arrived yet.
  std::string progress() const;
  /// The path of the copy, or why there is none; once.
  std::optional<engine::Result<std::string>> take() { return task_.take(); }

 private:
  /// Outlives this if the thread does.
  struct Progress {
    std::mutex mutex;
    std::string words;
    std::atomic<bool> stop{false};
  };

  std::function<void()> wake_;
  std::shared_ptr<Progress> progress_ = std::make_shared<Progress>();
  BackgroundTask<engine::Result<std::string>> task_;
};

}  // namespace app
