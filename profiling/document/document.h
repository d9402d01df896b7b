// A document: what there is to say about a result, once, in the order in which it is read. A
// terminal (text.h), Markdown (markdown.h) and the shared page (app/page) render it.
#pragma once

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "profiling/document/table.h"

namespace profiling {

/// "device      NVIDIA H200": lines that follow each other are aligned.
struct Fact {
  std::string label;  // empty: continues the fact before it
  std::string text;
};

struct Heading {
  int level = 2;  // 1 to 4
  std::string text;
};

struct Paragraph {
  std::string text;
};

struct ListOfItems {
  std::vector<std::string> items;
};

/// To be copied.
struct Code {
  std::string heading;   // "PyTorch"; empty = none
  std::string language;  // "python"
  std::string text;
};

/// A picture of numbers; a terminal leaves it out.
struct Chart {
  enum class Kind { Bars, Line, Magnitudes };
  Kind kind = Kind::Bars;
  std::string title{};                // "Time of fprop per expert"
  std::string note{};                 // below it
  std::string item{};                 // what x is: "expert"
  std::string quantity{};             // what y is, without its unit: "time"
  Measure measure = Measure::Number;  // of the values
  std::size_t first_item = 0;         // number of the first value
  std::vector<double> values{};       // Magnitudes: counts before quantization
  std::vector<bool> marked{};         // Line: values that stand out
  // Of Magnitudes, whose bins are those of engine::MagnitudeHistogram:
  std::vector<double> after{};  // counts after quantization
  int first_bin = 0;            // of values[0]
  int first_after = 0;          // of after[0]
};

using Block = std::variant<Fact, Heading, Paragraph, ListOfItems, Code, Chart, Table>;

class Document {
 public:
  void fact(std::string label, std::string text) {
    blocks_.push_back(Fact{.label = std::move(label), .text = std::move(text)});
  }
  void heading(int level, std::string text) {
    blocks_.push_back(Heading{.level = level, .text = std::move(text)});
  }
  /// Nothing if the text is empty.
  void paragraph(std::string text) {
    if (!text.empty()) blocks_.push_back(Paragraph{std::move(text)});
  }
  void list(std::vector<std::string> items) {
    if (!items.empty()) blocks_.push_back(ListOfItems{std::move(items)});
  }
  void code(Code code) {
    if (!code.text.empty()) blocks_.push_back(std::move(code));
  }
  void chart(Chart chart) { blocks_.push_back(std::move(chart)); }
  void table(Table table) { blocks_.push_back(std::move(table)); }
  void append(Document other) {
    for (Block& block : other.blocks_) blocks_.push_back(std::move(block));
  }

  const std::vector<Block>& blocks() const { return blocks_; }

 private:
  std::vector<Block> blocks_;
};

/// Indices of the columns that people see of these rows: those that have a value in one of them,
/// and all where there is none.
std::vector<std::size_t> shown_columns(const Table& table, const std::vector<Row>& rows);
/// Of all its rows.
std::vector<std::size_t> shown_columns(const Table& table);

/// What a table shows to people: the columns that have a value in one of the rows shown, and the
/// text of each cell. `most_rows` are kept; `left_out` counts the others.
struct ShownTable {
  std::vector<const Column*> columns;
  std::vector<std::vector<std::string>> rows;
  std::size_t left_out = 0;
};
ShownTable shown_table(const Table& table, std::size_t most_rows);

}  // namespace profiling
