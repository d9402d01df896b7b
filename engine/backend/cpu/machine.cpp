// Facts are read from /proc; a line that is not there leaves its field at a plain default.
#include "engine/backend/cpu/machine.h"

#include <omp.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <optional>
#include <string>

#include "engine/backend/cpu/product.h"

namespace engine {
namespace {

/// Text after "key ...:" in a file of such lines.
std::optional<std::string> field(const char* path, const std::string& key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(key)) continue;
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    const std::size_t begin = line.find_first_not_of(" \t", colon + 1);
    return begin == std::string::npos ? std::string() : line.substr(begin);
  }
  return std::nullopt;
}

std::optional<std::int64_t> number(const std::string& text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{}) return std::nullopt;
  return value;
}

/// A field of /proc/meminfo, which counts KiB.
std::int64_t meminfo_bytes(const char* key) {
  const std::optional<std::string> text = field("/proc/meminfo", key);
  return text ? number(*text).value_or(0) * 1024 : 0;
}

/// A control group's file; absent outside one, and "max" where there is no limit.
std::optional<std::int64_t> cgroup_bytes(const char* path) {
  std::ifstream file(path);
  std::string text;
  if (!std::getline(file, text)) return std::nullopt;
  return number(text);
}

}  // namespace

DeviceFacts cpu_facts() {
  DeviceFacts facts;
  facts.name = field("/proc/cpuinfo", "model name").value_or("CPU");
  facts.blas = openblas_name();
  facts.multiprocessors = omp_get_max_threads();
  facts.memory_bytes = meminfo_bytes("MemTotal");
  return facts;
}

std::int64_t available_memory_bytes() {
  std::int64_t available = meminfo_bytes("MemAvailable");
  const auto limit = cgroup_bytes("/sys/fs/cgroup/memory.max");
  const auto used = cgroup_bytes("/sys/fs/cgroup/memory.current");
  if (limit && used) available = std::min(available, std::max(*limit - *used, std::int64_t{0}));
  return available;
}

}  // namespace engine
