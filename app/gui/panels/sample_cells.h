// The elements of a sample as a grid of text, shared by the Recipes view and the element inspector
// of a run.
#pragma once

#include <string>
#include <vector>

#include "app/gui/cards/card_layout.h"
#include "app/gui/controls/panel_context.h"
#include "app/gui/panels/recipes_model.h"

namespace app {

enum class CellField { Original, Code, Bits, Scale, Decoded, Error, Ulp };

/// Names of the fields, in order.
const std::vector<std::string>& cell_fields();

/// Row, column, x, code, bits, scale_inv and decoded value of an element, separated by tabs.
std::string element_fields(const RecipeOverlay& overlay, std::size_t element);

/// Moves the picked element to the one under the mouse. `id` names the grid in the control map.
void draw_sample_cells(const PanelContext& context, const char* id, const RecipeOverlay& overlay,
                       CellField field, const Area& area, int& picked_row, int& picked_column);

}  // namespace app
