// What the tiles of a launch show: waves, tail, how busy the multiprocessors are, and what is kept
// of a launch with very many.
#include "engine/model/tiled_launch.h"

#include <gtest/gtest.h>

#include <set>

namespace engine {
namespace {

TiledLaunch launch_of(int multiprocessors, std::vector<LaunchTile> tiles) {
  return tiled_launch(Stage::Fprop, WrittenValue::Unknown, multiprocessors, std::move(tiles));
}

constexpr std::int64_t kClock = std::int64_t{1'700'000'000'000'000'000};  // as %globaltimer counts

LaunchTile tile(std::int64_t number, int multiprocessor, std::int64_t begin_ns,
                std::int64_t end_ns) {
  return {.begin_ns = kClock + begin_ns,
          .end_ns = kClock + end_ns,
          .multiprocessor = multiprocessor,
          .expert = static_cast<int>(number % 2),
          .tile = number};
}

TEST(TiledLaunch, HasTheFiguresOfItsTiles) {
  // SM 0: 0-100, 100-200. SM 1: 10-60. SM 2: 0-50 and 60-150. SM 3: nothing.
  const TiledLaunch launch =
      launch_of(4, {tile(4, 2, 60, 150), tile(0, 0, 0, 100), tile(1, 1, 10, 60), tile(2, 2, 0, 50),
                    tile(9, 0, 100, 200)});
  EXPECT_EQ(launch.tiles, 5);
  EXPECT_EQ(launch.multiprocessors, 4);
  EXPECT_EQ(launch.occupied, 3);
  EXPECT_EQ(launch.tiles_at_once, 1);
  EXPECT_EQ(launch.duration_ns, 200);
  EXPECT_EQ(launch.tail_ns, 140) << "SM 1 runs out of tiles at 60";
  EXPECT_DOUBLE_EQ(launch.tail_share(), 0.7);
  EXPECT_DOUBLE_EQ(launch.waves(), 1.25);
  EXPECT_DOUBLE_EQ(launch.busy_share, 390.0 / 800.0);
  EXPECT_DOUBLE_EQ(launch.imbalance, 200.0 / (390.0 / 4.0));
  ASSERT_EQ(launch.kept.size(), 5U);
  EXPECT_EQ(launch.kept_every, 1);
  EXPECT_EQ(
      launch.kept.front(),
      (LaunchTile{.begin_ns = 0, .end_ns = 100, .multiprocessor = 0, .expert = 0, .tile = 0}));
  EXPECT_EQ(launch.kept[1].tile, 9) << "by multiprocessor, then begin";
}

TEST(TiledLaunch, TimeWithTwoTilesOfAnSmCountsOnce) {
  const TiledLaunch launch =
      launch_of(1, {tile(0, 0, 0, 100), tile(1, 0, 20, 60), tile(2, 0, 60, 120)});
  EXPECT_EQ(launch.tiles_at_once, 2) << "the third begins where the second ends";
  EXPECT_DOUBLE_EQ(launch.busy_share, 1.0);
  EXPECT_DOUBLE_EQ(launch.waves(), 1.5);
  EXPECT_EQ(launch.tail_ns, 0);
}

TEST(TiledLaunch, PlacesOfAFileFitAtItsLimits) {
  const TiledLaunch launch{.multiprocessors = 1 << 20, .tiles_at_once = 1 << 30, .tiles = 1};
  EXPECT_EQ(launch.places(), std::int64_t{1} << 50);
  EXPECT_GT(launch.waves(), 0.0);
}

TEST(TiledLaunch, WithoutTilesHasNoFigures) {
  const TiledLaunch launch = launch_of(132, {});
  EXPECT_EQ(launch.duration_ns, 0);
  EXPECT_EQ(launch.waves(), 0.0);
  EXPECT_EQ(launch.tail_share(), 0.0);
}

TEST(TiledLaunch, AMultiprocessorBeyondTheirNumberRaisesIt) {
  EXPECT_EQ(launch_of(2, {tile(0, 7, 0, 10)}).multiprocessors, 8);
}

TEST(TiledLaunch, OfVeryManyTilesThoseOfSomeMultiprocessorsAreKeptWhole) {
  constexpr int kSms = 10;
  constexpr int kPerSm = kMostLaunchTiles / 4;
  std::vector<LaunchTile> tiles;
  for (int i = 0; i < kSms * kPerSm; ++i) {
    const std::int64_t begin_ns = 10 * (i / kSms);
    tiles.push_back(tile(i, i % kSms, begin_ns, begin_ns + 10));
  }
  const TiledLaunch launch = launch_of(kSms, tiles);
  EXPECT_EQ(launch.tiles, kSms * kPerSm) << "figures are of all";
  EXPECT_EQ(launch.occupied, kSms);
  EXPECT_LE(launch.kept.size(), kMostLaunchTiles);
  EXPECT_EQ(launch.kept_every, 3);
  std::multiset<int> kept;
  for (const LaunchTile& one : launch.kept) kept.insert(one.multiprocessor);
  for (const int sm : {0, 3, 6, 9}) EXPECT_EQ(kept.count(sm), std::size_t{kPerSm}) << sm;
  EXPECT_EQ(kept.size(), std::size_t{4 * kPerSm});
}

}  // namespace
}  // namespace engine
