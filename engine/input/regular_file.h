// Opens every file that is named by a user or another file: only regular files, and without
// waiting. A FIFO would block until it has a writer, a device has no end. Large files are mapped.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>

#include "engine/model/error.h"

namespace engine {

/// Reads from its start to its end. Closed with the object.
class RegularFile {
 public:
  /// NotFound, or Io if it is not a regular file or not readable; the error names the path.
  static Result<RegularFile> open(const std::string& path);
  RegularFile(RegularFile&& other) noexcept
      : path_(std::move(other.path_)),
        descriptor_(std::exchange(other.descriptor_, -1)),
        size_(other.size_) {}
  RegularFile& operator=(RegularFile&& other) noexcept {
    std::swap(path_, other.path_);
    std::swap(descriptor_, other.descriptor_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~RegularFile();

  int descriptor() const { return descriptor_; }
  std::size_t size() const { return size_; }  // when it was opened

  /// The next bytes, at most this many; fewer only at the end.
  Result<std::string> read(std::size_t at_most);
  /// All that is left. An error naming the limit if that is more than `max_bytes`.
  Result<std::string> read_all(std::size_t max_bytes);

 private:
  RegularFile(std::string path, int descriptor, std::size_t size)
      : path_(std::move(path)), descriptor_(descriptor), size_(size) {}

  std::string path_;
  int descriptor_ = -1;
  std::size_t size_ = 0;
};

/// The same check without opening: for files about to be replaced, and for files that this process
/// may have locked, since closing any descriptor would release the locks. NotFound, or Io that says
/// what it is instead; the caller names the remedy.
Status check_regular_file(const std::string& path);

/// The whole of a file of at most `max_bytes`.
Result<std::string> read_file(const std::string& path, std::size_t max_bytes);

/// A file mapped read-only for as long as the object lives. Larger than memory is fine: pages come
/// and go. A file that becomes shorter meanwhile reads as zeros past its new end, in a program that
/// called survive_missing_pages(); in any other the reader dies of SIGBUS.
class MappedFile {
 public:
  static Result<MappedFile> open(const std::string& path);
  MappedFile(MappedFile&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}
  MappedFile& operator=(MappedFile&& other) noexcept {
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~MappedFile();

  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  explicit MappedFile(std::span<const std::byte> bytes) : bytes_(bytes) {}
  std::span<const std::byte> bytes_;
};

/// To be called at program start: from then on, lost pages of mapped files read as zeros.
void survive_missing_pages();

/// After work that read mapped files: an error naming one that has lost pages since the last call.
/// Its values were partly zeros, so the result must not be used. Any thread.
Status check_missing_pages();

}  // namespace engine
