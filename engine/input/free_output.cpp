#include "engine/input/free_output.h"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>

#include "engine/model/path_text.h"

namespace engine {
namespace {

namespace fs = std::filesystem;

/// Refused now, not when the results are written.
Error cannot_create(const std::string& path, const std::error_code& why) {
  return {ErrorCode::Io, fmt::format("{} cannot be created: {}", shown_path(path),
                                     path_error_text(path, why.value()))};
}

/// "step-2.session" beside "step.session"; empty where that and the next ones are taken.
std::string free_name_beside(const std::string& path) {
  constexpr int kTried = 20;
  const fs::path taken(path);
  for (int number = 2; number < kTried; ++number) {
    fs::path one = taken;
    one.replace_filename(
        fmt::format("{}-{}{}", taken.stem().string(), number, taken.extension().string()));
    std::error_code error;
    if (fs::symlink_status(one, error).type() == fs::file_type::not_found) return one.string();
  }
  return {};
}

}  // namespace

Status require_new_file(const std::string& path) {
  std::error_code error;
  const fs::file_status there = fs::symlink_status(path, error);
  if (there.type() == fs::file_type::none) return cannot_create(path, error);
  if (!fs::exists(there)) return {};
  const std::string free = free_name_beside(path);
  return Error{ErrorCode::InvalidArgument,
               fmt::format("{} exists already; choose another name{}", shown_path(path),
                           free.empty() ? "" : ", such as " + shown_path(free))};
}

Status require_empty_folder(const std::string& path) {
  std::error_code unreadable;
  const fs::file_status there = fs::status(path, unreadable);
  if (there.type() == fs::file_type::none) return cannot_create(path, unreadable);
  if (!fs::exists(there)) return {};
  if (!fs::is_directory(there)) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("{} is not a folder; choose another name", shown_path(path))};
  }
  if (fs::is_empty(path, unreadable) && !unreadable) return {};
  return Error{ErrorCode::InvalidArgument,
               fmt::format("{} holds files already; choose another folder, or empty it first, so "
                           "that old and new files do not mix",
                           path)};
}

}  // namespace engine
