// Where the nodes of a captured graph are placed: layers from left to right, wrapped into bands
// like lines of text, so that a chain of thousands still fills the view. No ImGui.
#pragma once

#include <vector>

#include "profiling/hazards/model/snapshot.h"

namespace app {

/// Unit: the height of a box. A box is kBoxWidth x 1, centred on its node's place.
struct GraphLayout {
  static constexpr float kBoxWidth = 6.0F;
  static constexpr float kColumnStep = 8.0F;
  static constexpr float kRowStep = 1.6F;

  struct Place {
    float x = 0.0F;
    float y = 0.0F;
    int layer = 0;
    int band = 0;
  };
  std::vector<Place> places;  // of each node
  int layers = 0;
  int bands = 0;
  float width = 0.0F;  // boxes lie within [0, width] x [0, height]
  float height = 0.0F;
};

/// Deterministic. Edges that are dangling or point backwards are left out. Children of a child
/// graph are placed between their parent and what follows it. Near linear: 10,000 nodes take a
/// fraction of a second.
GraphLayout lay_out(const profiling::GraphSnapshot& graph);

}  // namespace app
