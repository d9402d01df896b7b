// Copying a number: right click on it, or Ctrl+C while the pointer is on it. The clipboard gets the
// number alone, with all its digits, so that it can be pasted into a spreadsheet; the status bar
// shows what was copied and its unit.
#pragma once

#include <string>

#include "app/gui/controls/panel_context.h"

namespace app::controls {

/// The pointer is on this rectangle of the current window and the user asks to copy its number.
/// Turn `right_click` off where the right button pans.
bool copy_wanted(ImVec2 min, ImVec2 max, bool right_click = true);

/// Copies `number` to the clipboard; shows "Copied 10253124.5 ns: step, median" in the status bar.
void copy_number(const PanelContext& context, const std::string& number, const std::string& unit,
                 const std::string& label);

/// The shortest text that reads back as the same double.
std::string all_digits(double value);

}  // namespace app::controls
