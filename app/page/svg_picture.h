// A picture as SVG, in its own units: about one pixel each. Shapes are markup made here; every text
// stays raw until the page writes it, so that there is one place that escapes and leaves out.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/plot/colors.h"

namespace app {

struct SvgPoint {
  double x = 0.0;
  double y = 0.0;
};
struct SvgBox {
  double x = 0.0;
  double y = 0.0;
  double width = 0.0;
  double height = 0.0;

  double right() const { return x + width; }
  double bottom() const { return y + height; }
};

/// A colour of the theme that the reader's browser prefers, or a fixed one.
struct SvgColor {
  SvgColor(const char* theme_color) : css(theme_color) {}
  SvgColor(plot::Rgb fixed);
  std::string css;
};
/// Names of plot::ThemeColors; html_page.cpp gives them their values.
inline constexpr const char* kSvgText = "var(--text)";
inline constexpr const char* kSvgDim = "var(--dim)";
inline constexpr const char* kSvgLine = "var(--line)";
inline constexpr const char* kSvgRaised = "var(--raised)";
inline constexpr const char* kSvgAccent = "var(--accent)";
inline constexpr const char* kSvgGood = "var(--good)";
inline constexpr const char* kSvgWarn = "var(--warn)";
inline constexpr const char* kSvgBad = "var(--bad)";
/// That of the window for this stage.
SvgColor svg_stage_color(engine::Stage stage);

struct SvgPaint {
  SvgColor fill = "none";
  SvgColor stroke = "none";
  double opacity = 1.0;  // of the fill
  double width = 1.0;    // of the stroke
  const char* dashes = "";
};

struct SvgWords {
  enum class Anchor { Start, Middle, End };
  Anchor anchor = Anchor::Start;
  SvgColor color = kSvgText;
  double room = 0.0;  // wider text ends with an ellipsis; 0 = any width
  bool strong = false;
};

inline constexpr double kSvgWidth = 720.0;    // of most pictures
inline constexpr double kSvgTextSize = 11.0;  // pixels
inline constexpr double kSvgLineHeight = 15.0;
/// Not less than any common font needs for it: a picture cannot ask its reader's browser.
double svg_text_width(std::string_view words);

class SvgPicture {
 public:
  /// An empty picture is not shown. `title` names it for readers who do not see it.
  SvgPicture() = default;
  SvgPicture(double width, double height, std::string title)
      : width_(width), height_(height), title_(std::move(title)) {}

  bool empty() const { return pieces_.empty(); }
  double width() const { return width_; }
  double height() const { return height_; }

  /// `hover`: what a browser shows under the mouse; empty = nothing.
  void box(const SvgBox& box, const SvgPaint& paint, std::string hover = {}, double round = 0.0);
  void line(SvgPoint from, SvgPoint to, const SvgPaint& paint);
  /// From point to point; closed: back to the first.
  void polyline(std::span<const SvgPoint> points, const SvgPaint& paint, bool closed = false);
  void dot(SvgPoint centre, double radius, const SvgPaint& paint, std::string hover = {});
  /// `at`: on the baseline.
  void text(SvgPoint at, std::string_view words, const SvgWords& how = {});
  /// A line from the first point to the second with a head there.
  void arrow(SvgPoint from, SvgPoint to, const SvgPaint& paint);
  /// A PNG, one pixel per value, enlarged without smoothing.
  void image(const SvgBox& box, std::span<const std::byte> png);

  /// `text` escapes what is between the pieces of markup.
  std::string markup(const std::function<std::string(std::string_view)>& text) const;
  /// Bytes of the markup, about.
  std::size_t size() const;

 private:
  struct Piece {
    std::string markup;
    std::string words;  // after the markup
  };
  void shape(std::string element, const char* name, std::string hover);

  double width_ = 0.0;
  double height_ = 0.0;
  std::string title_;
  std::vector<Piece> pieces_;
};

}  // namespace app
