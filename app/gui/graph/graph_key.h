// The key of a drawing: what its colours, outlines and lines mean, in lines of text under it.
#pragma once

#include <imgui.h>

#include <string>
#include <vector>

#include "app/gui/controls/panel_context.h"

namespace app {

struct KeyEntry {
  enum class Mark {
    Filled,    // a box of this colour
    Outlined,  // the outline of one
    Named,     // a box with the mark of what a finding names
    Arrow,     // an edge
    Dashed,    // one that does not order memory
    Dotted,
    Scale,  // the sequential map from its dark to its bright end
  };
  std::string name;
  ImU32 color = 0;
  Mark mark = Mark::Filled;
};

/// Height that the entries take in lines of this width.
float key_height(const Theme& theme, float width, const std::vector<KeyEntry>& entries);
/// Also records them for tests as `id`: the names, separated by semicolons.
void draw_key(const PanelContext& context, const char* id, ImVec2 at, float width,
              const std::vector<KeyEntry>& entries);

/// What a finding names: a triangle with an exclamation mark, so that it is seen without colour,
/// too. `top`: of its bounding box.
void draw_warning(ImDrawList* draw, const Theme& theme, ImVec2 top, float side);

/// A filled arrowhead with its tip at `tip`; `along` has length 1.
void draw_arrowhead(ImDrawList* draw, ImVec2 tip, ImVec2 along, float length, ImU32 color);
void draw_dashed(ImDrawList* draw, ImVec2 from, ImVec2 to, ImU32 color, float dash, float width);

}  // namespace app
