#include "tests/fuzz/fuzz_target.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

#include "tests/support/cpu_time.h"
#include "tests/support/patience.h"

#if defined(__SANITIZE_ADDRESS__)
#define EXPERTSCOPE_COUNTS_MEMORY
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define EXPERTSCOPE_COUNTS_MEMORY
#endif
#endif
#ifdef EXPERTSCOPE_COUNTS_MEMORY
// As in clang's <sanitizer/allocator_interface.h>, which GCC's runtime has, but not its headers.
extern "C" std::size_t __sanitizer_get_allocated_size(const volatile void*);
extern "C" int __sanitizer_install_malloc_and_free_hooks(void (*)(const volatile void*,
                                                                  std::size_t),
                                                         void (*)(const volatile void*));
#endif

namespace fuzz {
namespace {

constexpr double kMostSeconds = 1;
constexpr std::size_t kMostMemory = std::size_t{8} << 20;  // of what any reading may need
constexpr std::size_t kMemoryFactor = 512;                 // bytes for each of the input

Verdicts counted;

// Bytes since the newest CostLimit began. Other threads allocate too.
std::atomic<std::int64_t> live_bytes{0};
std::atomic<std::int64_t> peak_bytes{0};

#ifdef EXPERTSCOPE_COUNTS_MEMORY
void on_malloc(const volatile void*, std::size_t size) {
  const std::int64_t live = live_bytes += static_cast<std::int64_t>(size);
  std::int64_t peak = peak_bytes;
  while (live > peak && !peak_bytes.compare_exchange_weak(peak, live)) {
  }
}
void on_free(const volatile void* pointer) {
  if (pointer == nullptr) return;
  live_bytes -= static_cast<std::int64_t>(__sanitizer_get_allocated_size(pointer));
}
void watch_memory() {
  static const int installed = __sanitizer_install_malloc_and_free_hooks(on_malloc, on_free);
  require(installed != 0, "the sanitizer has room for a memory hook");
}
#else
void watch_memory() {}
#endif

class Folder {
 public:
  Folder() {
    const char* const asked = std::getenv("TMPDIR");
    std::string pattern = asked != nullptr                         ? asked
                          : ::access("/dev/shm", R_OK | W_OK) == 0 ? "/dev/shm"
                                                                   : "/tmp";
    pattern += "/fuzz-XXXXXX";
    require(::mkdtemp(pattern.data()) != nullptr, "a scratch folder can be made", pattern);
    path_ = pattern;
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace

void require(bool holds, std::string_view claim, std::string_view found) {
  if (holds) return;
  std::fprintf(stderr, "\nviolated: %.*s\n", static_cast<int>(claim.size()), claim.data());
  if (!found.empty()) {
    found = found.substr(0, 4000);
    std::fprintf(stderr, "found: %.*s\n", static_cast<int>(found.size()), found.data());
  }
  std::abort();
}

Verdicts verdicts() { return counted; }

bool count(bool accepted) {
  ++(accepted ? counted.accepted : counted.refused);
  return accepted;
}

void require_sentence(const std::string& message) {
  require(!message.empty(), "a refusal says why");
}

bool accepted_unless(const std::string& refusal) { return count(refusal.empty()); }

CostLimit::CostLimit(std::size_t input_bytes)
    : CostLimit(input_bytes, kMostMemory + kMemoryFactor * input_bytes) {}

CostLimit::CostLimit(std::size_t, std::size_t memory_bytes)
    : memory_bytes_(memory_bytes), begin_seconds_(tests::cpu_seconds()) {
  watch_memory();
  live_bytes = 0;
  peak_bytes = 0;
}

CostLimit::~CostLimit() {
  const double seconds = tests::cpu_seconds() - begin_seconds_;
  require(seconds < kMostSeconds * tests::patience(), "reading takes less than a second of CPU",
          std::to_string(seconds) + " s");
  const std::int64_t peak = peak_bytes;
  require(peak < static_cast<std::int64_t>(memory_bytes_), "memory stays in proportion",
          std::to_string(peak) + " bytes where " + std::to_string(memory_bytes_) + " may be");
}

const std::string& scratch_folder() {
  static const Folder folder;
  return folder.path();
}

std::string scratch_file(const std::string& name, std::string_view bytes) {
  // Kept open: making a file costs more than reading most inputs.
  static std::map<std::string, int> descriptors;
  std::string path = scratch_folder() + "/" + name;
  const auto [found, fresh] = descriptors.try_emplace(name, -1);
  if (fresh) found->second = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  const int file = found->second;
  const auto size = static_cast<ssize_t>(bytes.size());
  require(file >= 0 && ::ftruncate(file, 0) == 0 &&
              ::pwrite(file, bytes.data(), bytes.size(), 0) == size,
          "a scratch file can be written", path);
  return path;
}

std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  require(file.is_open(), "a file of the tests can be read", path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::uint64_t Dice::word() {
  // splitmix64 (Steele, Lea, Flood 2014): every seed gives a good sequence.
  std::uint64_t z = state_ += 0x9E3779B97F4A7C15U;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
  return z ^ (z >> 31);
}

std::size_t put_back(const std::string& text, std::uint8_t* bytes, std::size_t size,
                     std::size_t capacity) {
  if (text.empty() || text.size() > capacity) return size;
  std::memcpy(bytes, text.data(), text.size());
  return text.size();
}

std::string mutated(const std::string& text, std::size_t capacity) {
  std::string buffer = text.substr(0, capacity);
  const std::size_t size = buffer.size();
  buffer.resize(std::max<std::size_t>(capacity, 1));
  buffer.resize(
      LLVMFuzzerMutate(reinterpret_cast<std::uint8_t*>(buffer.data()), size, buffer.size()));
  return buffer;
}

}  // namespace fuzz
