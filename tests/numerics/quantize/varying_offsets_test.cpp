// Offsets of groups that differ in columns, on the host: against sizes written out, and what is
// said of dimensions that cannot be.
#include <gtest/gtest.h>

#include "tests/numerics/quantize/varying_run.h"

namespace quantize_tests::varying_groups {
namespace {

using kernels::ScaleLayout;

class VaryingSizes : public testing::TestWithParam<VaryingCase> {};

TEST_P(VaryingSizes, OffsetsAreSumsOfTheSizesOfTheGroups) {
  const VaryingCase& varying = GetParam();
  for (const bool columnwise : {false, true}) {
    std::vector<kernels::ExtentUnits> units;
    std::vector<Offsets> expected;
    for (const ScaleLayout layout : {ScaleLayout::BlockLine, ScaleLayout::BlockSquare,
                                     ScaleLayout::Mx1x32, ScaleLayout::Nv1x16}) {
      units.push_back(units_of_scales(layout, columnwise));
      expected.push_back(summed(varying, [&](std::int64_t m, std::int64_t n) {
        return scales_of_group(layout, columnwise, m, n);
      }));
    }
    units.push_back(kernels::kNvfp4ColumnwiseCodes);
    expected.push_back(
        summed(varying, [](std::int64_t m, std::int64_t n) { return (m + 15) / 16 * 16 * n / 2; }));
    const OffsetsRun run =
        run_offsets({.first_dims = varying.rows.data(),
                     .last_dims = varying.columns.data(),
                     .num_groups = varying.num_groups(),
                     .capacity_rows = varying.all_rows(),
                     .capacity_elements = varying.elements() + varying.spare_elements},
                    units);
    EXPECT_EQ(run.row_offsets, summed(varying, [](auto m, auto) { return m; }));
    EXPECT_EQ(run.columns, varying.columns);
    EXPECT_EQ(run.elements, summed(varying, [](auto m, auto n) { return m * n; }));
    EXPECT_EQ(run.arrays, expected);
    EXPECT_EQ(run.fault.bits, 0U);
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, VaryingSizes, testing::ValuesIn(varying_cases()),
                         [](const auto& param) { return param.param.name; });

TEST(VaryingOffsets, DimensionsAndAddressesForAProduct) {
  const Offsets rows = {3, 0, 130};
  const Offsets columns = {256, 32, 144};
  Offsets scratch[3] = {Offsets(4), Offsets(3), Offsets(4)};
  std::vector<std::int32_t> dims(6);
  std::byte base[1];
  std::vector<void*> pointers(3);
  kernels::VaryingOffsetsArgs args{.first_dims = rows.data(),
                                   .last_dims = columns.data(),
                                   .num_groups = 3,
                                   .capacity_rows = 200,
                                   .capacity_elements = 100000,
                                   .row_offsets = scratch[0].data(),
                                   .columns = scratch[1].data(),
                                   .elements = scratch[2].data(),
                                   .row_dims = dims.data(),
                                   .column_dims = dims.data() + 3,
                                   .num_pointers = 1};
  args.pointers[0] = {base, {4, 128, 16}, pointers.data()};
  kernels::varying_offsets_cpu(args);
  EXPECT_EQ(dims, (std::vector<std::int32_t>{3, 0, 130, 256, 32, 144}));
  const auto distance = [&](int g) { return static_cast<std::byte*>(pointers[at(g)]) - base; };
  EXPECT_EQ(distance(0), 0);
  EXPECT_EQ(distance(1), 2 * 4 * 4);  // two blocks of four rows of scales
  EXPECT_EQ(distance(2), 2 * 4 * 4);
}

TEST(VaryingOffsets, OneDimensionMayBeConstant) {
  const std::vector<std::int32_t> dims = {32, 0, 48};
  const OffsetsRun last = run_offsets({.same_rows = 5,
                                       .last_dims = dims.data(),
                                       .dim_type = kernels::IntegerType::Int32,
                                       .num_groups = 3,
                                       .capacity_rows = 15,
                                       .capacity_elements = 400},
                                      {});
  EXPECT_EQ(last.row_offsets, (Offsets{0, 5, 10, 15}));
  EXPECT_EQ(last.columns, (Offsets{32, 0, 48}));
  EXPECT_EQ(last.elements, (Offsets{0, 160, 160, 400}));
  const OffsetsRun first = run_offsets({.first_dims = dims.data(),
                                        .same_columns = 16,
                                        .dim_type = kernels::IntegerType::Int32,
                                        .num_groups = 3,
                                        .capacity_rows = 80,
                                        .capacity_elements = 1280},
                                       {});
  EXPECT_EQ(first.elements, (Offsets{0, 512, 512, 1280}));
}

TEST(VaryingOffsets, WhatCannotBeIsNamedAndLeftOut) {
  struct Bad {
    std::int64_t rows, columns;
    std::uint32_t bits;
    std::int64_t value;
  };
  for (const Bad& bad :
       {Bad{-1, 32, kernels::kNegativeRows, -1}, Bad{4, 24, kernels::kUnalignedColumns, 24},
        Bad{4, -16, kernels::kUnalignedColumns, -16},
        Bad{4, std::int64_t{1} << 40, kernels::kUnalignedColumns, std::int64_t{1} << 40},
        Bad{INT64_MAX, 16, kernels::kGroupsOverCapacity, INT64_MAX},
        Bad{90, 160, kernels::kGroupsOverCapacity, 90}}) {
    const Offsets rows = {2, 0, bad.rows, 3};
    const Offsets columns = {16, 16, bad.columns, 32};
    const OffsetsRun run = run_offsets({.first_dims = rows.data(),
                                        .last_dims = columns.data(),
                                        .num_groups = 4,
                                        .capacity_rows = 100,
                                        .capacity_elements = 10000},
                                       {kernels::kMxfp8Scales});
    EXPECT_EQ(run.fault.bits, bad.bits) << bad.rows << "x" << bad.columns;
    EXPECT_EQ(run.fault.group, 2);
    EXPECT_EQ(run.fault.value, bad.value);
    // Beyond the capacity nothing more fits; a group that is wrong by itself is left out alone.
    const std::int64_t more = bad.bits == kernels::kGroupsOverCapacity ? 0 : 3;
    EXPECT_EQ(run.row_offsets, (Offsets{0, 2, 2, 2, 2 + more}));
    EXPECT_EQ(run.columns, (Offsets{16, 16, 0, more > 0 ? 32 : 0}));
    EXPECT_EQ(run.elements, (Offsets{0, 32, 32, 32, 32 + 32 * more}));
    EXPECT_EQ(run.arrays[0].back(), more > 0 ? 1024 : 512);
  }
}

TEST(VaryingOffsets, TheFirstFaultOfTheFirstLaunchStays) {
  kernels::ExtentFault fault;
  Offsets offsets(3), columns(2), elements(3);
  const auto run = [&](const Offsets& rows, const Offsets& last) {
    kernels::varying_offsets_cpu({.first_dims = rows.data(),
                                  .last_dims = last.data(),
                                  .num_groups = 2,
                                  .capacity_rows = 10,
                                  .capacity_elements = 1000,
                                  .row_offsets = offsets.data(),
                                  .columns = columns.data(),
                                  .elements = elements.data(),
                                  .fault = &fault});
  };
  run({1, 1}, {16, 16});
  EXPECT_EQ(fault.bits, 0U);
  run({1, -3}, {16, 16});
  run({1, 1}, {17, 16});
  EXPECT_EQ(fault.bits, kernels::kNegativeRows | kernels::kUnalignedColumns);
  EXPECT_EQ(fault.group, 1);
  EXPECT_EQ(fault.value, -3);
}

}  // namespace
}  // namespace quantize_tests::varying_groups
