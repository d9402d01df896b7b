#include "engine/bench/quantize_bench.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace engine {
namespace {

using testing::HasSubstr;

TEST(BenchShapes, RoundTripAsText) {
  for (const bool cpu : {false, true}) {
    for (const BenchShape& shape : default_bench_shapes(cpu)) {
      const Result<BenchShape> read = parse_bench_shape(bench_shape_text(shape));
      ASSERT_TRUE(read.ok());
      EXPECT_EQ(read.value(), shape);
    }
    EXPECT_TRUE(validate(BenchOrder{.shapes = default_bench_shapes(cpu)}).ok());
  }
}

TEST(BenchShapes, MistakesAreNamed) {
  const auto refusal = [](const char* text) {
    const Result<BenchShape> read = parse_bench_shape(text);
    return read.ok() ? std::string() : read.error().message;
  };
  for (const char* text : {"", "8", "8x16", "8x16x32x", "8x16x32:zipf", "x8x16", "8xx16x16"}) {
    EXPECT_THAT(refusal(text), HasSubstr("is not a shape")) << text;
  }
  EXPECT_THAT(refusal("0x16x32"), HasSubstr("experts is 0; it must be between 1 and 1024"));
  EXPECT_THAT(refusal("1025x16x32"), HasSubstr("experts is 1025"));
  EXPECT_THAT(refusal("8x16x24"), HasSubstr("a multiple of 16: use 32"));
  EXPECT_THAT(refusal("8x999999x999984"), HasSubstr("fewer rows"));
  EXPECT_THAT(refusal("8x16x9223372036854775807"), HasSubstr("between 16 and 2147483648"));
  EXPECT_FALSE(validate(BenchOrder{.seconds = 0}).ok());
}

TEST(QuantizeBench, EveryKernelOnEveryShape) {
  const std::unique_ptr<BenchTarget> target = make_cpu_bench_target();
  const BenchOrder order{
      .shapes = {{4, 100, 144, BenchRouting::Uniform}, {3, 64, 256, BenchRouting::HalfFull}},
      .seconds = 1e-3};
  RunProgress progress;
  std::set<std::string> kernels;
  std::vector<std::int64_t> elements;
  const Status done =
      run_quantize_bench(*target, order, progress, [&](const std::vector<MeasuredRow>& rows) {
        EXPECT_EQ(rows.front().row.kernel, "copy");
        EXPECT_DOUBLE_EQ(rows.front().row.of_copy, 1);
        elements.push_back(rows.front().row.elements);
        for (const MeasuredRow& measured : rows) {
          const BenchRow& row = measured.row;
          kernels.insert(row.kernel);
          EXPECT_GE(row.samples, 5) << row.kernel;
          EXPECT_EQ(measured.spans.size(), static_cast<std::size_t>(row.samples));
          EXPECT_GT(row.median_us, 0) << row.kernel;
          EXPECT_LE(row.p5_us, row.median_us);
          EXPECT_LE(row.median_us, row.p95_us);
          EXPECT_LT(measured.spans.front().begin_ns, measured.spans.back().end_ns);
        }
        return Status();
      });
  ASSERT_TRUE(done.ok()) << done.error().message;
  EXPECT_EQ(kernels.size(), 30U);
  EXPECT_THAT(elements, testing::ElementsAre(100 * 144, 32 * 256));
}

TEST(QuantizeBench, StopsWhenCancelled) {
  const std::unique_ptr<BenchTarget> target = make_cpu_bench_target();
  const BenchOrder order{.shapes = {{1, 16, 16}, {1, 32, 16}}, .seconds = 1e-3};
  RunProgress progress;
  int reported = 0;
  const Status done =
      run_quantize_bench(*target, order, progress, [&](const std::vector<MeasuredRow>&) {
        ++reported;
        progress.cancel = true;
        return Status();
      });
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().code, ErrorCode::Cancelled);
  EXPECT_EQ(reported, 1);
}

}  // namespace
}  // namespace engine
