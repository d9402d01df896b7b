// The chosen node in full: launch, dependencies, and every address it holds with its owner.
#pragma once

#include "app/gui/cards/card.h"
#include "app/gui/controls/panel_context.h"
#include "app/gui/graph/graph_scene.h"
#include "app/gui/plot/drawn_table.h"

namespace app {

/// Chooses the node, and shows it in the topology with its details: what a click on a node does
/// where there is neither.
void show_node(const PanelContext& context, GraphScene& scene, profiling::NodeRef node);

class NodeDetails {
 public:
  /// The scene outlives the card.
  CardSpec card(const PanelContext& context, GraphScene& scene);

 private:
  void follow(const PanelContext& context, const GraphScene& scene);
  void draw_node(const PanelContext& context, const GraphScene& scene);

  std::uint64_t shown_ = 0;
  int node_ = -2;
  int finding_ = -2;
  ThemeKind theme_ = ThemeKind::Dark;
  bool complete_ = false;
  std::uint64_t generation_ = 0;
  plot::DrawnTable addresses_;
  plot::TableState table_;
};

}  // namespace app
