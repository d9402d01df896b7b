// What a slow link shows first: coarse maps, and nothing where there is little to wait for.
#include "app/protocol/run_preview.h"

#include <gmock/gmock.h>

#include <cmath>
#include <cstddef>
#include <limits>

#include "app/protocol/convert.h"

namespace app {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

/// A map of rows x columns cells, whose cell (y, x) is y + x / 1000.
RunDone run_with_map(int rows, int columns) {
  engine::ScaleMap map;
  map.block_rows = 1;
  map.block_columns = 16;
  map.source_rows = rows;
  map.source_columns = columns;
  map.rows = rows;
  map.columns = columns;
  for (int y = 0; y < rows; ++y) {
    for (int x = 0; x < columns; ++x) {
      map.mean.push_back(static_cast<float>(y) + static_cast<float>(x) / 1000.0F);
    }
  }
  map.maximum = map.minimum = map.deviation = map.mean;
  map.expert_first_row = {0, rows / 2, rows};
  map.summary.scales = 7;
  RunDone done;
  engine::TensorResult x{.tensor = engine::StepTensor::X};
  x.quantization.emplace().scale_map = std::move(map);
  done.result.tensors.push_back(std::move(x));
  done.result.iterations = {{0, 100}};
  return done;
}

const engine::ScaleMap& map_of(const RunPreview& preview) {
  return preview.result.tensors.front().quantization->scale_map;
}

TEST(RunPreview, IsNotMadeOfASmallRun) {
  RunDone done = run_with_map(64, 64);
  EXPECT_FALSE(preview_of(done));
  done.activity.records.resize(100'000);
  EXPECT_TRUE(preview_of(done)) << "its records are much to wait for";
}

TEST(RunPreview, HasCoarseMapsOfEveryCellOnce) {
  const RunDone done = run_with_map(200, 500);
  const auto preview = preview_of(done);
  ASSERT_TRUE(preview);
  const engine::ScaleMap& map = map_of(*preview);
  // Tiles of 3 x 6 cells; the last ones are what is left.
  EXPECT_EQ(map.rows, 67);
  EXPECT_EQ(map.columns, 84);
  ASSERT_EQ(map.mean.size(), 67U * 84U);
  EXPECT_FLOAT_EQ(map.mean[0], 1.0F + 0.0025F);
  EXPECT_FLOAT_EQ(map.maximum[0], 2.0F + 0.005F);
  EXPECT_FLOAT_EQ(map.mean.back(), 198.5F + 0.4985F) << "2 x 2 cells";
  EXPECT_FLOAT_EQ(map.maximum.back(), 199.0F + 0.499F);
  EXPECT_TRUE(map.minimum.empty() && map.deviation.empty());
  EXPECT_EQ(map.source_rows, 200);
  EXPECT_EQ(map.expert_first_row, done.result.tensors[0].quantization->scale_map.expert_first_row);
  EXPECT_EQ(map.summary.scales, 7U);
  EXPECT_TRUE(map.flaw().says.empty());
  EXPECT_EQ(preview->result.iterations.size(), 1U);
}

TEST(RunPreview, CellsWithoutAScaleCountOnlyWhereAllAre) {
  RunDone done = run_with_map(200, 500);
  auto& mean = done.result.tensors[0].quantization->scale_map.mean;
  for (std::size_t y = 0; y < 3; ++y) {
    for (std::size_t x = 0; x < 12; ++x) mean[y * 500 + x] = kNan;
  }
  mean[1] = 8.0F;
  const auto preview = preview_of(done);
  ASSERT_TRUE(preview);
  EXPECT_FLOAT_EQ(map_of(*preview).mean[0], 8.0F);
  EXPECT_TRUE(std::isnan(map_of(*preview).mean[1]));
  EXPECT_FALSE(std::isnan(map_of(*preview).mean[2]));
}

TEST(RunPreview, TravelsAsAnAnswerThatIsNotTheLast) {
  const auto preview = preview_of(run_with_map(200, 500));
  ASSERT_TRUE(preview);
  const wire::Answer sent = to_wire(3, *preview);
  EXPECT_FALSE(is_last(sent.result_case()));
  EXPECT_EQ(order_of(sent.result_case()), wire::Order::kRun);
  const auto read = from_wire(sent);
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(map_of(std::get<RunPreview>(read.value())).mean.size(), map_of(*preview).mean.size());
}

}  // namespace
}  // namespace app
