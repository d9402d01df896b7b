#include "app/gui/shell/recent_files.h"

#include <algorithm>
#include <filesystem>

namespace app {

void remember_file(std::vector<std::string>& recent, const std::string& path) {
  std::error_code error;
  const std::filesystem::path absolute = std::filesystem::absolute(path, error);
  const std::string name = error ? path : absolute.lexically_normal().string();
  std::erase(recent, name);
  recent.insert(recent.begin(), name);
  if (recent.size() > kMaxRecentFiles) recent.resize(kMaxRecentFiles);
}

void RecentFiles::check(const std::vector<std::string>& paths) {
  task_.start([paths] {
    std::vector<RecentFile> files;
    for (const std::string& path : paths) {
      std::error_code error;
      const bool there = std::filesystem::exists(path, error);
      std::string why;
      if (error) {
        why = error.message();
      } else if (!there) {
        why = "It is no longer there";
      }
      files.push_back({path, std::move(why)});
    }
    return files;
  });
}

bool RecentFiles::tick() {
  auto files = task_.take();
  if (!files) return false;
  known_ = std::move(*files);
  return true;
}

std::string RecentFiles::missing(const std::string& path) const {
  const auto found = std::find_if(known_.begin(), known_.end(),
                                  [&](const RecentFile& file) { return file.path == path; });
  return found == known_.end() ? "" : found->missing;
}

}  // namespace app
