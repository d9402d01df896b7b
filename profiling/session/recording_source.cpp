#include "profiling/session/recording_source.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

#include "engine/input/regular_file.h"
#include "engine/model/path_text.h"
#include "profiling/session/recording_file.h"

namespace profiling {
namespace {

engine::Error refused(const std::string& path, const std::string& why) {
  return {engine::ErrorCode::InvalidArgument, fmt::format("{}: {}", engine::shown_path(path), why)};
}

engine::UniqueFd duplicate(const engine::UniqueFd& descriptor) {
  return engine::UniqueFd(descriptor.valid() ? ::fcntl(descriptor.get(), F_DUPFD_CLOEXEC, 0) : -1);
}

std::optional<FileState> state_at(const std::string& path) {
  const engine::UniqueFd file(::open(path.c_str(), O_PATH | O_CLOEXEC));
  return state_of(file.get());
}

constexpr std::size_t kFrameHeaderBytes = 24;
constexpr std::uint32_t kMaxPageBytes = 65536;

std::uint32_t big_endian(std::span<const std::byte> bytes, std::size_t offset) {
  std::uint32_t number = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    number = number << 8 | std::to_integer<std::uint32_t>(bytes[offset + i]);
  }
  return number;
}

/// The two sums that SQLite's log keeps of everything in it (section 4.2).
class LogSum {
 public:
  explicit LogSum(bool big_endian_numbers) : swap_(!big_endian_numbers) {}
  /// A multiple of 8 bytes.
  void add(std::span<const std::byte> bytes) {
    for (std::size_t at = 0; at + 8 <= bytes.size(); at += 8) {
      first_ += number(bytes, at) + second_;
      second_ += number(bytes, at + 4) + first_;
    }
  }
  bool is(std::uint32_t first, std::uint32_t second) const {
    return first_ == first && second_ == second;
  }

 private:
  std::uint32_t number(std::span<const std::byte> bytes, std::size_t at) const {
    const std::uint32_t number = big_endian(bytes, at);
    return swap_ ? __builtin_bswap32(number) : number;
  }
  bool swap_;
  std::uint32_t first_ = 0;
  std::uint32_t second_ = 0;
};

}  // namespace

std::uint32_t header_number(const FileHeader& header, std::size_t offset) {
  return big_endian(header, offset);
}

engine::Result<RecordingSource::Part> RecordingSource::open_part(const std::string& path,
                                                                 const std::string& shown) {
  // Not blocking: a FIFO has no end, and may have no writer.
  Part part{.path = path,
            .descriptor = engine::UniqueFd(
                ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY))};
  if (!part.descriptor.valid() && errno == ENOENT) return part;
  if (!part.descriptor.valid()) return io_error(shown, "cannot be opened", errno);
  struct stat found{};
  if (::fstat(part.descriptor.get(), &found) != 0) {
    return io_error(shown, "cannot be opened", errno);
  }
  if (!S_ISREG(found.st_mode)) {
    return engine::Error{engine::ErrorCode::InvalidArgument,
                         engine::check_regular_file(path).error().message};
  }
  part.state = state_of(part.descriptor.get()).value_or(FileState{});
  return part;
}

engine::Result<RecordingSource> RecordingSource::open(const std::string& path,
                                                      std::int64_t max_bytes) {
  std::error_code error;
  const std::string resolved = std::filesystem::canonical(path, error).string();
  if (error == std::errc::no_such_file_or_directory) {
    return engine::Error{engine::ErrorCode::NotFound,
                         fmt::format("{}: no such file", engine::shown_path(path))};
  }
  if (error) return io_error(path, "cannot be opened", error.value());
  RecordingSource source;
  ENGINE_ASSIGN(source.file_, open_part(resolved, path));
  if (!source.file_.descriptor.valid()) {
    return engine::Error{engine::ErrorCode::NotFound,
                         fmt::format("{}: no such file", engine::shown_path(path))};
  }
  const std::string log = resolved + std::string(kLogSuffix);
  ENGINE_ASSIGN(source.log_, open_part(log, path + std::string(kLogSuffix)));
  source.log_header_ = source.log_header();
  const std::string journal = resolved + std::string(kJournalSuffix);
  if (std::filesystem::exists(journal, error)) {
    return refused(path,
                   fmt::format("there is a {}, so a change was interrupted; open it once with "
                               "sqlite3 to undo the change",
                               journal));
  }
  const std::int64_t bytes = std::max(source.file_bytes(), source.log_bytes());
  if (bytes > max_bytes) {
    return refused(path, fmt::format("has {} bytes; the limit is {}", bytes, max_bytes));
  }
  return source;
}

