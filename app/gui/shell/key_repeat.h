// When a held key acts again: when the desktop repeats it. ImGui measures how long a key is down by
// the times of its frames, so that in a slow window one tap acted in every frame until its release
// was read.
#pragma once

#include <vector>

#include "app/gui/shell/input_queue.h"

namespace app {

/// Held keys act again in the frame that takes these events if one of them is a repeat, else not.
/// Called once the time of the frame is known.
void follow_key_repeats(const std::vector<InputEvent>& taken);

}  // namespace app
