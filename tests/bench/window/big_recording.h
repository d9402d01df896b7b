// A synthetic recording of any size, for measuring how the window and the session file cope with
// it. Nothing in it was measured on a device, and its method texts say so.
#pragma once

#include <cstddef>

#include "profiling/session/session_file.h"

namespace app {

inline constexpr std::size_t kBigRecordsPerReplay = 100;
inline constexpr std::size_t kBigGraphNodes = 40;
inline constexpr int kBigExperts = 16;

/// Replays of one graph of 40 nodes on three streams, 1 ms apart; 4 of the nodes leave one record
/// for each of 16 experts, so that a replay has 100 records. `records` is rounded up to whole
/// replays and at most 10 million (the most iterations that a run may have). Deterministic.
profiling::RecordedRun make_big_run(std::size_t records);

}  // namespace app
