#include "app/attach/spool_mirror.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "profiling/attach/spool/frames.h"

namespace app {
namespace {

constexpr std::size_t kMostSpools = 4096;
constexpr std::uint64_t kHeaderBytes = sizeof(profiling::spool::FileHeader);

/// As the library names them: "1234-1764200000000000000.spool".
bool is_spool_name(std::string_view name) {
  constexpr std::string_view kSuffix = ".spool";
  constexpr std::size_t kMostDigits = 40;
  if (!name.ends_with(kSuffix)) return false;
  name.remove_suffix(kSuffix.size());
  return !name.empty() && name.size() <= kMostDigits &&
         name.find_first_not_of("0123456789-") == std::string_view::npos;
}

engine::Error refused_piece(std::string_view why) {
  return {engine::ErrorCode::Protocol,
          fmt::format("a record that arrived from the other machine was refused: {}", why)};
}

}  // namespace

engine::Status SpoolMirror::take(const SpoolPiece& piece) {
  if (!is_spool_name(piece.name)) return refused_piece("its name is none of a record");
  const auto known = copies_.find(piece.name);
  if (known == copies_.end() && copies_.size() >= kMostSpools) {
    return refused_piece(fmt::format("there are more than {} of them", kMostSpools));
  }
  Copy& copy = copies_[piece.name];
  const std::uint64_t end = piece.at + piece.bytes.size();
  const bool of_header = end >= piece.at && end <= kHeaderBytes && piece.at <= copy.size;
  const bool lengthens = copy.size >= kHeaderBytes && piece.at == copy.size &&
                         piece.bytes.size() <= most_ && piece.at <= most_ - piece.bytes.size();
  if (!of_header && !lengthens) {
    return refused_piece(fmt::format("{} bytes at {} of {}, which has {} and may have {}",
                                     piece.bytes.size(), piece.at, piece.name, copy.size, most_));
  }
  const std::string path = folder_ + '/' + piece.name;
  if (!copy.file.valid()) {
    copy.file.reset(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
                           S_IRUSR | S_IWUSR));
  }
  std::string_view rest = piece.bytes;
  std::uint64_t at = piece.at;
  while (copy.file.valid() && !rest.empty()) {
    const ssize_t count =
        ::pwrite(copy.file.get(), rest.data(), rest.size(), static_cast<off_t>(at));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    rest.remove_prefix(static_cast<std::size_t>(count));
    at += static_cast<std::uint64_t>(count);
  }
  if (!rest.empty()) {
    return engine::Error{engine::ErrorCode::Io,
                         fmt::format("{} cannot be written: {}", path, std::strerror(errno))};
  }
  copy.size = std::max(copy.size, end);
  return {};
}

}  // namespace app
