// Core dumps on request, as the driver offers them through its environment variables.
#pragma once

namespace stub {

/// Waits for a trigger, in a thread of its own, if the environment asks for it.
void listen_for_triggers();

/// As on an H200 with driver 580: after the dump no kernel goes on, and waits for it fail.
bool kernels_ended_by_dump();

}  // namespace stub
