// Another routing file for a request.
#pragma once

#include <string>

#include "engine/model/run_request.h"

namespace app {

/// Uses the file for the routing. Settings for the contents of another file are reset.
inline void name_routing_file(engine::RoutingSpec& routing, const std::string& path) {
  if (routing.path == path) return;
  routing.path = path;
  routing.numbers = engine::RoutingNumbers::Detect;
}

}  // namespace app
