// The known facts about cuBLASLt versions that ship with the programs.
#pragma once

#include <vector>

#include "engine/model/error.h"
#include "profiling/hazards/rules/diagnosis.h"

namespace app {

engine::Result<std::vector<profiling::LibraryFact>> shipped_facts();

}  // namespace app
