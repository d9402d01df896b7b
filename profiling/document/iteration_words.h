// What an iteration of a run is called wherever people read of one.
#pragma once

#include <string>

namespace profiling {

inline const char* iteration_noun(bool replays) { return replays ? "replay" : "iteration"; }
/// Eager iterations count from 0, as the records do.
inline int first_iteration(bool replays) { return replays ? 1 : 0; }
/// The number that people read, of the number in a record; negative: outside the iterations.
inline std::string shown_iteration(bool replays, int iteration) {
  return iteration < 0 ? "none: set-up or check"
                       : std::to_string(iteration + first_iteration(replays));
}

}  // namespace profiling
