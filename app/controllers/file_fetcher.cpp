#include "app/controllers/file_fetcher.h"

#include <fmt/format.h>

#include <utility>

#include "app/remote/fetched_file.h"

namespace app {

void FileFetcher::start(std::shared_ptr<const SshConnection> ssh, const std::string& path) {
  cancel();
  progress_ = std::make_shared<Progress>();
  task_.start([ssh = std::move(ssh), path, progress = progress_, wake = wake_] {
    int percent = -1;
    return fetch_file(*ssh, path,
                      {.progress =
                           [&](const std::string& what, double share) {
                             const int now = static_cast<int>(100 * share);
                             if (now == std::exchange(percent, now)) return;
                             {
                               const std::lock_guard lock(progress->mutex);
                               progress->words = fmt::format("{}: {} %", what, now);
                             }
                             wake();
                           },
                       .stop = [progress] { return progress->stop.load(); }});
  });
}

void FileFetcher::cancel() {
  progress_->stop = true;
  task_.drop();
}

std::string FileFetcher::progress() const {
  const std::lock_guard lock(progress_->mutex);
  return progress_->words;
}

}  // namespace app
