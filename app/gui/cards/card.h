// The parts of every panel of a page: a card with a title, the question it answers, a
// menu (copy, how it is measured), headline figures, and the empty state that says what to do.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "app/gui/controls/panel_context.h"
#include "app/gui/plot/format.h"

namespace app {

struct CardAction {
  const char* name = "";  // "export_trace": the control is "<card>.menu.export_trace"
  const char* label = "";
  std::function<void()> act{};
};

struct CardSpec {
  const char* id = "";  // "performance.timeline"; the menu is "<id>.menu"
  const char* title = "";
  const char* question = "";            // tooltip of the title
  std::string note{};                   // dimmed, after the title: method, n
  std::string measured{};               // "How is this measured"
  std::function<std::string()> text{};  // null = nothing to copy
  std::function<std::string()> csv{};
  std::vector<CardAction> actions{};  // additional menu items
  float header_widgets = 0.0F;        // pixels kept free left of the menu
};

class Card {
 public:
  Card(const PanelContext& context, const CardSpec& spec, ImVec2 size);
  ~Card();
  Card(const Card&) = delete;
  Card& operator=(const Card&) = delete;

  /// Room left for content below the cursor.
  ImVec2 room() const { return ImGui::GetContentRegionAvail(); }
  /// Moves the cursor to the room reserved by header_widgets, and back to the content.
  void begin_header_widgets();
  void end_header_widgets();

 private:
  void draw_header(const CardSpec& spec);
  void draw_menu(const CardSpec& spec);

  const PanelContext& context_;
  ImVec2 header_widgets_at_;
  ImVec2 content_at_;
  ImVec2 card_min_;
  ImVec2 card_max_;
};

struct Figure {
  const char* id = "";
  std::string label{};
  plot::Quantity value{};
  std::string note{};  // dimmed, after the unit: "n 100"
  std::string tooltip{};
  ImU32 color = 0;  // of the figure; 0 = text
};

/// A row of figures below the window's own headline. Figures that do not fit are dropped from the
/// right, never cut. Returns the height used.
float headline_height(const Theme& theme);
void draw_headline(const PanelContext& context, const std::vector<Figure>& figures, float width);

/// Centred title, sentence and button; true if the button was pressed.
bool draw_empty(const PanelContext& context, ImVec2 size, const char* title,
                const std::string& sentence, const char* button_id, const char* button_label);

/// The empty state of a page without a run: the current state and the button that helps.
void draw_no_run(const PanelContext& context, ImVec2 size, const char* what);

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
