// Tables that are kept while the size of the text changes.
#include "app/gui/plot/drawn_table.h"

#include <gtest/gtest.h>

#include "app/gui/plot/plot_text.h"
#include "profiling/document/columns.h"
#include "tests/gui/unseen_window.h"

namespace app::plot {
namespace {

TEST(DrawnTable, WordsAreNotCutWhereThereIsRoomHoweverTheLettersGrow) {
  UnseenWindow window;
  ImFontConfig larger;
  larger.SizePixels = 22;
  ImFont* const large = ImGui::GetIO().Fonts->AddFontDefault(&larger);
  ImGui::GetIO().Fonts->Build();
  const DrawnTable table =
      drawn(profiling::table_of("settings",
                                {profiling::column("setting", profiling::Measure::Words),
                                 profiling::column("A", profiling::Measure::Words)},
                                {{.cells = profiling::cells_of("Recipe", "FP8 per tensor")}}),
            window.theme);
  EXPECT_EQ(table.columns[1].widest, "FP8 per tensor");
  Theme presented = window.theme;
  presented.scale = 1.5F;
  presented.fonts.body = large;
  const float text = text_size(large, "FP8 per tensor").x;
  ASSERT_GT(text, 1.05F * 1.5F * text_size(window.theme.fonts.body, "FP8 per tensor").x);
  EXPECT_GE(widths_of(presented, table.columns, true, 1000)[1], text);
}

}  // namespace
}  // namespace app::plot
