// What plots are made of. A mark is a plain value over the axes of its frame; one function draws a
// list of them in this order, finds the one under the mouse and places their names clear of lines,
// dots and each other. A plot is a function that makes marks from its data.
#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <variant>
#include <vector>

#include "app/gui/plot/plot_frame.h"

namespace app::plot {

/// Values of the two axes. A point with a coordinate that is not finite is nowhere: it is not drawn
/// and interrupts a line.
struct Point {
  double x = 0.0;
  double y = 0.0;
};
inline constexpr Point kNowhere{std::numeric_limits<double>::quiet_NaN(), 0.0};

struct Line {
  std::vector<Point> points{};
  ImU32 color = 0;
  float width = 1.0F;     // pixels
  float strength = 1.0F;  // of the line's colour; its dots have all of it
  float fill = 0.0F;      // strength of the area below a stepped line
  float dots = 0.0F;      // radius of a dot at each point, in pixels
  bool stepped = false;   // a value holds until the next point
  std::string name{};     // shown with a piece of the line before it
};

struct Dot {
  Point at{};
  ImU32 color = 0;
  Range across{};       // whisker along x; empty = none
  std::string name{};   // beside the dot
  std::string brief{};  // where the name has no place: what stands for it; empty = nothing does
  bool strong = true;   // its name is placed before those of weaker dots, which are dim
  bool joined = false;  // its name is placed first, without room beside it at the end of a line
  bool hollow = false;
  // Of its control; with ".name" of its name's, with ".brief" of what stands for it; empty = none.
  std::string id{};
  std::string value{};
};

struct Dots {
  std::vector<Dot> dots{};
  float radius = 4.0F;  // pixels at scale 1, as `reach`
  float reach = 14.0F;  // the mouse finds a dot from this far
  float leader = 0.0F;  // the longest line from a dot to its name; 0 = as usual
  ImU32 rim = 0;
  int selected = -1;  // has a ring, as the one under the mouse
  int pointed = -1;   // likewise: under the mouse in a list beside the plot
};

/// One bar per item at 0, 1, 2, ... or several side by side, with whiskers and, on a second scale,
/// a tick for a companion quantity (tokens).
struct Bar {
  double value = 0.0;  // NaN = nothing measured: hatched; below 0 it hangs from the line at 0
  double low = 0.0;    // whisker; low == high draws none
  double high = 0.0;
  double companion = 0.0;
  ImU32 color = 0;
  ImU32 band = 0;        // between the whisker's ends; 0 = none
  bool outside = false;  // beyond any scale (an exact match's SNR): full height, open top
};

struct Bars {
  const std::vector<Bar>* bars = nullptr;
  std::size_t per_item = 1;  // side by side; they follow each other
  float strength = 0.85F;    // of their colours
  bool companions = false;

  std::size_t items() const { return bars->size() / per_item; }
};

/// A straight line across the whole plot.
struct Rule {
  double at = 0.0;
  ImU32 color = 0;
  bool upright = false;
  float width = 1.0F;   // pixels
  std::string label{};  // along it; of a level rule: an upright one has none
};

/// Ranges of x over the whole height, or at the foot of the plot.
struct Spans {
  enum class Kind { Filled, Framed, Hatched, Foot };
  std::vector<Range> ranges{};
  ImU32 color = 0;
  Kind kind = Kind::Filled;
  std::string name{};  // of those at the foot: shown with a piece of the band before it
};

using Mark = std::variant<Spans, Bars, Line, Rule, Dots>;
using Marks = std::vector<Mark>;

struct MarkHit {
  int mark = -1;                       // -1 = none
  int index = -1;                      // of the dot or of the item in its mark
  bool clicked = false;                // in this frame, without a drag
  std::vector<std::string> unnamed{};  // names of lines and spans for which there was no place
};
/// Finds the dot nearest to the mouse within its mark's reach, else the item of bars at its x.
MarkHit find_mark(const AxisMap& x, const AxisMap& y, ImVec2 mouse, float scale,
                  const Marks& marks);

/// Draws the marks and records the dots that are controls. Returns what is under the mouse; the
/// caller writes the read-out. Inside a kept drawing only lines, rules and spans may be drawn: dots
/// and bars also depend on the mouse, and dots record controls, which needs every frame.
MarkHit draw_marks(const PanelContext& context, const PlotFrame& frame, const Marks& marks);

/// Above the right end of the plot "+2 more", whose tooltip has the names that had no place;
/// nothing where all had one. Not inside a kept drawing.
void draw_unnamed(const PanelContext& context, const PlotFrame& frame, const char* id,
                  const std::vector<std::string>& unnamed);

}  // namespace app::plot
