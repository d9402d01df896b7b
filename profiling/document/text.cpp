#include "profiling/document/text.h"

#include <fmt/format.h>

#include <algorithm>

#include "profiling/document/quantity.h"

namespace profiling {
namespace {

constexpr std::size_t kLabel = 12;  // columns of a fact's label
constexpr std::string_view kGap = "  ";

void pad(std::string& line, std::string_view text, std::size_t width, bool right) {
  const std::string blanks(width - std::min(width, columns_of(text)), ' ');
  right ? (line += blanks).append(text) : line.append(text) += blanks;
}

class TextRenderer {
 public:
  explicit TextRenderer(const TextLayout& layout) : layout_(layout) {}

  void operator()(const Fact& fact) {
    if (!in_facts_) separate();
    in_facts_ = true;
    std::string lines = wrapped(fact.text, kLabel, layout_.width);
    std::string label;
    pad(label, fact.label, kLabel, false);
    // A longer label would run into its text.
    if (!label.ends_with(' ')) label += ' ';
    text_ += lines.replace(0, kLabel, label);
  }
  void operator()(const Heading& heading) { paragraph(heading.text); }
  void operator()(const Paragraph& one) { paragraph(one.text); }
  void operator()(const ListOfItems& list) {
    separate();
    for (const std::string& item : list.items) {
      std::string lines = wrapped(item, 2, layout_.width);
      lines.front() = '-';
      text_ += lines;
    }
  }
  void operator()(const Code& code) {
    if (!code.heading.empty()) paragraph(code.heading + ":");
    for (std::size_t start = 0; start < code.text.size();) {
      const std::size_t end = std::min(code.text.find('\n', start), code.text.size());
      text_ += fmt::format("  {}\n", std::string_view(code.text).substr(start, end - start));
      start = end + 1;
    }
  }
  void operator()(const Chart&) {}
  void operator()(const Table& table) {
    if (table.folded) return;
    const std::string rows = text_of(table, layout_);
    if (rows.empty()) return;
    if (!table.title.empty()) {
      paragraph(table.title);
    } else {
      separate();
    }
    text_ += rows;
    if (!table.note.empty()) text_ += wrapped(table.note, 0, layout_.width);
  }

  std::string take() { return std::move(text_); }

 private:
  void separate() {
    if (!text_.empty()) text_ += '\n';
    in_facts_ = false;
  }
  void paragraph(const std::string& words) {
    separate();
    text_ += wrapped(words, 0, layout_.width);
  }

  const TextLayout& layout_;
  std::string text_;
  bool in_facts_ = false;
};

}  // namespace

std::size_t columns_of(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

std::string wrapped(std::string_view text, std::size_t indent, std::size_t width) {
  const std::string blanks(indent, ' ');
  std::string out;
  for (std::size_t start = 0; start <= text.size();) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    std::string_view line = text.substr(start, end - start);
    while (width > indent && columns_of(line) + indent > width) {
      std::size_t space = line.rfind(' ', width - indent);
      if (space == std::string_view::npos || space == 0) space = line.find(' ', 1);
      if (space == std::string_view::npos) break;
      out.append(blanks).append(line.substr(0, space)) += '\n';
      line.remove_prefix(space + 1);
    }
    out.append(blanks).append(line) += '\n';
    start = end + 1;
  }
  return out;
}

std::string text_of(const Table& table, const TextLayout& layout) {
  const ShownTable rows = shown_table(table, layout.most_rows);
  if (rows.rows.empty() || rows.columns.empty()) return {};
  std::vector<std::size_t> widths;
  std::vector<std::size_t> chosen;
  std::size_t sum = 0;
  for (std::size_t i = 0; i < rows.columns.size(); ++i) {
    std::size_t width = columns_of(rows.columns[i]->heading());
    for (const auto& row : rows.rows) width = std::max(width, columns_of(row[i]));
    widths.push_back(width);
    chosen.push_back(i);
    sum += width + (i == 0 ? 0 : kGap.size());
  }
  // What matters least is on the right.
  for (std::size_t i = rows.columns.size();
       i-- > 0 && layout.columns > 0 && sum > layout.columns;) {
    if (!rows.columns[i]->optional()) continue;
    std::erase(chosen, i);
    sum -= widths[i] + kGap.size();
  }
  std::string text;
  const auto line = [&](const auto& text_in) {
    std::string made;
    for (const std::size_t i : chosen) {
      if (!made.empty()) made += kGap;
      pad(made, text_in(i), widths[i], rows.columns[i]->numeric());
    }
    made.erase(made.find_last_not_of(' ') + 1);
    text += made + '\n';
  };
  line([&](std::size_t i) -> const std::string& { return rows.columns[i]->heading(); });
  for (const auto& row : rows.rows) {
    line([&](std::size_t i) -> const std::string& { return row[i]; });
  }
  if (rows.left_out > 0) {
    text += fmt::format("{} more{}{}\n", count_text(rows.left_out), layout.rest.empty() ? "" : "; ",
                        layout.rest);
  }
  return text;
}

std::string text_of(const Document& document, const TextLayout& layout) {
  TextRenderer renderer(layout);
  for (const Block& block : document.blocks()) std::visit(renderer, block);
  return renderer.take();
}

}  // namespace profiling
