// A card is a specification: what it is called, what it draws, the rows that can be copied from it,
// what it reports, and why it may be empty. draw_card() does what is the same for every card:
// frame, title, menu, table, empty state, entry in the control map. Also the headline figures of a
// page.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/gui/cards/card_layout.h"
#include "app/gui/controls/widgets.h"
#include "app/gui/plot/drawn_table.h"
#include "app/gui/plot/format.h"
#include "app/gui/plot/sorted_table.h"

namespace app {

struct CardAction {
  const char* name = "";  // "export_trace": the control is "<card>.menu.export_trace"
  const char* label = "";
  std::function<void()> act{};
};

/// Why there is nothing to show, and the button that helps.
struct EmptyState {
  std::string title{};  // empty = there is something to show
  std::string sentence{};
  const char* button_id = "";
  const char* button_label = nullptr;  // null = no button
  std::function<void()> act{};
};

/// A table that fills the card, and that is copied and saved as it stands.
struct CardTable {
  const char* id = nullptr;  // "##performance.kernels"; null = the card is not a table
  const plot::DrawnTable* drawn = nullptr;
  std::uint64_t generation = 0;  // identifies the rows
  plot::TableState* state = nullptr;
  /// The user has selected another row, or, by a click on the selected one, none.
  std::function<void(std::optional<std::size_t> row)> chosen{};
};

/// The card's entry in the control map.
struct CardReadOut {
  const char* id = nullptr;  // null = none
  const char* label = "";
  std::function<std::string()> value{};
  const char* kind = "plot";
};

struct CardSpec {
  const char* id = "";  // "performance.timeline"; the menu is "<id>.menu"
  std::string title{};
  const char* question = "";  // tooltip of the title
  /// Dimmed, after the title: method, n. Parts that may be left out where there is no room follow
  /// a " \u00b7 ", the most important first (fitted_lines.h).
  std::string note{};
  std::string measured{};  // "How is this measured"
  CardTable table{};
  std::function<profiling::Table()> list{};  // the rows of what is drawn, to copy and to save
  // Instead of the table or the list; a card without any of them has nothing to copy.
  std::function<std::string()> text{};
  std::function<std::string()> csv{};
  std::vector<CardAction> actions{};  // additional menu items
  float header_widgets = 0.0F;        // pixels kept free left of the menu
  std::function<void()> header{};     // draws there
  // These are called after the header's widgets, which may change what they show.
  std::function<EmptyState()> empty{};
  std::function<void(const Area&)> draw{};
  /// Pixels that the content needs at this scale to be seen whole; null = it fits any card.
  std::function<ImVec2()> needs{};
  bool words = false;  // it draws only text, in a child window as large as the card
  bool waits = false;  // for the user to do something: until then it shows nothing but that
  CardReadOut read_out{};
  /// Below a picture of it: what was shown; null = that of the run on screen.
  std::function<std::string()> caption{};
  /// Below it while it is presented; null = nothing.
  std::function<std::string()> sentence{};
  // Set by the board that the card lies on (card_board.h).
  bool fills_page = false;
  std::function<void()> fill_page{};  // or shows all cards again; null = the card cannot
};

/// Name of the panel in a tour: "performance.timeline" for "performance.timeline_card", "memory"
/// for "memory.card".
std::string_view panel_name(std::string_view id);

/// It shows more than why it is empty.
bool has_content(const CardSpec& spec);

void draw_card(const PanelContext& context, const Area& area, const CardSpec& spec);

struct Figure {
  const char* id = "";
  std::string label{};
  plot::Quantity value{};
  std::string note{};  // dimmed, after the unit: "n 100"
  std::string tooltip{};
  ImU32 color = 0;  // of the figure; 0 = text
};

/// A row of figures below the window's own headline. Figures that do not fit are left out from the
/// right, never cut: "+1" stands for them, and its tooltip has them.
float headline_height(const Theme& theme);
void draw_headline(const PanelContext& context, const std::vector<Figure>& figures, float width);

/// A line in the label font, cut to the area and centred in its height; where it is cut, whole in
/// the tooltip, and always in the control map.
struct TextLine {
  const char* id = "";
  const char* label = "";
  std::string text{};
  ImU32 color = 0;
  std::string tooltip{};
};
void draw_text_line(const PanelContext& context, const Area& area, const TextLine& line);

/// A batch in progress: the button that cancels it, and how far it is.
void draw_batch_progress(const PanelContext& context, const char* page, float button_width,
                         float width, const std::string& doing);

/// The one button that is meant to be pressed.
bool accent_button(const PanelContext& context, const char* id, const char* label,
                   const controls::Options& options);

/// Centred title, sentence and button; true if the button was pressed.
bool draw_empty(const PanelContext& context, ImVec2 size, const char* title,
                const std::string& sentence, const char* button_id = "",
                const char* button_label = nullptr);
void draw_empty(const PanelContext& context, ImVec2 size, const EmptyState& state);

/// Why no run is on screen, and what a person can do.
struct NoRun {
  const char* title = "";
  std::string sentence;
};
NoRun no_run(const SessionView& view);
/// The empty state of a page without a run: why, and the button that helps.
void draw_no_run(const PanelContext& context, ImVec2 size, const char* what);
/// The empty state of a page while its model sorts the records of the run on screen; `by`: " by
/// node and replay".
void draw_sorting(const PanelContext& context, ImVec2 size, const char* by = "");

/// Dims the area of a result that no longer matches the rail, or that is being recomputed, once
/// that has lasted 120 ms.
class StaleVeil {
 public:
  void draw(const PanelContext& context, ImVec2 min, ImVec2 max) { draw(context, "", min, max); }
  /// `busy`: what is being computed; empty = nothing.
  void draw(const PanelContext& context, const char* busy, ImVec2 min, ImVec2 max);

 private:
  double since_ = -1.0;
};

}  // namespace app
