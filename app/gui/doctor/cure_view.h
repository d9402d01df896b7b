// What sets replays right again: in words, as code for each library, and the least that had to be
// changed.
#pragma once

#include <optional>

#include "app/gui/cards/card.h"
#include "app/gui/controls/panel_context.h"
#include "app/gui/graph/graph_scene.h"

namespace app {

class CureView {
 public:
  /// The scene outlives the card.
  CardSpec card(const PanelContext& context, const GraphScene& scene);

 private:
  void draw_code(const PanelContext& context, const profiling::Fix& fix, int usual);

  std::optional<int> library_;  // that the user chose
};

}  // namespace app
