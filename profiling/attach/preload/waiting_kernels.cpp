#include "profiling/attach/preload/waiting_kernels.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <mutex>

#include "profiling/attach/preload/entry_points.h"
#include "profiling/attach/preload/spin_lock.h"
#include "profiling/attach/preload/spool_file.h"

namespace attach {
namespace {

using spool::Waits;

// ---- What is known -----------------------------------------------------------------------------

enum class Known : std::uint32_t { No = 1, Yes, Contradictory };

struct Entry {
  std::uint64_t key = 0;  // 0 = an empty place
  Known waits = Known::No;
};

/// What finds no room within some probes remains unknown.
constexpr std::size_t kPlaces = 1 << 15;
constinit Entry g_entries[kPlaces]{};
constinit SpinLock g_lock{};

constexpr std::uint64_t kAnyModule = 0;

std::uint64_t key_of(std::uint64_t module, const char* name) {
  std::uint64_t hash = 14695981039346656037U ^ module * 0x9E3779B97F4A7C15;
  for (const char* at = name; *at != '\0'; ++at)
    hash = (hash ^ static_cast<unsigned char>(*at)) * 1099511628211U;
  return hash | 1;
}

/// The entry with this key, or an empty one; null = no room.
Entry* place_of(std::uint64_t key) {
  constexpr std::size_t kProbes = 64;
  for (std::size_t probe = 0; probe < kProbes; ++probe) {
    Entry& entry = g_entries[((key >> 20) + probe) % kPlaces];
    if (entry.key == key || entry.key == 0) return &entry;
  }
  return nullptr;
}

void note_kernel(std::uint64_t module, const char* name, bool waits) {
  const Known known = waits ? Known::Yes : Known::No;
  const std::lock_guard locked(g_lock);
  // A module that was unloaded may have had the same handle.
  if (Entry* own = place_of(key_of(module, name))) *own = {key_of(module, name), known};
  const std::uint64_t key = key_of(kAnyModule, name);
  Entry* any = place_of(key);
  if (any == nullptr) return;
  *any = {key, any->key == key && any->waits != known ? Known::Contradictory : known};
}

// ---- The machine code --------------------------------------------------------------------------

constexpr const char* kCode = ".text.";               // then a function's name
constexpr const char* kArguments = ".nv.constant0.";  // then a kernel's

/// A cubin with section names.
class Cubin {
 public:
  /// `bytes`: of the image; 0 = the driver has read it, so it is as large as it says.
  Cubin(const std::byte* image, std::size_t bytes) : image_(image), bytes_(bytes) {
    if (!inside(0, sizeof header_)) return;
    std::memcpy(&header_, image, sizeof header_);
    const bool elf = std::memcmp(header_.e_ident, ELFMAG, SELFMAG) == 0 &&
                     header_.e_ident[EI_CLASS] == ELFCLASS64 &&
                     header_.e_shentsize == sizeof(Elf64_Shdr) &&
                     header_.e_shstrndx < header_.e_shnum;
    if (!elf || !inside(header_.e_shoff, std::uint64_t{header_.e_shnum} * sizeof(Elf64_Shdr)))
      return;
    count_ = header_.e_shnum;
    names_ = section(header_.e_shstrndx);
    const bool ends = inside(names_.sh_offset, names_.sh_size) && names_.sh_size > 0 &&
                      image_[names_.sh_offset + names_.sh_size - 1] == std::byte{0};
    if (!ends) count_ = 0;
  }

  void note(std::uint64_t module) const {
    // A kernel may call the function that waits.
    unsigned waiting = 0;
    for (unsigned s = 0; s < count_; ++s) {
      if (after(kCode, section(s)) != nullptr && waits(section(s))) ++waiting;
      if (kernel_of(s) != nullptr && waits(section(section(s).sh_info))) --waiting;
    }
    for (unsigned s = 0; s < count_; ++s) {
      const char* kernel = kernel_of(s);
      if (kernel == nullptr) continue;
      const bool itself = waits(section(section(s).sh_info));
      if (itself || waiting == 0) note_kernel(module, kernel, itself);
    }
  }

