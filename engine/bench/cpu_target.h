// The CPU twins as a benchmark's target.
#pragma once

#include <memory>

#include "engine/bench/bench_target.h"

namespace engine {

std::unique_ptr<BenchTarget> make_cpu_bench_target();

}  // namespace engine
