// Where the marks of a picture lie, read from its markup: what is outside of it is cut off.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <regex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/page/svg_picture.h"

namespace app {

/// Its texts as they are.
inline std::string markup_of(const SvgPicture& picture) {
  return picture.markup([](std::string_view words) { return std::string(words); });
}

struct SvgMark {
  std::string element;
  std::string words;  // of a text
  double left = 0.0;
  double top = 0.0;
  double right = 0.0;
  double bottom = 0.0;
};

inline double number_of(const std::string& attributes, const std::string& name) {
  std::smatch found;
  const std::regex wanted(" " + name + "=\"([^\"]*)\"");
  return std::regex_search(attributes, found, wanted) ? std::stod(found[1].str()) : 0.0;
}

/// As a browser shows it.
inline std::string unescaped(std::string words) {
  for (const auto& [escaped, shown] :
       {std::pair("&lt;", "<"), std::pair("&gt;", ">"), std::pair("&quot;", "\""),
        std::pair("&#39;", "'"), std::pair("&amp;", "&")}) {
    const std::string_view all(escaped);
    for (auto at = words.find(all); at != std::string::npos; at = words.find(all, at + 1)) {
      words.replace(at, all.size(), shown);
    }
  }
  return words;
}

inline std::vector<SvgMark> marks_of(const std::string& svg) {
  static const std::regex kElement(
      "<(rect|line|polyline|polygon|circle|text|image)([^>]*)>([^<]*)");
  std::vector<SvgMark> marks;
  for (std::sregex_iterator at(svg.begin(), svg.end(), kElement); at != std::sregex_iterator();
       ++at) {
    const std::string with = (*at)[2].str();
    SvgMark mark{.element = (*at)[1].str(), .words = (*at)[3].str()};
    const auto spans = [&mark](double left, double top, double right, double bottom) {
      mark.left = std::min(left, right);
      mark.top = std::min(top, bottom);
      mark.right = std::max(left, right);
      mark.bottom = std::max(top, bottom);
    };
    const double x = number_of(with, "x");
    const double y = number_of(with, "y");
    if (mark.element == "rect" || mark.element == "image") {
      spans(x, y, x + number_of(with, "width"), y + number_of(with, "height"));
    } else if (mark.element == "line") {
      spans(number_of(with, "x1"), number_of(with, "y1"), number_of(with, "x2"),
            number_of(with, "y2"));
    } else if (mark.element == "circle") {
      const double r = number_of(with, "r");
      const double cx = number_of(with, "cx");
      const double cy = number_of(with, "cy");
      spans(cx - r, cy - r, cx + r, cy + r);
    } else if (mark.element == "text") {
      const double width = svg_text_width(unescaped(mark.words));
      const double left = with.find("\"end\"") != std::string::npos      ? x - width
                          : with.find("\"middle\"") != std::string::npos ? x - width / 2
                                                                         : x;
      spans(left, y - kSvgTextSize, left + width, y + 3.0);
    } else {
      std::smatch points;
      std::regex_search(with, points, std::regex("points=\"([^\"]*)\""));
      const std::string list = points[1].str();
      static const std::regex kPoint("([-0-9.einfa+]+),([-0-9.einfa+]+)");
      mark.left = mark.top = 1e300;
      mark.right = mark.bottom = -1e300;
      for (std::sregex_iterator one(list.begin(), list.end(), kPoint);
           one != std::sregex_iterator(); ++one) {
        mark.left = std::min(mark.left, std::stod((*one)[1].str()));
        mark.right = std::max(mark.right, std::stod((*one)[1].str()));
        mark.top = std::min(mark.top, std::stod((*one)[2].str()));
        mark.bottom = std::max(mark.bottom, std::stod((*one)[2].str()));
      }
    }
    marks.push_back(mark);
  }
  return marks;
}

/// The first mark that is not within the view box; empty = there is none.
inline std::string outside_of(const std::string& svg) {
  std::smatch box;
  if (!std::regex_search(svg, box, std::regex("viewBox=\"0 0 ([0-9]+) ([0-9]+)\""))) return "";
  const double width = std::stod(box[1].str());
  const double height = std::stod(box[2].str());
  for (const SvgMark& one : marks_of(svg)) {
    if (one.left >= -0.5 && one.top >= -0.5 && one.right <= width + 0.5 &&
        one.bottom <= height + 0.5) {
      continue;
    }
    return fmt::format("{} \"{}\" [{}, {}] x [{}, {}]", one.element, one.words, one.left, one.right,
                       one.top, one.bottom);
  }
  return "";
}

}  // namespace app