bool RecordingSource::read_header(FileHeader& header) const {
  return read_at(file_.descriptor.get(), header, 0) == static_cast<ssize_t>(header.size());
}

std::int64_t RecordingSource::bytes_now() const {
  std::int64_t bytes = 0;
  for (const Part* part : {&file_, &log_}) {
    bytes += state_of(part->descriptor.get()).value_or(FileState{}).bytes;
  }
  return bytes;
}

StoredFile RecordingSource::stored_file() const { return StoredFile(duplicate(file_.descriptor)); }
StoredFile RecordingSource::stored_log() const { return StoredFile(duplicate(log_.descriptor)); }

RecordingSource::LogHeader RecordingSource::log_header() const {
  LogHeader header{};
  if (log_.descriptor.valid()) read_at(log_.descriptor.get(), header, 0);
  return header;
}

/// SQLite ignores a log without a valid first frame, as one of an earlier recording
/// (sqlite.org/fileformat.html, section 4.1). The writer never leaves one without.
bool RecordingSource::log_begins() const {
  const LogHeader header = log_header();
  constexpr std::uint32_t kMagic = 0x377f0682;  // its last bit: sums of big-endian numbers
  const std::uint32_t magic = big_endian(header, 0);
  const std::uint32_t page_bytes = big_endian(header, 8);
  if ((magic & ~1U) != kMagic || page_bytes > kMaxPageBytes) return false;
  LogSum sum(magic != kMagic);
  sum.add(std::span(header).first(24));
  if (!sum.is(big_endian(header, 24), big_endian(header, 28))) return false;
  std::vector<std::byte> frame(kFrameHeaderBytes + page_bytes);
  if (read_at(log_.descriptor.get(), frame, std::ssize(header)) != std::ssize(frame)) return false;
  // Each frame has the random numbers of its log.
  if (!std::ranges::equal(std::span(frame).subspan(8, 8), std::span(header).subspan(16, 8))) {
    return false;
  }
  sum.add(std::span(frame).first(8));
  sum.add(std::span(frame).subspan(kFrameHeaderBytes));
  return sum.is(big_endian(frame, 16), big_endian(frame, 20));
}

bool RecordingSource::unchanged() const {
  if (state_at(file_.path) != file_.state) return false;
  const std::optional<FileState> log = state_at(log_.path);
  if (!log || !log_.descriptor.valid()) return !log && !log_.descriptor.valid();
  return log->device == log_.state.device && log->inode == log_.state.inode &&
         log->bytes >= log_.state.bytes && log_header() == log_header_;
}

std::string RecordingSource::doubt(const FileHeader& header) const {
  // Write version 2 means a log. A recording that was closed has none.
  constexpr std::size_t kWriteVersion = 18;
  const auto name_of = [](const std::string& path) {
    return std::filesystem::path(path).filename().string();
  };
  if (header.at(kWriteVersion) != std::byte{2}) {
    if (!has_log() || !log_begins()) return "";
    return fmt::format(
        "It was closed, but {} beside it is the log of a recording that was not: that one was "
        "probably overwritten with this file.",
        name_of(log_.path));
  }
  if (file_.state.links > 1 && has_log()) {
    return fmt::format(
        "It was not closed, and it has {} names (hard links): the runs that were recorded last may "
        "be in a log beside another of them. If {} is its log, copy both files together to another "
        "folder and open them there, or remove the other names.",
        file_.state.links, name_of(log_.path));
  }
  if (file_.state.links > 1) {
    return fmt::format(
        "It was not closed, and it has {} names (hard links): its log, with the runs that were "
        "recorded last, may lie beside another of them. Open it by the name under which it was "
        "recorded.",
        file_.state.links);
  }
  if (!has_log()) {
    return fmt::format(
        "It was not closed, and its log {} is missing, so runs may be missing. {}",
        name_of(log_.path), [&] {
          const std::string newest = newest_name_beside(file_.path);
          if (newest.empty()) return std::string("Copy both files together.");
          return fmt::format(
              "{} beside it may have all of them: a recording goes on there if its file is changed "
              "by another program. If not, copy both files together.",
              name_of(newest));
        }());
  }
  if (!log_begins()) {
    return fmt::format(
        "It was not closed, and its log {} is empty or damaged, so runs may be missing. Copy both "
        "files together from where it was recorded.",
        name_of(log_.path));
  }
  return "";
}

}  // namespace profiling
