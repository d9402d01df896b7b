// A span of host work from construction to destruction, attributed to its tag.
#pragma once

#include <cstdint>

#include "engine/observe/step_observer.h"

namespace engine {

std::int64_t steady_ns();

class HostSpan {
 public:
  HostSpan(RunContext& context, const WorkTag& tag, const char* name);
  HostSpan(const HostSpan&) = delete;
  HostSpan& operator=(const HostSpan&) = delete;
  ~HostSpan();

 private:
  RunContext& context_;
  WorkTag tag_;
  const char* name_;
  std::int64_t start_ns_;
};

}  // namespace engine
