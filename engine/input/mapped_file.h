// A file mapped read-only for as long as the object lives. Larger than memory is fine: pages come
// and go. A file that becomes shorter meanwhile reads as zeros past its new end, in a program that
// called survive_missing_pages(); in any other the kernel ends the reader with SIGBUS.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>

#include "engine/model/error.h"

namespace engine {

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

/// For a program's start: pages that a mapped file has lost read as zeros.
void survive_missing_pages();

/// After work that read mapped files: an error naming one that has lost pages since the last call.
/// Its values were partly zeros, so the result must not be used. Any thread.
Status check_missing_pages();

}  // namespace engine
