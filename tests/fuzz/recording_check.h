// Writes what a reader has understood into a recording, and reads that.
#pragma once

#include "profiling/session/session_file.h"

namespace fuzz {

/// The writer's refusal, a sentence; empty = it was written and came back as it was.
std::string refusal_of_recording(const profiling::Session& session);

}  // namespace fuzz
