// Host spans as activity records. span() may be called from any thread of the backend while the
// engine thread brackets iterations: one mutex guards everything; a span takes well under a
// microsecond.
#include "profiling/trace/host_spans.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>

namespace profiling {

namespace {

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

template <class T>
T narrow(int value) {
  return static_cast<T>(
      std::clamp<int>(value, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
}

class HostSpanCollector final : public ActivityCollector {
 public:
  void begin_run() override {
    const std::lock_guard lock(mutex_);
    clear();
    run_begin_ns_ = now_ns();
  }

  void begin_iteration(int iteration) override {
    const std::lock_guard lock(mutex_);
    iteration_ = iteration;
    if (!first_iteration_ns_) first_iteration_ns_ = now_ns();
  }

  void end_iteration() override {
    const std::lock_guard lock(mutex_);
    iteration_ = -1;
  }

  void span(const engine::WorkTag& tag, const char* name, int lane, std::int64_t start_ns,
            std::int64_t end_ns) override {
    const std::lock_guard lock(mutex_);
    pending_.records.push_back({.start_ns = start_ns,
                                .end_ns = std::max(start_ns, end_ns),
                                .name = intern(name),
                                .iteration = iteration_,
                                .expert = narrow<std::int16_t>(tag.expert),
                                .layer = narrow<std::uint8_t>(tag.layer),
                                .kind = ActivityKind::HostSpan,
                                .lane = narrow<std::uint16_t>(lane),
                                .stage = tag.stage,
                                .writes = tag.writes});
  }

  void end_run() override {
    const std::lock_guard lock(mutex_);
    const std::int64_t zero = first_iteration_ns_.value_or(run_begin_ns_);
    for (ActivityRecord& record : pending_.records) {
      record.start_ns -= zero;
      record.end_ns -= zero;
    }
    std::stable_sort(
        pending_.records.begin(), pending_.records.end(),
        [](const ActivityRecord& a, const ActivityRecord& b) { return a.start_ns < b.start_ns; });
    finished_ = std::move(pending_);
    clear();
  }

  std::string method() const override { return "steady clock per expert and stage"; }

  Activity take() override {
    const std::lock_guard lock(mutex_);
    return std::exchange(finished_, {});
  }

 private:
  void clear() {
    pending_ = {};
    name_index_.clear();
    iteration_ = -1;
    first_iteration_ns_.reset();
  }

  std::uint32_t intern(const char* name) {
    const auto [entry, is_first] =
        name_index_.try_emplace(name, static_cast<std::uint32_t>(pending_.names.size()));
    if (is_first) pending_.names.emplace_back(name);
    return entry->second;
  }

  std::mutex mutex_;
  Activity pending_;  // times still on the steady clock
  Activity finished_;
  std::unordered_map<std::string, std::uint32_t> name_index_;
  std::int32_t iteration_ = -1;
  std::int64_t run_begin_ns_ = 0;
  std::optional<std::int64_t> first_iteration_ns_;
};

}  // namespace

std::unique_ptr<ActivityCollector> make_host_span_collector() {
  return std::make_unique<HostSpanCollector>();
}

}  // namespace profiling
