#include "profiling/document/markdown.h"

#include <fmt/format.h>

#include <algorithm>

#include "profiling/document/quantity.h"

namespace profiling {
namespace {

std::string one_line(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  std::ranges::replace(text, '|', '/');
  return text;
}

class MarkdownRenderer {
 public:
  explicit MarkdownRenderer(std::size_t most_rows) : most_rows_(most_rows) {}

  void operator()(const Fact& fact) {
    if (!in_facts_) text_ += "| | |\n|---|---|\n";
    in_facts_ = true;
    text_ += fmt::format("| {} | {} |\n", one_line(fact.label), one_line(fact.text));
  }
  void operator()(const Heading& heading) {
    part("{} {}\n", std::string(static_cast<std::size_t>(heading.level), '#'), heading.text);
  }
  void operator()(const Paragraph& paragraph) { part("{}\n", paragraph.text); }
  void operator()(const ListOfItems& list) {
    end_facts();
    for (const std::string& item : list.items) text_ += fmt::format("- {}\n", item);
    text_ += '\n';
  }
  void operator()(const Code& code) {
    if (!code.heading.empty()) part("{}:\n", code.heading);
    part("```{}\n{}\n```\n", code.language, code.text);
  }
  void operator()(const Chart&) {}
  void operator()(const Table& table) {
    const ShownTable rows = shown_table(table, most_rows_);
    if (rows.rows.empty() || rows.columns.empty()) return;
    if (!table.title.empty()) part("{}\n", table.title);
    end_facts();
    std::string rule = "|";
    text_ += '|';
    for (const Column* column : rows.columns) {
      text_ += fmt::format(" {} |", one_line(column->heading()));
      rule += column->numeric() ? "---:|" : "---|";
    }
    text_ += '\n' + rule + '\n';
    for (const auto& row : rows.rows) {
      text_ += '|';
      for (const std::string& cell : row) text_ += fmt::format(" {} |", one_line(cell));
      text_ += '\n';
    }
    text_ += '\n';
    if (rows.left_out > 0) part("{} more.\n", count_text(rows.left_out));
    if (!table.note.empty()) part("{}\n", table.note);
  }

  std::string take() {
    end_facts();
    while (text_.ends_with("\n\n")) text_.pop_back();
    return std::move(text_);
  }

 private:
  void end_facts() {
    if (in_facts_) text_ += '\n';
    in_facts_ = false;
  }
  template <class... Values>
  void part(fmt::format_string<Values...> format, Values&&... values) {
    end_facts();
    text_ += fmt::format(format, std::forward<Values>(values)...) + '\n';
  }

  std::size_t most_rows_;
  std::string text_;
  bool in_facts_ = false;
};

}  // namespace

std::string markdown_of(const Document& document, std::size_t most_rows) {
  MarkdownRenderer renderer(most_rows);
  for (const Block& block : document.blocks()) std::visit(renderer, block);
  return renderer.take();
}

}  // namespace profiling
