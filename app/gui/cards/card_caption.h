// What a picture of a card must say to be understood without the window: the request, its tensors,
// the device.
#pragma once

#include <string>

#include "app/gui/controls/panel_context.h"
#include "engine/model/run_request.h"
#include "engine/model/run_result.h"

namespace app {

/// Two lines: shape, recipe and settings; then tensors and device.
std::string request_caption(const engine::RunRequest& request, const engine::DeviceFacts& device);
/// Caption of the run on screen, with its number and the recording it comes from; empty without a
/// run.
std::string run_caption(const SessionView& view);

}  // namespace app
