#include "engine/backend/cpu/host_span.h"

#include <chrono>

namespace engine {

std::int64_t steady_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

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

}  // namespace engine
