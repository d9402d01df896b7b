// Another routing file for a request.
#pragma once

#include <string>

#include "engine/model/run_request.h"

namespace app {

/// Takes the file for the routing. What was said of another file's numbers says nothing of these.
inline void name_routing_file(engine::RoutingSpec& routing, const std::string& path) {
  if (routing.path == path) return;
  routing.path = path;
  routing.numbers = engine::RoutingNumbers::Detect;
}

}  // namespace app
