#include "engine/model/path_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <system_error>

#include "engine/model/text.h"

namespace engine {
namespace {

constexpr std::size_t kMaxShownBytes = 400;
constexpr std::size_t kShownEndBytes = 60;

std::size_t longest_name(std::string_view path) {
  std::size_t longest = 0;
  while (!path.empty()) {
    const std::size_t length = std::min(path.find('/'), path.size());
    longest = std::max(longest, length);
    path.remove_prefix(std::min(length + 1, path.size()));
  }
  return longest;
}

}  // namespace

std::string shown_path(std::string_view path) {
  if (path.size() <= kMaxShownBytes) return std::string(path);
  std::size_t end = path.size() - kShownEndBytes;
  // Never cut inside a character.
  while (end < path.size() && (static_cast<unsigned char>(path[end]) & 0xC0U) == 0x80U) ++end;
  return cut_text(std::string(path.substr(0, kShownEndBytes + 1)), kShownEndBytes) +
         std::string(path.substr(end));
}

std::string path_error_text(std::string_view path, int error) {
  const std::string sentence = std::error_code(error, std::generic_category()).message();
  if (error != ENAMETOOLONG) return sentence;
  const std::size_t name = longest_name(path);
  // A file system may have lower limits than Linux.
  if (name <= NAME_MAX && path.size() <= kMaxNameBytes) {
    return fmt::format(
        "{}: it has {} bytes and its longest name {}, which is more than this file system allows "
        "with what is added while a file is written; choose a shorter name",
        sentence, path.size(), name);
  }
  return fmt::format(
      "it is too long: it has {} bytes (at most {}) and its longest name {} (at most {}); choose a "
      "shorter name",
      path.size(), kMaxNameBytes, name, NAME_MAX);
}

}  // namespace engine
