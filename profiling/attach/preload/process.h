// Whether and how this process is recorded: what the environment asks for
// (spool/environment.h), forks, and what frames
// say about the process itself.
#pragma once

namespace attach {

/// After the driver's initialization has succeeded: opens the spool if this process is to be
/// recorded. Later calls do nothing, except in a forked child.
void start_recording();

/// A frame for the device of the current context, at the first call.
void note_device();

/// Frames for shared libraries that were loaded since the last call. Versions are asked of the
/// libraries themselves, by functions that only return a constant.
void note_libraries();

}  // namespace attach