 private:
  bool inside(std::uint64_t at, std::uint64_t length) const {
    constexpr std::uint64_t kMost = std::uint64_t{1} << 28;
    const std::uint64_t end = bytes_ == 0 ? kMost : bytes_;
    return at <= end && length <= end - at;
  }
  Elf64_Shdr section(unsigned index) const {
    Elf64_Shdr found{};
    std::memcpy(&found, image_ + header_.e_shoff + index * sizeof found, sizeof found);
    return found;
  }
  /// The rest of the section's name; null = it has no such beginning.
  const char* after(const char* beginning, const Elf64_Shdr& of) const {
    if (of.sh_name >= names_.sh_size) return nullptr;
    const char* name = reinterpret_cast<const char*>(image_ + names_.sh_offset) + of.sh_name;
    const std::size_t length = std::strlen(beginning);
    return std::strncmp(name, beginning, length) == 0 ? name + length : nullptr;
  }
  /// The kernel whose arguments the section has room for; null = it is another one. It refers to
  /// the kernel's code.
  const char* kernel_of(unsigned index) const {
    const Elf64_Shdr arguments = section(index);
    if (after(kArguments, arguments) == nullptr || arguments.sh_info >= count_) return nullptr;
    return after(kCode, section(arguments.sh_info));
  }
  /// ACQBULK, under whichever predicate: instructions have 16 bytes since compute capability 7.0.
  bool waits(const Elf64_Shdr& code) const {
    constexpr std::uint64_t kOpcodeBits = 0xFFF;
    constexpr std::uint64_t kWait = 0x82E;
    constexpr std::uint64_t kInstruction = 16;
    if (code.sh_type != SHT_PROGBITS || !inside(code.sh_offset, code.sh_size)) return false;
    for (std::uint64_t at = 0; at + kInstruction <= code.sh_size; at += kInstruction) {
      std::uint64_t word = 0;
      std::memcpy(&word, image_ + code.sh_offset + at, sizeof word);
      if ((word & kOpcodeBits) == kWait) return true;
    }
    return false;
  }

  const std::byte* image_;
  std::size_t bytes_;
  Elf64_Ehdr header_{};
  Elf64_Shdr names_{};
  unsigned count_ = 0;
};

void note(std::uint64_t module, const std::byte* image, std::size_t bytes) {
  const Cubin cubin(image, bytes);
  cubin.note(module);
}

}  // namespace

void note_image(std::uint64_t module, const void* image) {
  if (spool_header() == nullptr || image == nullptr) return;
  // Text, as PTX is, may be shorter than a header.
  if (std::strncmp(static_cast<const char*>(image), ELFMAG, SELFMAG) != 0) return;
  note(module, static_cast<const std::byte*>(image), 0);
}

void note_image_file(std::uint64_t module, const char* path) {
  if (spool_header() == nullptr || path == nullptr) return;
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  struct stat found{};
  const bool known = fstat(file, &found) == 0 && found.st_size > 0;
  const std::size_t bytes = known ? static_cast<std::size_t>(found.st_size) : 0;
  void* image = known ? mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, file, 0) : MAP_FAILED;
  close(file);
  if (image == MAP_FAILED) return;
  note(module, static_cast<const std::byte*>(image), bytes);
  munmap(image, bytes);
}

Waits waits_of(std::uint64_t module, const char* name) {
  if (name == nullptr) return Waits::Unknown;
  const std::lock_guard locked(g_lock);
  for (const std::uint64_t of : {module, kAnyModule}) {
    const std::uint64_t key = key_of(of, name);
    const Entry* entry = place_of(key);
    if (entry == nullptr || entry->key != key || entry->waits == Known::Contradictory) continue;
    return entry->waits == Known::Yes ? Waits::Yes : Waits::No;
  }
  return Waits::Unknown;
}

void unlock_waiting_kernels_of_parent() { g_lock.reset(); }

}  // namespace attach

using attach::note_image;
using attach::note_image_file;
using attach::real;

extern "C" {

CUresult cuModuleLoad(CUmodule* module, const char* path) {
  const CUresult result = real<&cuModuleLoad>(module, path);
  if (result == CUDA_SUCCESS) note_image_file(reinterpret_cast<std::uint64_t>(*module), path);
  return result;
}
CUresult cuModuleLoadData(CUmodule* module, const void* image) {
  const CUresult result = real<&cuModuleLoadData>(module, image);
  if (result == CUDA_SUCCESS) note_image(reinterpret_cast<std::uint64_t>(*module), image);
  return result;
}
CUresult cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned count,
                            CUjit_option* options, void** values) {
  const CUresult result = real<&cuModuleLoadDataEx>(module, image, count, options, values);
  if (result == CUDA_SUCCESS) note_image(reinterpret_cast<std::uint64_t>(*module), image);
  return result;
}
CUresult cuLibraryLoadData(CUlibrary* library, const void* code, CUjit_option* options,
                           void** values, unsigned count, CUlibraryOption* library_options,
                           void** library_values, unsigned library_count) {
  const CUresult result = real<&cuLibraryLoadData>(library, code, options, values, count,
                                                   library_options, library_values, library_count);
  if (result == CUDA_SUCCESS) note_image(reinterpret_cast<std::uint64_t>(*library), code);
  return result;
}
CUresult cuLibraryLoadFromFile(CUlibrary* library, const char* path, CUjit_option* options,
                               void** values, unsigned count, CUlibraryOption* library_options,
                               void** library_values, unsigned library_count) {
  const CUresult result = real<&cuLibraryLoadFromFile>(
      library, path, options, values, count, library_options, library_values, library_count);
  if (result == CUDA_SUCCESS) note_image_file(reinterpret_cast<std::uint64_t>(*library), path);
  return result;
}

}  // extern "C"
