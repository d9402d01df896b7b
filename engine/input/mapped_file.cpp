// Only regular files are mapped: a FIFO or a device would block or lie about its size.
#include "engine/input/mapped_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>

namespace engine {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

}  // namespace

Result<MappedFile> MappedFile::open(const std::string& path) {
  // O_NONBLOCK: opening a FIFO must not wait for a writer.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) {
    const int reason = errno;
    return Error{reason == ENOENT ? ErrorCode::NotFound : ErrorCode::Io,
                 fmt::format("cannot open {}: {}", path, std::strerror(reason))};
  }
  struct stat status = {};
  if (::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
    return Error{ErrorCode::Io, fmt::format("{} is not a regular file", path)};
  }
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size == 0) return Error{ErrorCode::InvalidArgument, fmt::format("{} is empty", path)};
  void* address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (address == MAP_FAILED) {
    return Error{ErrorCode::Io, fmt::format("cannot map the {} bytes of {}: {}", size, path,
                                            std::strerror(errno))};
  }
  return MappedFile({static_cast<const std::byte*>(address), size});
}

MappedFile::~MappedFile() {
  if (bytes_.empty()) return;
  // munmap takes a mutable pointer; nothing is written.
  ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

}  // namespace engine
