// A self-contained HTML document: no script, nothing loaded from elsewhere. A content security
// policy in its head says so to the browser. All text is escaped here.
#pragma once

#include <bitset>
#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/page/svg_picture.h"
#include "profiling/document/document.h"

namespace app {

/// The largest page that is made; what would exceed it is left out, and the page says so.
inline constexpr std::size_t kMaxPageBytes = 5 * 1000 * 1000;

/// Rows of a table that are shown, and above which it is folded.
inline constexpr std::size_t kMaxPageRows = 64;
inline constexpr std::size_t kOpenPageRows = 20;

/// Something that is known to be private, because it comes from a field that says so.
struct PrivateValue {
  std::string value;
  std::string shown;        // in its place
  bool whole_word = false;  // only where no letter, digit or '_' is beside it
};

/// The names of this machine and of its user, unless they are ordinary words.
std::vector<PrivateValue> private_names();

class HtmlPage {
 public:
  using Row = std::vector<std::string>;

  /// A page is made to be passed on: wherever one of the private values occurs in a sentence, its
  /// placeholder is shown instead. Nothing is guessed from the look of a text.
  HtmlPage(std::string_view title, std::vector<PrivateValue> private_values);

  /// Level 1 to 4; `anchor`: what contents() points to.
  void heading(int level, std::string_view text, std::string_view anchor = {});
  void paragraph(std::string_view text);
  /// In a frame, before what it is about.
  void warning(std::string_view text);
  /// To be copied: nothing in it is replaced.
  void code(std::string_view text);
  void list(std::span<const std::string> items);
  /// Links to headings of this page.
  struct Link {
    std::string anchor;
    std::string title;
  };
  void contents(std::span<const Link> links);
  /// Labels and their texts, one below the other.
  void facts(const std::vector<Row>& facts);
  struct PageColumn {
    std::string heading{};
    std::string meaning{};  // in a sentence that a pointer over the heading shows
    bool words = false;     // on the left, and may be broken into lines; numbers are not
  };
  /// `anchors`: where the first cell of each row leads to; fewer than rows, or empty, for no link.
  void table(const std::vector<PageColumn>& columns, const std::vector<Row>& rows,
             std::span<const std::string> anchors = {});
  /// With its title before it and its note behind; a long or folded one is in details(). At most
  /// kMaxPageRows rows: charts have all.
  void table(const profiling::Table& table, std::span<const std::string> anchors = {});
  /// All that there is to say; `deeper`: added to the levels of its headings.
  /// `pictures`: writes what belongs after the first facts.
  void document(const profiling::Document& document, int deeper = 0,
                const std::function<void()>& pictures = {});
  /// Folded until it is clicked.
  void details(std::string_view summary, const std::function<void()>& content);
  /// With its title above and a note below; nothing if it is empty.
  void picture(const SvgPicture& picture, std::string_view title, std::string_view note);
  /// A PNG; false if the page has no room left for it.
  bool picture(std::span<const std::byte> png, std::string_view caption);

  /// Whether this many more bytes fit.
  bool has_room(std::size_t bytes) const { return body_.size() + bytes < kMaxPageBytes; }

  /// Escaped, valid UTF-8 without control characters, private values left out.
  std::string text(std::string_view words) const;
  std::string finish() const;

 private:
  /// To a heading of this page.
  std::string link(std::string_view anchor, const std::string& escaped_words) const;
  std::string public_text(std::string_view words) const;
  static std::string escaped(std::string_view words);
  /// Nothing if the page has no room for it; room for the ends of what is open is kept.
  void append(std::string_view markup);

  std::string title_;
  std::vector<PrivateValue> private_values_;  // the longest first
  std::bitset<256> first_bytes_;              // of any of them
  std::string body_;
  std::size_t left_out_ = 0;  // pieces without room
};

}  // namespace app
