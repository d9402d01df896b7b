// What the CPU backend says about its machine, and how much memory it may still take.
#pragma once

#include <cstdint>

#include "engine/model/run_result.h"

namespace engine {

DeviceFacts cpu_facts();

/// Memory that can be taken without swapping, inside the container's limit if there is one; 0 =
/// unknown.
std::int64_t available_memory_bytes();

}  // namespace engine
