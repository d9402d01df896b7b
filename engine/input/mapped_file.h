// A file mapped read-only for as long as the object lives. Larger than memory is fine: pages come
// and go. The file must not shrink meanwhile: the kernel ends a reader past its new end with
// SIGBUS. A worker is replaced then, and explain_missing_pages() has said why.
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

/// For a program's start: if SIGBUS ends it, a line on stderr says what that means.
void explain_missing_pages();

}  // namespace engine
