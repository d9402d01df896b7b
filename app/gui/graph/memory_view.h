// The memory map on screen: one row per allocation, one column per node, a mark where the node
// holds an address of it, red where nothing orders two nodes that may touch the same memory. What
// the chosen finding names comes first, and is marked.
#pragma once

#include <string>
#include <vector>

#include "app/gui/cards/card.h"
#include "app/gui/controls/panel_context.h"
#include "app/gui/graph/graph_key.h"
#include "app/gui/graph/graph_scene.h"

namespace app {

class MemoryView {
 public:
  /// The scene outlives the card.
  CardSpec card(const PanelContext& context, const Area& area, GraphScene& scene);

 private:
  struct Columns {
    float label = 0.0F;       // left ends, pixels
    float bytes = 0.0F;       // right end
    float by_replays = 0.0F;  // right ends; 0 = no replay was compared
    float by_program = 0.0F;
    const char* by_replays_title = "";
    float life = 0.0F;
    float cells = 0.0F;
    float end = 0.0F;
  };

  static Columns columns_of(const Theme& theme, const GraphScene& scene, float left, float width);
  static float titles_height(const Theme& theme, const GraphScene& scene);

  void follow(const GraphScene& scene);
  void draw_header(const PanelContext& context, const GraphScene& scene, float width);
  void draw_titles(const PanelContext& context, const GraphScene& scene, const Columns& columns,
                   float y) const;
  void draw_named_nodes(const PanelContext& context, const GraphScene& scene,
                        const Columns& columns, float y, float left, float right) const;
  std::vector<KeyEntry> key_of(const PanelContext& context, const GraphScene& scene) const;
  void draw_row(const PanelContext& context, const GraphScene& scene, const MemoryRow& row,
                const Columns& columns, float y, float height) const;
  void draw_changes(const PanelContext& context, const MemoryRow& row, const Columns& columns,
                    float y) const;
  void draw_lifetime(const PanelContext& context, const GraphScene& scene,
                     const engine::Allocation& memory, const Columns& columns, float y,
                     float height) const;
  void draw_cells(const PanelContext& context, const GraphScene& scene, const MemoryRow& row,
                  const Columns& columns, float y, float height) const;
  void draw_read_out(const PanelContext& context, const GraphScene& scene, const MemoryRow& row,
                     int node) const;
  void take_input(const PanelContext& context, const Columns& columns, int nodes);
  void draw_rows(const PanelContext& context, const Area& whole, GraphScene& scene);
  profiling::Table list(const GraphScene& scene) const;
  float x_of(double node, const Columns& columns) const;

  std::uint64_t shown_ = 0;
  int role_ = 0;     // 0 = all, then AllocationRole + 1
  int changes_ = 0;  // 0 = all, then Changes + 1
  bool only_red_ = false;
  std::vector<int> rows_;  // indices into MemoryMap::rows that pass the filter
  int named_ = 0;          // the first of them, which the chosen finding names
  double first_ = 0.0;     // node at the left end
  double last_ = 0.0;
};

}  // namespace app
