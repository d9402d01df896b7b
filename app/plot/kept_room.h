// What a captured step allocated for what forward keeps of each tensor, by the ledger of its
// snapshot. It is more than what is kept: codes have room for any splits, however the experts' rows
// are padded. No ImGui.
#pragma once

#include <cstdint>
#include <string>

#include "engine/model/expert_layer.h"
#include "profiling/session/session_file.h"

namespace app {

/// Bytes allocated in layer 0 of the first micro-batch for the copy of this tensor that backward
/// reads, where that is visibly more than it keeps; 0 = it is not, or the run has no ledger.
std::int64_t kept_room(const profiling::RecordedRun& run, const engine::TensorResult& tensor);

/// "allocated for it, with room for any splits: X 235.3 MiB, A 67.2 MiB": of the tensors for which
/// more is allocated than kept. Empty where there are none.
std::string kept_room_text(const profiling::RecordedRun& run);

}  // namespace app
