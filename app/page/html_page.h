// A self-contained HTML document: no script, nothing loaded from elsewhere. A content security
// policy in its head says so to the browser. All text is escaped here.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace app {

/// The largest page that is made; what would exceed it is left out, and the page says so.
inline constexpr std::size_t kMaxPageBytes = 5 * 1000 * 1000;

class HtmlPage {
 public:
  using Row = std::vector<std::string>;

  /// Without `with_paths`, folders of absolute paths, this machine's name and its user's are
  /// replaced by "…" in every text: a page is made to be passed on.
  HtmlPage(std::string_view title, bool with_paths);

  void heading(int level, std::string_view text);  // 1 to 4
  void paragraph(std::string_view text);
  void code(std::string_view text);
  void list(std::span<const std::string> items);
  /// The first column is left-aligned, the others are figures.
  void table(const Row& header, const std::vector<Row>& rows);
  /// Folded until it is clicked.
  void details(std::string_view summary, const std::function<void()>& content);
  /// An SVG element made by svg_chart.h.
  void chart(const std::string& svg, std::string_view caption);
  /// A PNG; false if the page has no room left for it.
  bool picture(std::span<const std::byte> png, std::string_view caption);

  /// Whether this many more bytes fit.
  bool has_room(std::size_t bytes) const { return body_.size() + bytes < kMaxPageBytes; }

  /// Escaped, valid UTF-8 without control characters, private words left out.
  std::string text(std::string_view words) const;
  std::string finish() const;

 private:
  std::string public_text(std::string_view words) const;
  std::string without_private_words(std::string_view words) const;
  /// Nothing if the page has no room for it; room for the ends of what is open is kept.
  void append(std::string_view markup);

  std::string title_;
  bool with_paths_;
  std::vector<std::string> private_words_;
  std::string body_;
  std::size_t left_out_ = 0;  // pieces without room
};

}  // namespace app
