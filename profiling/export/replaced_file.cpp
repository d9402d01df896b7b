// Write to a temporary file, flush, rename: a crash or a full disk leaves the old file unchanged.
#include "profiling/export/replaced_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <utility>

#include "engine/input/regular_file.h"
#include "engine/model/path_text.h"

namespace profiling {

namespace {

engine::Error io_error(const char* action, const std::string& path, int error) {
  return {.code = engine::ErrorCode::Io,
          .message = fmt::format("{} {}: {}", action, engine::shown_path(path),
                                 engine::path_error_text(path, error))};
}

}  // namespace

engine::Result<ReplacedFile> ReplacedFile::create(const std::string& path, mode_t mode) {
  // A FIFO or a device has its reader: renaming over it would take it away from it.
  if (engine::Status there = engine::check_regular_file(path);
      !there.ok() && ::access(path.c_str(), F_OK) == 0) {
    return engine::Error{engine::ErrorCode::Io,
                         there.error().message + ", which is not replaced; choose another name"};
  }
  // A unique name: two exports to one path must not write to the same file.
  static std::atomic<unsigned> serial{0};
  std::string temporary = fmt::format("{}.{}-{}.partial", path, getpid(), serial++);
  const int descriptor = open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  if (descriptor < 0) return io_error("cannot write next to", path, errno);
  std::FILE* file = fdopen(descriptor, "wb");
  if (file == nullptr) {
    const int error = errno;
    close(descriptor);
    unlink(temporary.c_str());
    return io_error("cannot write", path, error);
  }
  return ReplacedFile(path, std::move(temporary), file);
}

ReplacedFile::ReplacedFile(std::string path, std::string temporary, std::FILE* file)
    : path_(std::move(path)), temporary_(std::move(temporary)), file_(file) {}

ReplacedFile::ReplacedFile(ReplacedFile&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::exchange(other.temporary_, {})),
      file_(std::move(other.file_)),
      error_(other.error_) {}

ReplacedFile::~ReplacedFile() {
  file_.reset();
  if (!temporary_.empty()) unlink(temporary_.c_str());
}

void ReplacedFile::write(std::string_view text) {
  if (error_ != 0) return;
  if (std::fwrite(text.data(), 1, text.size(), file_.get()) != text.size()) error_ = errno;
}

engine::Status ReplacedFile::commit() {
  if (error_ == 0 && std::fflush(file_.get()) != 0) error_ = errno;
  if (error_ == 0 && fsync(fileno(file_.get())) != 0) error_ = errno;
  if (std::fclose(file_.release()) != 0 && error_ == 0) error_ = errno;
  if (error_ != 0) return io_error("cannot write", path_, error_);
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0) {
    return io_error("cannot replace", path_, errno);
  }
  temporary_.clear();
  return {};
}

}  // namespace profiling
