#include "app/page/svg_picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "app/page/base64.h"

namespace app {
namespace {

std::string paint_text(const SvgPaint& paint) {
  std::string text = fmt::format(R"( fill="{}")", paint.fill.css);
  if (paint.opacity < 1.0) text += fmt::format(R"( fill-opacity="{:.2f}")", paint.opacity);
  if (paint.stroke.css != "none") {
    text += fmt::format(R"( stroke="{}")", paint.stroke.css);
    if (paint.width != 1.0) text += fmt::format(R"( stroke-width="{:g}")", paint.width);
    if (paint.dashes[0] != '\0') text += fmt::format(R"( stroke-dasharray="{}")", paint.dashes);
  }
  return text;
}

/// Of one character at kSvgTextSize, in a wide font: the widest of the common ones is DejaVu Sans.
double character_width(unsigned char c) {
  constexpr std::string_view kNarrow = "ijlI.,:;'|!()[]{} /\\-";
  constexpr std::string_view kMiddle = "frt\"_`?";
  constexpr std::string_view kWide = "mwW%@#+=<>^~&";
  const auto among = [c](std::string_view set) {
    return set.find(static_cast<char>(c)) != std::string_view::npos;
  };
  if ((c & 0xC0U) == 0x80U) return 0.0;  // a later byte of a character
  if (c >= 0xE0U) return 11.0;
  if (c >= 0x80U) return 8.0;  // Latin and Greek letters
  if (among(kNarrow)) return 4.4;
  if (among(kMiddle)) return 5.6;
  if (among(kWide)) return 11.0;
  if (c == 'M') return 9.6;
  return c >= 'A' && c <= 'Z' ? 8.6 : 7.1;
}

/// Cut at the end of a character.
std::string fitted(std::string_view words, double room) {
  if (room <= 0.0 || svg_text_width(words) <= room) return std::string(words);
  constexpr double kEllipsis = 11.0;
  double used = kEllipsis;
  std::size_t end = 0;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto c = static_cast<unsigned char>(words[i]);
    if ((c & 0xC0U) != 0x80U) end = i;
    used += character_width(c);
    if (used > room) return end == 0 ? std::string() : std::string(words.substr(0, end)) + "…";
  }
  return std::string(words);
}

}  // namespace

SvgColor::SvgColor(plot::Rgb fixed) : css(fmt::format("#{:06x}", fixed)) {}

SvgColor svg_stage_color(engine::Stage stage) {
  const std::optional<plot::Rgb> color = plot::stage_color(stage);
  return color ? SvgColor(*color) : SvgColor(kSvgDim);
}

double svg_text_width(std::string_view words) {
  double width = 0.0;
  for (const char c : words) width += character_width(static_cast<unsigned char>(c));
  return width;
}

void SvgPicture::shape(std::string element, const char* name, std::string hover) {
  if (hover.empty()) {
    pieces_.push_back({.markup = std::move(element) + "/>", .words = {}});
    return;
  }
  pieces_.push_back({.markup = std::move(element) + "><title>", .words = std::move(hover)});
  pieces_.push_back({.markup = fmt::format("</title></{}>", name), .words = {}});
}

void SvgPicture::box(const SvgBox& box, const SvgPaint& paint, std::string hover, double round) {
  const std::string corner = round > 0.0 ? fmt::format(R"( rx="{:g}")", round) : std::string();
  shape(fmt::format(R"(<rect x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}"{}{})", box.x,
                    box.y, box.width, box.height, corner, paint_text(paint)),
        "rect", std::move(hover));
}

void SvgPicture::line(SvgPoint from, SvgPoint to, const SvgPaint& paint) {
  shape(fmt::format(R"(<line x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}"{})", from.x, from.y,
                    to.x, to.y, paint_text(paint)),
        "line", {});
}

void SvgPicture::polyline(std::span<const SvgPoint> points, const SvgPaint& paint, bool closed) {
  std::string list;
  for (const SvgPoint& one : points) list += fmt::format("{:.1f},{:.1f} ", one.x, one.y);
  if (list.empty()) return;
  list.pop_back();
  shape(
      fmt::format(R"(<{} points="{}"{})", closed ? "polygon" : "polyline", list, paint_text(paint)),
      "polyline", {});
}

void SvgPicture::dot(SvgPoint centre, double radius, const SvgPaint& paint, std::string hover) {
  shape(fmt::format(R"(<circle cx="{:.1f}" cy="{:.1f}" r="{:g}"{})", centre.x, centre.y, radius,
                    paint_text(paint)),
        "circle", std::move(hover));
}

void SvgPicture::text(SvgPoint at, std::string_view words, const SvgWords& how) {
  std::string shown = fitted(words, how.room);
  if (shown.empty()) return;
  constexpr const char* kAnchors[] = {"", R"( text-anchor="middle")", R"( text-anchor="end")"};
  pieces_.push_back(
      {.markup = fmt::format(
           R"(<text x="{:.1f}" y="{:.1f}"{}{}{}>)", at.x, at.y,
           kAnchors[static_cast<std::size_t>(how.anchor)],
           how.color.css == kSvgText ? std::string() : fmt::format(R"( fill="{}")", how.color.css),
           how.strong ? R"( font-weight="600")" : ""),
       .words = std::move(shown)});
  pieces_.push_back({.markup = "</text>", .words = {}});
}

void SvgPicture::arrow(SvgPoint from, SvgPoint to, const SvgPaint& paint) {
  constexpr double kHead = 6.0;
  const double length = std::max(std::hypot(to.x - from.x, to.y - from.y), 1e-3);
  const SvgPoint along{(to.x - from.x) / length, (to.y - from.y) / length};
  const SvgPoint back{to.x - kHead * along.x, to.y - kHead * along.y};
  line(from, back, paint);
  const SvgPoint side{-0.5 * kHead * along.y, 0.5 * kHead * along.x};
  const std::vector<SvgPoint> head = {
      to, {back.x + side.x, back.y + side.y}, {back.x - side.x, back.y - side.y}};
  polyline(head, {.fill = paint.stroke}, /*closed=*/true);
}

void SvgPicture::image(const SvgBox& box, std::span<const std::byte> png) {
  pieces_.push_back(
      {.markup = fmt::format(R"(<image x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}" )"
                             R"(preserveAspectRatio="none" image-rendering="pixelated" )"
                             R"(href="data:image/png;base64,{}"/>)",
                             box.x, box.y, box.width, box.height, base64(png)),
       .words = {}});
}

std::size_t SvgPicture::size() const {
  std::size_t bytes = 256;
  for (const Piece& piece : pieces_) bytes += piece.markup.size() + piece.words.size();
  return bytes;
}

std::string SvgPicture::markup(const std::function<std::string(std::string_view)>& text) const {
  if (empty()) return {};
  std::string made = fmt::format(
      R"(<svg viewBox="0 0 {0:.0f} {1:.0f}" width="{0:.0f}" height="{1:.0f}" role="img" )"
      R"(aria-label="{2}">)",
      width_, height_, text(title_));
  for (const Piece& piece : pieces_) {
    made += piece.markup;
    if (!piece.words.empty()) made += text(piece.words);
  }
  return made + "</svg>";
}

}  // namespace app
