// The picture of a launch's tiles: which pixels belong to which tile, and which tile is under the
// pointer.
#include "app/plot/launch_tiles.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace app::plot {
namespace {

engine::TiledLaunch launch_of(int multiprocessors, std::vector<engine::LaunchTile> tiles) {
  return engine::tiled_launch(engine::Stage::Fprop, engine::WrittenValue::Unknown, multiprocessors,
                              std::move(tiles));
}

engine::LaunchTile tile(int expert, int multiprocessor, std::int64_t begin_ns,
                        std::int64_t end_ns) {
  return {.begin_ns = begin_ns,
          .end_ns = end_ns,
          .multiprocessor = multiprocessor,
          .expert = expert,
          .tile = 100 * multiprocessor + begin_ns};
}

LaunchImageSpec spec_of(int width, int height, Range view) {
  return {.width = width, .height = height, .view = view, .colors = {1, 2, 3}};
}

/// Two multiprocessors: expert 0 and then 1 on the first, expert 2 in the middle on the second.
const engine::TiledLaunch kTwo =
    launch_of(2, {tile(0, 0, 0, 50), tile(1, 0, 50, 100), tile(2, 1, 25, 75)});

TEST(LaunchTiles, AreBarsOfTheirTimesWithTheFirstMultiprocessorAtTheBottom) {
  const LaunchRows rows = launch_rows(kTwo);
  const LaunchImage image = paint_launch(kTwo, rows, spec_of(20, 6, {0.0, 100.0}));
  ASSERT_EQ(image.pixels.size(), 120U);
  EXPECT_EQ(image.tiles, 3U);
  EXPECT_EQ(image.narrow, 0U);
  const auto at = [&](int x, int y) { return image.pixels[static_cast<std::size_t>(20 * y + x)]; };
  EXPECT_EQ(at(0, 5), 1U);
  EXPECT_EQ(at(8, 3), 1U);
  EXPECT_EQ(at(9, 3), 0U) << "neighbours have a gap between them";
  EXPECT_EQ(at(10, 3), 2U);
  EXPECT_EQ(at(19, 5), 2U);
  EXPECT_EQ(at(4, 1), 0U) << "the second multiprocessor begins later";
  EXPECT_EQ(at(5, 1), 3U);
  EXPECT_EQ(at(16, 1), 0U);
}

TEST(LaunchTiles, ATileIsUnderThePointerExactlyWhereItIsPainted) {
  const LaunchRows rows = launch_rows(kTwo);
  constexpr int kHeight = 6;
  const auto expert_at = [&](double y, double time_ns) {
    const auto found = tile_at(kTwo, rows, kHeight, y, time_ns);
    return found ? kTwo.kept[*found].expert : -1;
  };
  EXPECT_EQ(expert_at(5.5, 20.0), 0);
  EXPECT_EQ(expert_at(3.0, 80.0), 1);
  EXPECT_EQ(expert_at(1.0, 40.0), 2);
  EXPECT_EQ(expert_at(1.0, 10.0), -1);
}

TEST(LaunchTiles, TilesAtTheSameTimeDivideTheirMultiprocessor) {
  const engine::TiledLaunch launch =
      launch_of(1, {tile(0, 0, 0, 100), tile(1, 0, 20, 40), tile(2, 0, 40, 90)});
  const LaunchRows rows = launch_rows(launch);
  ASSERT_EQ(rows.rows.size(), 2U);
  EXPECT_EQ(rows.places, 2);
  EXPECT_EQ(rows.rows[1].tiles.size(), 2U) << "the third fits behind the second";
  const LaunchImage image = paint_launch(launch, rows, spec_of(10, 2, {0.0, 100.0}));
  EXPECT_EQ(image.pixels[10], 1U) << "below";
  EXPECT_EQ(image.pixels[2], 2U);
  EXPECT_EQ(image.pixels[0], 0U);
}

TEST(LaunchTiles, OfManyMultiprocessorsInALowPictureEveryNthIsShown) {
  std::vector<engine::LaunchTile> tiles;
  for (int sm = 0; sm < 132; ++sm) tiles.push_back(tile(sm % 3, sm, 0, 100));
  const engine::TiledLaunch launch = launch_of(132, tiles);
  const LaunchRows rows = launch_rows(launch);
  EXPECT_EQ(shown_every(rows, 198), 1);
  EXPECT_EQ(shown_every(rows, 197), 2);
  EXPECT_EQ(shown_every(rows, 60), 4);
  const LaunchImage image = paint_launch(launch, rows, spec_of(4, 60, {0.0, 100.0}));
  EXPECT_EQ(image.tiles, 33U);
  EXPECT_EQ(std::ranges::count(image.pixels, 0U), 0) << "they fill the picture, without noise";
}

TEST(LaunchTiles, ThoseNarrowerThanAPixelAreCountedAndTheChosenExpertIsInFront) {
  std::vector<engine::LaunchTile> tiles;
  for (int i = 0; i < 1000; ++i) tiles.push_back(tile(i == 500 ? 1 : 0, 0, 10 * i, 10 * i + 10));
  const engine::TiledLaunch launch = launch_of(1, tiles);
  const LaunchRows rows = launch_rows(launch);
  LaunchImageSpec spec = spec_of(100, 4, {0.0, 10'000.0});
  const auto has_1 = [](const LaunchImage& image) {
    return std::ranges::count(image.pixels, 2U) > 0;
  };
  const LaunchImage all = paint_launch(launch, rows, spec);
  EXPECT_EQ(all.narrow, 1000U);
  EXPECT_FALSE(has_1(all)) << "later tiles cover it";
  spec.front = 1;
  EXPECT_TRUE(has_1(paint_launch(launch, rows, spec)));
  spec.view = {5000.0, 5100.0};
  const LaunchImage near = paint_launch(launch, rows, spec);
  EXPECT_EQ(near.narrow, 0U);
  EXPECT_LE(near.tiles, 12U) << "only what is in view is painted";
}

}  // namespace
}  // namespace app::plot
