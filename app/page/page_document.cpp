// How a page shows the parts of a document.
#include <fmt/format.h>

#include <utility>
#include <variant>

#include "app/page/html_page.h"
#include "app/page/svg_chart.h"
#include "engine/model/counted.h"

namespace app {
namespace {

class PageWriter {
 public:
  PageWriter(HtmlPage& page, int deeper, const std::function<void()>& pictures)
      : page_(page), deeper_(deeper), pictures_(pictures) {}

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
    page_.picture(chart_picture(chart), chart.title, chart.note);
  }
  void operator()(const profiling::Table& table) {
    end_facts();
    page_.table(table);
  }
  void end_facts() {
    if (facts_.empty()) return;
    page_.facts(facts_);
    facts_.clear();
    if (pictures_) std::exchange(pictures_, {})();
  }

 private:
  HtmlPage& page_;
  int deeper_;
  std::function<void()> pictures_;  // still to be written
  std::vector<HtmlPage::Row> facts_;
};

}  // namespace

void HtmlPage::table(const profiling::Table& table, std::span<const std::string> anchors) {
  profiling::ShownTable rows = profiling::shown_table(table, kMaxPageRows);
  if (rows.rows.empty() || rows.columns.empty()) return;
  const std::size_t count = rows.rows.size() + rows.left_out;
  const auto write = [&] {
    std::vector<PageColumn> columns;
    for (const profiling::Column* column : rows.columns) {
      columns.push_back(
          {.heading = column->heading(), .meaning = column->tooltip, .words = !column->numeric()});
    }
    this->table(columns, rows.rows, anchors);
    if (rows.left_out > 0) paragraph(fmt::format("{} more rows", rows.left_out));
    paragraph(table.note);
  };
  // Links must be in view.
  const bool folded = table.folded || (count > kOpenPageRows && anchors.empty());
  if (folded) {
    std::string title = table.title.empty() ? "Table" : table.title;
    if (title.ends_with(':')) title.pop_back();
    details(fmt::format("{} ({})", title,
                        rows.left_out == 0 ? engine::counted(count, "row")
                                           : fmt::format("{} of {} rows", rows.rows.size(), count)),
            write);
    return;
  }
  paragraph(table.title);
  write();
}

void HtmlPage::document(const profiling::Document& document, int deeper,
                        const std::function<void()>& pictures) {
  PageWriter writer(*this, deeper, pictures);
  for (const profiling::Block& block : document.blocks()) std::visit(writer, block);
  writer.end_facts();
}

}  // namespace app
