// Every interactive widget of the window: ImGui's own, recorded in the ControlMap, with a sentence
// when disabled. All return true in the frame a person changed the value. Ids are stable dotted
// names; labels are what is read.
#pragma once

#include <imgui.h>

#include <cstdint>
#include <string>
#include <vector>

#include "app/gui/view.h"

namespace app::controls {

struct Options {
  bool enabled = true;
  std::string reason;  // shown as tooltip when disabled; as a warn mark's tooltip when hazardous
  bool hazardous = false;  // draws a warn mark beside the control
  std::string tooltip;
  float width = 0;  // 0 = fill
};

bool button(const PanelContext&, const char* id, const char* label, const Options& = {});
bool checkbox(const PanelContext&, const char* id, const char* label, bool& value,
              const Options& = {});
/// `items` are shown as given; item_options[i] (if present) greys single items out with their
/// reason.
bool combo(const PanelContext&, const char* id, const char* label, int& index,
           const std::vector<std::string>& items, const Options& = {},
           const std::vector<Options>& item_options = {});
/// Drag that also accepts typed numbers; clamps to [minimum, maximum]; double click resets to
/// `reset`.
bool drag_int(const PanelContext&, const char* id, const char* label, std::int64_t& value,
              std::int64_t minimum, std::int64_t maximum, std::int64_t reset, const Options& = {});
/// Logarithmic drag over (0, maximum] with 0 reachable.
bool drag_float(const PanelContext&, const char* id, const char* label, float& value, float minimum,
                float maximum, float reset, const Options& = {});
bool input_text(const PanelContext&, const char* id, const char* label, std::string& value,
                const Options& = {});
/// One of several exclusive choices in a row (segmented control). Each becomes "<id>.<index>" in
/// the map.
bool segmented(const PanelContext&, const char* id, int& index,
               const std::vector<std::string>& items, const Options& = {});
/// Records a region that is not an ImGui item (a plot, a figure) with a value tests can read.
void record(const PanelContext&, const char* id, const char* label, const char* kind,
            const std::string& value, ImVec2 min, ImVec2 max);

}  // namespace app::controls
