// A recording that is open for reading: its file, and its log if the writer is still at work or has
// crashed. Nothing is locked and nothing is written, so a reading counts only if neither was
// rewritten meanwhile.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "engine/model/error.h"
#include "profiling/session/database_vfs.h"
#include "profiling/session/stored_file.h"

namespace profiling {

/// How every SQLite file begins; a zero byte follows.
inline constexpr std::string_view kDatabaseMagic = "SQLite format 3";

/// SQLite's file header (sqlite.org/fileformat.html, section 1.3). Its numbers are big-endian.
using FileHeader = std::array<std::byte, 100>;
std::uint32_t header_number(const FileHeader& header, std::size_t offset);

/// Descriptors of what has these names now. Links are resolved first: the log lies beside the file
/// itself, not beside a link to it.
class RecordingSource {
 public:
  /// `path` is in every message. NotFound, or InvalidArgument for what is not a regular file of at
  /// most `max_bytes`.
  static engine::Result<RecordingSource> open(const std::string& path, std::int64_t max_bytes);

  bool has_log() const { return log_.descriptor.valid(); }
  std::int64_t file_bytes() const { return file_.state.bytes; }
  std::int64_t log_bytes() const { return log_.state.bytes; }
  /// Size of file and log; a log may have grown since open().
  std::int64_t bytes_now() const;
  /// Without links, and so where the log lies.
  const std::string& resolved_path() const { return file_.path; }
  const std::string& log_path() const { return log_.path; }
  const FileState& file_state() const { return file_.state; }
  /// False if the file is shorter than its header.
  bool read_header(FileHeader& header) const;

  /// For one database; the descriptors stay open here, and must be kept as long.
  StoredFile stored_file() const;
  StoredFile stored_log() const;

  /// Nothing was written since open(), except after the end that the log had then: committed parts
  /// of a log are not changed until it is merged into the file.
  bool unchanged() const;

  /// Why runs may be missing although everything here is valid; empty = there is no such reason.
  std::string doubt(const FileHeader& header) const;

 private:
  struct Part {
    std::string path;
    engine::UniqueFd descriptor;  // invalid = there is no such file
    FileState state = {};
  };
  using LogHeader = std::array<std::byte, 32>;

  static engine::Result<Part> open_part(const std::string& path, const std::string& shown);
  LogHeader log_header() const;
  bool log_begins() const;

  Part file_;
  Part log_;
  LogHeader log_header_ = {};  // differs from the next log's by its random numbers
};

}  // namespace profiling
