// The CPU reference step as subjects of the linear benchmark. Products are timed where they run, in
// a step: the sums of their spans.
#pragma once

#include <memory>

#include "engine/bench/linear_subject.h"

namespace engine {

/// "steady clock around ...".
inline constexpr const char* kCpuLinearTimes =
    "steady clock around each step; products are the sums of their spans in it";

std::unique_ptr<LinearTarget> make_cpu_linear_target();

}  // namespace engine
