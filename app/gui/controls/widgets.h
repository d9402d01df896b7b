// Every interactive widget of the window: ImGui's own, recorded in the ControlMap, with a reason
// when disabled. All return true in the frame in which the user changed the value. Ids are stable
// dotted names; labels are the displayed text. A label that is empty or starts with "##" is not
// drawn; what follows "##" names the control in messages.
#pragma once

#include <imgui.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "app/gui/controls/panel_context.h"
#include "app/gui/controls/text_field.h"

namespace app::controls {

struct Options {
  bool enabled = true;
  std::string reason{};  // shown as tooltip when disabled; as a warn mark's tooltip when hazardous
  bool hazardous = false;  // draws a warn mark next to the control
  std::string tooltip{};
  const char* hint = "";            // placeholder of an empty text field
  int most_bytes = kMaxTypedBytes;  // of a text field
  /// 0 = fill for controls with a value, natural for buttons and checkboxes; < 0 = fill for those
  /// too. With a width the label is placed directly before the control instead of in the label
  /// column.
  float width = 0;
  float share = 1;        // of the filled width, where several controls share a row
  int per_row = 0;        // segmented control: choices per row; 0 = all
  const char* zero = "";  // of a number: drawn instead of 0
};

/// Share of a filled row that the label column occupies.
inline constexpr float kLabelShare = 0.40F;

/// A wrapped tooltip in the window's font, for the item drawn last, if it is hovered.
void tooltip(const PanelContext&, const std::string& text);

bool button(const PanelContext&, const char* id, const char* label, const Options& = {});
/// A heading that folds what is below it: a click switches `open`.
bool fold(const PanelContext&, const char* id, const char* label, bool& open, const Options& = {});
bool checkbox(const PanelContext&, const char* id, const char* label, bool& value,
              const Options& = {});
/// `items` are shown as given; item_options[i] (if present) disables single items and gives their
/// reason.
bool combo(const PanelContext&, const char* id, const char* label, int& index,
           const std::vector<std::string>& items, const Options& = {},
           const std::vector<Options>& item_options = {});
/// A combo over a long list: a text field above it keeps the items that contain every word typed,
/// Enter takes the first of them. `headings` come before the item of their index. `below` draws
/// what else the open list offers.
struct Heading {
  std::size_t before = 0;
  std::string text;
};
/// Neighbours in the list that one line stands for until it is clicked. A search finds them all the
/// same, and the chosen one is always listed.
struct Fold {
  std::size_t first = 0;
  std::size_t count = 0;
  std::int64_t key = 0;  // stays when the list changes
  std::string text;
};
struct FilteredList {
  const std::vector<std::string>& items;
  std::vector<Heading> headings;
  std::string& filter;                     // kept by the caller, cleared when the list opens
  std::span<const Fold> folds{};           // in the order of the items
  std::set<std::int64_t>* open = nullptr;  // keys of those that are open; kept by the caller
};
bool filtered_combo(const PanelContext&, const char* id, const char* label, int& index,
                    const FilteredList& list, const Options& = {},
                    const std::function<void()>& below = {});
/// Drag that also accepts typed expressions ("3*1024", "16k" = 16000, "16Ki" = 16384) after a
/// click: Enter, Tab or a click elsewhere takes the text, Escape leaves the value, the arrow keys
/// step. A drag stays within [minimum, maximum]; typed text that is no whole number within them is
/// refused, see refusal_of(). Double click resets to `reset`.
bool drag_int(const PanelContext&, const char* id, const char* label, std::int64_t& value,
              std::int64_t minimum, std::int64_t maximum, std::int64_t reset, const Options& = {});
/// The same for a number with a fraction; a drag goes in tenths.
bool drag_real(const PanelContext&, const char* id, const char* label, double& value,
               double minimum, double maximum, double reset, const Options& = {});
/// Why the text last typed into this field was not taken; empty if it was, or has been replaced.
std::string refusal_of(const PanelContext&, const char* id);
/// Logarithmic drag over (0, maximum] with 0 reachable. Typing and reset as for drag_int.
bool drag_float(const PanelContext&, const char* id, const char* label, float& value, float minimum,
                float maximum, float reset, const Options& = {});
/// Above the text field drawn last, over whatever is there: how much of a text it keeps. Only while
/// it is typed into and full.
void note_if_full(const PanelContext&, const char* id, const std::string& text, int most_bytes);
bool input_text(const PanelContext&, const char* id, const char* label, std::string& value,
                const Options& = {});
/// A password: neither shown nor in the map. Whoever takes it overwrites `value` and calls
/// forget_typed_text().
bool secret_text(const PanelContext&, const char* id, const char* label, std::string& value,
                 const Options& = {});
/// One of several exclusive choices in a row (segmented control). Each becomes "<id>.<index>" in
/// the map. `item_options` as for combo.
bool segmented(const PanelContext&, const char* id, int& index,
               const std::vector<std::string>& items, const Options& = {},
               const std::vector<Options>& item_options = {});
/// One of two: the second is chosen while `second` is true.
bool either(const PanelContext&, const char* id, bool& second, const char* first_label,
            const char* second_label, const Options& = {});
/// In an open popup. `detail`: dimmed, at the right; also its value in the map.
bool menu_item(const PanelContext&, const char* id, const char* label, bool enabled = true,
               const char* detail = "");
/// Records a region that is not an ImGui item (a plot, a figure) with a value tests can read.
void record(const PanelContext&, const char* id, const char* label, const char* kind,
            const std::string& value, ImVec2 min, ImVec2 max);

// Copying a number: right click on it, or Ctrl+C while the pointer is on it. The clipboard gets the
// number alone, with all its digits, so that it can be pasted into a spreadsheet; the status bar
// shows what was copied and its unit.

/// The pointer is on this rectangle of the current window and the user asks to copy its number.
/// Turn `right_click` off where the right button pans.
bool copy_wanted(ImVec2 min, ImVec2 max, bool right_click = true);

/// Copies on request the number in this rectangle: `exact` with all its digits, in `exact_unit`, or
/// the figure as displayed where `exact` is NaN.
struct CopiedNumber {
  const std::string& figure;
  const std::string& unit;
  double exact;
  const std::string& exact_unit;
};
void copy_if_wanted(const PanelContext& context, ImVec2 min, ImVec2 max, const CopiedNumber& number,
                    const std::string& label);

/// Copies `number` to the clipboard; shows "Copied 10253124.5 ns: step, median" in the status bar.
void copy_number(const PanelContext& context, const std::string& number, const std::string& unit,
                 const std::string& label);

/// The shortest text that reads back as the same double.
std::string all_digits(double value);

}  // namespace app::controls
