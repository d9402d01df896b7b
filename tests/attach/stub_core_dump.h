// Core dumps on request, as the driver offers them through its environment variables.
#pragma once

namespace stub {

/// Waits for a trigger, in a thread of its own, if the environment asks for it.
void listen_for_triggers();

}  // namespace stub
