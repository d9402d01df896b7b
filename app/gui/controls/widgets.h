// Every interactive widget of the window: ImGui's own, recorded in the ControlMap, with a sentence
// when disabled. All return true in the frame a person changed the value. Ids are stable dotted
// names; labels are what is read. A label that is empty or starts with "##" is not drawn.
#pragma once

#include <imgui.h>

#include <cstdint>
#include <string>
#include <vector>

#include "app/gui/view.h"

namespace app::controls {

struct Options {
  bool enabled = true;
  std::string reason{};  // shown as tooltip when disabled; as a warn mark's tooltip when hazardous
  bool hazardous = false;  // draws a warn mark beside the control
  std::string tooltip{};
  const char* hint = "";  // of an empty text field: what to type
  /// 0 = fill for controls with a value, natural for buttons and checkboxes; < 0 = fill for those
  /// too. With a width the label stands right before the control instead of in the label column.
  float width = 0;
  float share = 1;  // of the filled width, where several controls stand in one row
  int per_row = 0;  // of a segmented control: how many choices a row; 0 = all
};

/// Share of a filled row that the label column takes.
inline constexpr float kLabelShare = 0.40F;

/// A wrapped tooltip in the window's type, for anything that was just drawn and is hovered.
void tooltip(const PanelContext&, const std::string& text);

bool button(const PanelContext&, const char* id, const char* label, const Options& = {});
bool checkbox(const PanelContext&, const char* id, const char* label, bool& value,
              const Options& = {});
/// `items` are shown as given; item_options[i] (if present) greys single items out with their
/// reason.
bool combo(const PanelContext&, const char* id, const char* label, int& index,
           const std::vector<std::string>& items, const Options& = {},
           const std::vector<Options>& item_options = {});
/// Drag that also accepts typed expressions ("3*1024", "16k") after a click; arrow keys step while
/// typing; clamps to [minimum, maximum]; double click resets to `reset`.
bool drag_int(const PanelContext&, const char* id, const char* label, std::int64_t& value,
              std::int64_t minimum, std::int64_t maximum, std::int64_t reset, const Options& = {});
/// Logarithmic drag over (0, maximum] with 0 reachable. Typing and reset as for drag_int.
bool drag_float(const PanelContext&, const char* id, const char* label, float& value, float minimum,
                float maximum, float reset, const Options& = {});
bool input_text(const PanelContext&, const char* id, const char* label, std::string& value,
                const Options& = {});
/// One of several exclusive choices in a row (segmented control). Each becomes "<id>.<index>" in
/// the map.
/// `item_options` as for combo.
bool segmented(const PanelContext&, const char* id, int& index,
               const std::vector<std::string>& items, const Options& = {},
               const std::vector<Options>& item_options = {});
/// Records a region that is not an ImGui item (a plot, a figure) with a value tests can read.
void record(const PanelContext&, const char* id, const char* label, const char* kind,
            const std::string& value, ImVec2 min, ImVec2 max);

}  // namespace app::controls
