#include "engine/input/mapped_file.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>

#include "engine/input/regular_file.h"

namespace engine {

Result<MappedFile> MappedFile::open(const std::string& path) {
  const Result<RegularFile> file = RegularFile::open(path);
  if (!file.ok()) return file.error();
  const std::size_t size = file.value().size();
  if (size == 0) return Error{ErrorCode::InvalidArgument, fmt::format("{} is empty", path)};
  void* address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.value().descriptor(), 0);
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
