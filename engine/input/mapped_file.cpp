#include "engine/input/mapped_file.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <string_view>

#include "engine/input/regular_file.h"

namespace engine {
namespace {

/// Calls only what a signal handler may. The level in front is how a worker's log lines begin.
void on_missing_page(int number) {
  constexpr std::string_view kWords =
      "error: a file became shorter while it was read, or its disk failed; run again once nobody "
      "writes to it\n";
  static_cast<void>(::write(STDERR_FILENO, kWords.data(), kWords.size()) < 0);
  std::signal(number, SIG_DFL);
  std::raise(number);  // with this handler's end
}

}  // namespace

void explain_missing_pages() { std::signal(SIGBUS, on_missing_page); }

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
