#include "engine/input/free_output.h"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>

namespace engine {

Status require_new_file(const std::string& path) {
  std::error_code unreadable;
  if (!std::filesystem::exists(std::filesystem::symlink_status(path, unreadable))) return {};
  return Error{ErrorCode::InvalidArgument,
               fmt::format("{} exists already; choose another name, or remove it first", path)};
}

Status require_empty_folder(const std::string& path) {
  std::error_code unreadable;
  if (!std::filesystem::exists(path, unreadable)) return {};
  if (!std::filesystem::is_directory(path, unreadable)) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("{} is not a folder; choose another name", path)};
  }
  if (std::filesystem::is_empty(path, unreadable) && !unreadable) return {};
  return Error{ErrorCode::InvalidArgument,
               fmt::format("{} holds files already; choose another folder, or empty it first, so "
                           "that old and new files do not mix",
                           path)};
}

}  // namespace engine
