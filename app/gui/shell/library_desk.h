// Fetching a version of cuBLASLt off the window's thread, by the command line's own mechanism.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "app/controllers/background.h"
#include "app/gui/view.h"

namespace app {

class LibraryDesk {
 public:
  explicit LibraryDesk(const std::function<void()>& wake) : wake_(wake), task_(wake) {}
  /// Cancels what is under way; its processes are gone when this returns.
  ~LibraryDesk() { *cancel_ = true; }
  LibraryDesk(const LibraryDesk&) = delete;
  LibraryDesk& operator=(const LibraryDesk&) = delete;

  /// Refused while another is under way.
  void fetch(const std::string& version);
  void cancel() { *cancel_ = true; }
  /// Takes in what the script has said; true when there is something to draw.
  bool tick();
  const LibraryNews& news() const { return news_; }

 private:
  struct Shared {
    std::mutex mutex;
    bool changed = false;
    std::string line;    // the newest
    std::string spoken;  // what there is to read if it fails: the last lines
  };

  std::function<void()> wake_;
  LibraryNews news_;
  std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();
  std::shared_ptr<std::atomic<bool>> cancel_ = std::make_shared<std::atomic<bool>>(false);
  BackgroundTask<engine::Result<std::string>> task_;  // last: its thread uses the others
};

}  // namespace app
