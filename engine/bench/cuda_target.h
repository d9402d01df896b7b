// The current CUDA device as a benchmark's target. CUDA flavour only.
#pragma once

#include <memory>

#include "engine/bench/bench_target.h"

namespace engine {

Result<std::unique_ptr<BenchTarget>> make_cuda_bench_target();

}  // namespace engine
