// Files opened before, newest first. Whether one is still there is asked on a thread of its own,
// when a list is about to be shown: a sleeping disk must not hold up a frame.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "app/controllers/background.h"

namespace app {

struct RecentFile {
  std::string path;
  std::string missing;  // why it cannot be opened; empty = it can, or is not known yet
};

inline constexpr std::size_t kMaxRecentFiles = 12;

/// `path` moved or put to the front of `recent`.
void remember_file(std::vector<std::string>& recent, const std::string& path);

class RecentFiles {
 public:
  explicit RecentFiles(std::function<void()> wake) : task_(std::move(wake)) {}
  /// Asks the disk anew.
  void check(const std::vector<std::string>& paths);
  /// True when an answer has come.
  bool tick();
  std::string missing(const std::string& path) const;

 private:
  BackgroundTask<std::vector<RecentFile>> task_;
  std::vector<RecentFile> known_;
};

}  // namespace app
