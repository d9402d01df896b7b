// The captured graph as boxes and edges. Wheel zooms at the cursor, a drag pans, a click chooses,
// F shows the chosen node or everything.
#pragma once

#include <string>
#include <vector>

#include "app/gui/cards/card.h"
#include "app/gui/controls/panel_context.h"
#include "app/gui/graph/graph_key.h"
#include "app/gui/graph/graph_scene.h"

namespace app {

enum class NodeColors { Stage, Finding, Time };

class TopologyView {
 public:
  /// `board`: node states of the replay in progress; empty = none. It and the scene outlive the
  /// card.
  CardSpec card(const PanelContext& context, const Area& area, GraphScene& scene,
                const std::vector<profiling::NodeState>& board);

 private:
  struct Canvas {
    ImVec2 min;
    ImVec2 max;
    ImVec2 to_pixel(float x, float y, const TopologyView& view) const {
      return ImVec2(min.x + (x - view.left_) * view.scale_, min.y + (y - view.top_) * view.scale_);
    }
  };

  void draw_header(const PanelContext& context, GraphScene& scene, float width);
  void draw_graph(const PanelContext& context, const Area& room, GraphScene& scene,
                  const std::vector<profiling::NodeState>& board);
  void take_input(const PanelContext& context, GraphScene& scene, const Canvas& canvas);
  void fit(const Theme& theme, const GraphScene& scene, const Canvas& canvas);
  void centre_on(const GraphScene& scene, const Canvas& canvas, int node);
  void find_next(GraphScene& scene);
  int node_at(const GraphScene& scene, const Canvas& canvas, ImVec2 pixel) const;
  void draw_edges(const PanelContext& context, const GraphScene& scene, const Canvas& canvas) const;
  void draw_nodes(const PanelContext& context, const GraphScene& scene, const Canvas& canvas,
                  const std::vector<profiling::NodeState>& board);
  /// What the colours mean now, then edges and outlines.
  std::vector<KeyEntry> key_of(const PanelContext& context, const GraphScene& scene,
                               bool replaying) const;
  void follow(const GraphScene& scene);
  void draw_read_out(const PanelContext& context, const GraphScene& scene, int node) const;
  ImU32 color_of(const PanelContext& context, const GraphScene& scene, int node) const;

  float left_ = 0.0F;  // layout units
  float top_ = 0.0F;
  float scale_ = 0.0F;  // pixels per unit; 0 = to be fitted
  std::uint64_t fitted_for_ = 0;
  int followed_node_ = -1;
  int colors_ = 0;
  std::string search_;
  int drawn_ = 0;  // nodes, of the newest frame
  int named_ = 0;
  float text_size_ = 0.0F;  // pixels
  // In the graph shown, ascending.
  std::uint64_t known_for_ = 0;
  std::vector<engine::Stage> stages_;
  std::vector<profiling::EdgeKind> edge_kinds_;
};

}  // namespace app
