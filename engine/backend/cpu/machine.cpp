// Facts are read from /proc; a missing line leaves its field at the default.
#include "engine/backend/cpu/machine.h"

#include <fmt/format.h>
#include <omp.h>
#include <unistd.h>
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstring>
#include <fstream>
#include <numeric>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "engine/backend/cpu/product.h"
#include "engine/input/operand_store.h"

namespace engine {

HostSpan::HostSpan(RunContext& context, const WorkTag& tag, const char* name)
    : context_(context), tag_(tag), name_(name) {
  context_.progress.stage.store(static_cast<int>(tag_.stage), std::memory_order_relaxed);
  context_.observer.begin_work(tag_);
  start_ns_ = steady_ns();
}

HostSpan::~HostSpan() {
  context_.observer.span(tag_, name_, 0, start_ns_, steady_ns());
  context_.observer.end_work();
}

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

void in_shares(std::int64_t bytes, const std::function<void(std::int64_t, std::int64_t)>& part) {
  const std::int64_t threads = omp_get_max_threads();
#pragma omp parallel for schedule(static, 1)
  for (std::int64_t thread = 0; thread < threads; ++thread) {
    const std::int64_t first = bytes * thread / threads;
    part(first, bytes * (thread + 1) / threads - first);
  }
}

void copy_in_parallel(std::byte* to, const std::byte* from, std::int64_t bytes) {
  in_shares(bytes, [&](std::int64_t first, std::int64_t count) {
    std::memcpy(to + first, from + first, static_cast<std::size_t>(count));
  });
}

namespace {

constexpr std::size_t kCacheLine = 64;

std::size_t last_cache_bytes() {
  const long bytes = ::sysconf(_SC_LEVEL3_CACHE_SIZE);
  return bytes > 0 ? static_cast<std::size_t>(bytes) : HostConditions::kUnknownCacheBytes;
}

}  // namespace

HostConditions::HostConditions(const MeasureOptions& options)
    : rest_(options.pace == Pace::Burst),
      flush_(options.cache == CacheMode::Cold ? 2 * last_cache_bytes() : 0) {}

void HostConditions::before() const {
  if (rest_) std::this_thread::sleep_for(std::chrono::milliseconds(kBurstIdleMs));
  for (std::size_t at = 0; at < flush_.size(); at += kCacheLine) {
    flush_[at] = static_cast<std::byte>(std::to_integer<int>(flush_[at]) + 1);
  }
}

namespace {

constexpr int kSamples = 5;
constexpr std::int64_t kCopyBytes = std::int64_t{256} << 20;

/// Median of the durations after a warm-up.
template <class Work>
double median_ns(Work&& work) {
  std::vector<double> durations;
  for (int sample = -1; sample < kSamples; ++sample) {
    const std::int64_t start_ns = steady_ns();
    work();
    if (sample >= 0) durations.push_back(static_cast<double>(steady_ns() - start_ns));
  }
  return std::max(quantile_of(std::move(durations), 0.5), 1.0);
}

void measure_copy(Ceilings& ceilings) {
  const std::int64_t available = available_memory_bytes();
  if (available != 0 && available < 4 * kCopyBytes) return;
  Buffer<std::byte> source;
  Buffer<std::byte> target;
  std::byte* const from = source.reserve(kCopyBytes);
  std::byte* const to = target.reserve(kCopyBytes);
  // Pages are placed where they are first written.
  in_shares(kCopyBytes, [&](std::int64_t first, std::int64_t count) {
    std::memset(from + first, 1, static_cast<std::size_t>(count));
  });
  const double duration = median_ns([&] { copy_in_parallel(to, from, kCopyBytes); });
  ceilings.copies = kSamples;
  ceilings.copy_bytes = kCopyBytes;
  ceilings.copy_bytes_per_s = 2.0 * static_cast<double>(ceilings.copy_bytes) / (duration * 1e-9);
}

void measure_product(const GroupedShape& shape, Ceilings& ceilings) {
  const std::int64_t tokens =
      std::accumulate(shape.splits.begin(), shape.splits.end(), std::int64_t{0});
  const std::int64_t m = std::min(tokens, kCeilingSide);
  const std::int64_t n = std::min(shape.n, kCeilingSide);
  const std::int64_t k = std::min(shape.k, kCeilingSide);
  if (m == 0) {
    ceilings.product = "none: the step has no rows";
    return;
  }
  const std::vector<float> x(static_cast<std::size_t>(m * k), 1.0F);
  const std::vector<float> w(static_cast<std::size_t>(n * k), 0.5F);
  std::vector<float> y(static_cast<std::size_t>(m * n));
  const double duration = median_ns([&] {
    product({.x = x.data(),
             .w = w.data(),
             .m = m,
             .n = n,
             .k = k,
             .y_type = ElementType::Fp32,
             .y = y.data()});
  });
  ceilings.products = kSamples;
  ceilings.product_flop_per_s = 2.0 * static_cast<double>(m) * static_cast<double>(n) *
                                static_cast<double>(k) / (duration * 1e-9);
  ceilings.product = fmt::format("dense {} x {} x {}, FP32, {}", m, n, k, openblas_name());
}

}  // namespace

Ceilings measure_cpu_ceilings(const GroupedShape& shape) {
  Ceilings ceilings;
  measure_copy(ceilings);
  measure_product(shape, ceilings);
  return ceilings;
}

}  // namespace engine
