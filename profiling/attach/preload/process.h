// Whether and how this process is recorded: what the environment asks for, forks, and what frames
// say about the process itself.
#pragma once

namespace attach {

// The environment of an attached process. `expertscope attach` sets it (app/attach/launch.h).
inline constexpr const char* kFolderVariable = "EXPERTSCOPE_ATTACH_FOLDER";
inline constexpr const char* kOnlyVariable =
    "EXPERTSCOPE_ATTACH_ONLY";  // a word of the command line
inline constexpr const char* kRankVariable = "EXPERTSCOPE_ATTACH_RANK";    // value of RANK
inline constexpr const char* kLimitVariable = "EXPERTSCOPE_ATTACH_LIMIT";  // bytes of the spool

/// After the driver's initialization has succeeded: opens the spool if this process is to be
/// recorded. Later calls do nothing, except in a forked child.
void start_recording();

/// Frames for shared libraries that were loaded since the last call. Versions are asked of the
/// libraries themselves, by functions that only return a constant.
void note_libraries();

}  // namespace attach
