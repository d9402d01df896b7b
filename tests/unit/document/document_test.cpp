// One document as text and as Markdown, one table as text, Markdown and CSV.
#include "profiling/document/document.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>

#include "profiling/document/columns.h"
#include "profiling/document/markdown.h"
#include "profiling/document/text.h"
#include "profiling/export/csv.h"

namespace profiling {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Table sample_table() {
  Cell snr(20.5);
  snr.left_out = 3;
  return table_of(
      "kernels",
      {column("name", Measure::Words, "kernel"), for_files("stage"),
       column("median_ns", Measure::Time, "median"), column("snr_db", Measure::Decibels, "SNR"),
       column("share", Measure::Share, {}, "", ColumnUse::WideViews),
       column("absent", Measure::Count), for_people("tokens", Measure::Count)},
      {{.cells = {"a, \"b\"", "fprop", 1500.0, snr, 0.25, Cell(), 1234567}},
       {.cells = {"µ", "fprop", 12.0, kInfinity, 0.75, Cell(), -3}}});
}

TEST(Table, PeopleSeeUnitsAndWhatIsLeftOut) {
  const std::string text = text_of(sample_table());
  EXPECT_THAT(text, HasSubstr("1.500 µs  20.50 dB (3 left out)  25.0 %  1 234 567\n"));
  EXPECT_THAT(text, Not(HasSubstr("absent"))) << "no row has a value";
  EXPECT_THAT(text, Not(HasSubstr("stage"))) << "only for files";
}

TEST(Table, FilesHaveEveryDigitAndNoWords) {
  EXPECT_EQ(csv_text(sample_table()),
            "name,stage,median_ns,snr_db,share,absent\r\n"
            "\"a, \"\"b\"\"\",fprop,1500,20.5,0.25,\r\n"
            "µ,fprop,12,inf,0.75,\r\n");
}

TEST(Table, ANarrowTerminalLeavesOutOptionalColumns) {
  const std::string narrow = text_of(sample_table(), {.columns = 50});
  EXPECT_THAT(narrow, Not(HasSubstr("share")));
  EXPECT_THAT(narrow, HasSubstr("1 234 567"));
  EXPECT_THAT(text_of(sample_table(), {.columns = 200}), HasSubstr("share"));
}

TEST(Table, ColumnsLineUpWhateverTheBytes) {
  const std::string text = text_of(sample_table());
  std::size_t first = text.find('\n') + 1;
  const std::string one = text.substr(first, text.find('\n', first) - first);
  first += one.size() + 1;
  const std::string two = text.substr(first, text.find('\n', first) - first);
  const auto letters = [](const std::string& line) {
    return std::ranges::count_if(line, [](char c) { return (c & 0xC0) != 0x80; });
  };
  EXPECT_EQ(letters(one), letters(two));
}

TEST(Table, SaysHowManyRowsItLeavesOut) {
  EXPECT_THAT(text_of(sample_table(), {.most_rows = 1, .rest = "see the file"}),
              HasSubstr("\n1 more; see the file\n"));
}

Document sample_document() {
  Document document;
  document.heading(2, "A heading");
  document.fact("device", "NVIDIA | H200");
  document.fact("", "and more");
  document.paragraph("");
  document.paragraph("Words that are longer than a line.");
  document.list({"one", "two"});
  document.code({.heading = "PyTorch", .language = "python", .text = "a = 1\nb = 2"});
  Table table = sample_table();
  table.title = "Kernels:";
  table.note = "As measured.";
  document.table(table);
  return document;
}

TEST(Document, AsText) {
  const std::string text = text_of(sample_document(), {.width = 20});
  EXPECT_THAT(
      text,
      HasSubstr("A heading\n\ndevice      NVIDIA |\n            H200\n            and more\n"));
  EXPECT_THAT(text, HasSubstr("\nWords that are\nlonger than a line.\n"));
  EXPECT_THAT(text, HasSubstr("\n- one\n- two\n"));
  EXPECT_THAT(text, HasSubstr("\nPyTorch:\n  a = 1\n  b = 2\n"));
  EXPECT_THAT(text, HasSubstr("\nKernels:\nkernel "));
  EXPECT_THAT(text, HasSubstr("\nAs measured.\n"));
  EXPECT_THAT(text, Not(HasSubstr("a chart")));
}

TEST(Document, AFoldedTableIsNotForATerminal) {
  Document document;
  Table table = sample_table();
  table.folded = true;
  document.table(table);
  EXPECT_EQ(text_of(document), "");
  EXPECT_THAT(markdown_of(document), HasSubstr("| kernel |"));
}

TEST(Document, AsMarkdown) {
  const std::string text = markdown_of(sample_document());
  EXPECT_THAT(
      text,
      HasSubstr(
          "## A heading\n\n| | |\n|---|---|\n| device | NVIDIA / H200 |\n|  | and more |\n\n"));
  EXPECT_THAT(text, HasSubstr("- one\n- two\n\n"));
  EXPECT_THAT(text, HasSubstr("PyTorch:\n\n```python\na = 1\nb = 2\n```\n"));
  EXPECT_THAT(text,
              HasSubstr("| kernel | median | SNR | share | tokens |\n|---|---:|---:|---:|---:|\n"));
  EXPECT_FALSE(text.ends_with("\n\n"));
}

TEST(Table, WithoutRowsHasAllItsColumns) {
  const Table table = sample_table();
  EXPECT_EQ(shown_columns(table, {}).size(), 6U) << "those for people";
  Row nothing;
  nothing.cells.resize(table.columns.size());
  EXPECT_TRUE(shown_columns(table, {nothing}).empty());
  EXPECT_EQ(text_of(table_of("t", table.columns, {nothing})), "");
}

TEST(Document, AnEmptyTableIsLeftOutWithItsTitle) {
  Document document;
  Table table = sample_table();
  table.rows = [](const RowSink&) {};
  table.title = "Kernels:";
  document.table(table);
  EXPECT_EQ(text_of(document), "");
  EXPECT_EQ(markdown_of(document), "");
}

}  // namespace
}  // namespace profiling
