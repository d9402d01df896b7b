// How a page shows the parts of a document.
#include <fmt/format.h>

#include <utility>
#include <variant>

#include "app/page/html_page.h"
#include "app/page/svg_chart.h"

namespace app {
namespace {

constexpr int kPerOctave = 4;          // bins of a histogram of magnitudes
constexpr int kExponentOfBin0 = -127;  // bin 0 is that of 2^-127

std::string svg_of(const profiling::Chart& chart) {
  switch (chart.kind) {
    case profiling::Chart::Kind::Bars:
      return bar_chart(chart.values, chart.unit.c_str());
    case profiling::Chart::Kind::Line:
      return line_chart(chart.values, chart.unit.c_str(), chart.marked);
    case profiling::Chart::Kind::Magnitudes:
      break;
  }
  constexpr int kFirst = kPerOctave * kExponentOfBin0;
  return histogram_chart({.first = chart.first_bin + kFirst, .counts = chart.values},
                         {.first = chart.first_after + kFirst, .counts = chart.after}, kPerOctave);
}

class PageWriter {
 public:
  PageWriter(HtmlPage& page, int deeper) : page_(page), deeper_(deeper) {}

  void operator()(const profiling::Fact& fact) { facts_.push_back({fact.label, fact.text}); }
  void operator()(const profiling::Heading& heading) {
    end_facts();
    page_.heading(heading.level + deeper_, heading.text);
  }
  void operator()(const profiling::Paragraph& paragraph) {
    end_facts();
    page_.paragraph(paragraph.text);
  }
  void operator()(const profiling::ListOfItems& list) {
    end_facts();
    page_.list(list.items);
  }
  void operator()(const profiling::Code& code) {
    end_facts();
    if (!code.heading.empty()) page_.heading(4, code.heading);
    page_.code(code.text);
  }
  void operator()(const profiling::Chart& chart) {
    end_facts();
    page_.chart(svg_of(chart), chart.caption);
  }
  void operator()(const profiling::Table& table) {
    end_facts();
    page_.table(table);
  }
  void end_facts() {
    page_.facts(facts_);
    facts_.clear();
  }

 private:
  HtmlPage& page_;
  int deeper_;
  std::vector<HtmlPage::Row> facts_;
};

}  // namespace

void HtmlPage::table(const profiling::Table& table) {
  profiling::ShownTable rows = profiling::shown_table(table, kMaxPageRows);
  if (rows.rows.empty() || rows.columns.empty()) return;
  const auto write = [&] {
    Row header;
    for (const profiling::Column* column : rows.columns) header.push_back(column->heading());
    this->table(header, rows.rows);
    if (rows.left_out > 0) paragraph(fmt::format("{} more rows", rows.left_out));
    paragraph(table.note);
  };
  if (table.folded) {
    details(fmt::format("{} ({} of {})", table.title, rows.rows.size(),
                        rows.rows.size() + rows.left_out),
            write);
    return;
  }
  paragraph(table.title);
  write();
}

void HtmlPage::document(const profiling::Document& document, int deeper) {
  PageWriter writer(*this, deeper);
  for (const profiling::Block& block : document.blocks()) std::visit(writer, block);
  writer.end_facts();
}

}  // namespace app
