// Grouped products whose n or k differ from group to group, through cuBLASLt: dimensions, addresses
// of elements, codes and scales all come from the device's last_dims, and the result is compared
// with sums in double. BF16, FP8 with a scale per group, and FP8 1x128 times 128x128.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>

#include "engine/gemm/cublaslt_products.h"
#include "kernels/common/element_run.h"
#include "kernels/dequantize/dequantize_varying.h"
#include "kernels/offsets/varying_offsets.h"
#include "kernels/quantize/quantize_varying.h"
#include "tests/gpu/kernels/device_array.h"

namespace gpu_tests::varying_products {
namespace {

using engine::MatrixScaling;
using kernels::ExtentUnits;

using Dims = std::vector<std::int64_t>;

std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }

/// Y_g = X_g W_g^T: X [m, k], W [n, k], Y [m, n].
struct Shapes {
  const char* name;
  Dims m, n, k;
};

struct Recipe {
  const char* name;
  MatrixScaling x, w;
};

/// One operand: elements, its codes and scales, and what a product needs of it, made on the device.
class Tensor {
 public:
  Tensor(const Dims& rows, const Dims& columns, MatrixScaling scaling, unsigned seed)
      : scaling_(scaling),
        row_dims_(rows),
        column_dims_(columns),
        elements_(total(rows, columns)),
        values_(random_bf16(elements_, seed)),
        codes_(std::vector<std::uint8_t>(at(elements_), 0)),
        scales_(std::vector<float>(at(elements_ / 16) + 64 * rows.size(), 0.0F)),
        group_scales_(std::vector<float>(rows.size(), 16.0F)),
        offsets_(std::vector<std::int64_t>(6 * (rows.size() + 1), 0)),
        dims_(std::vector<std::int32_t>(2 * rows.size(), -1)),
        pointers_(std::vector<void*>(2 * rows.size() + 2, nullptr)),
        fault_(std::vector<kernels::ExtentFault>(1)) {
    const auto groups = static_cast<int>(rows.size());
    const auto array = [&](int i) { return offsets_.get() + i * (groups + 1); };
    const ExtentUnits units = scaling == MatrixScaling::Block128x128 ? kernels::kSquareRowwiseScales
                                                                     : kernels::kLineRowwiseScales;
    const bool quantized = scaling != MatrixScaling::None;
    kernels::VaryingOffsetsArgs args{.first_dims = row_dims_.get(),
                                     .last_dims = column_dims_.get(),
                                     .num_groups = groups,
                                     .capacity_rows = 1 << 20,
                                     .capacity_elements = elements_,
                                     .row_offsets = array(0),
                                     .columns = array(1),
                                     .elements = array(2),
                                     .row_dims = dims_.get(),
                                     .column_dims = dims_.get() + groups,
                                     .num_arrays = 1,
                                     .num_pointers = 2,
                                     .fault = fault_.get()};
    args.arrays[0] = {array(3), units};
    args.pointers[0] = {quantized ? reinterpret_cast<std::byte*>(codes_.get())
                                  : reinterpret_cast<std::byte*>(values_.get()),
                        {1, 1, quantized ? 1 : 2},
                        pointers_.get()};
    // The second array begins 16-byte aligned, as cuBLASLt wants it.
    scale_pointers_ = pointers_.get() + kernels::round_up(groups, 2);
    args.pointers[1] = {reinterpret_cast<std::byte*>(scales_.get()),
                        {units.row_unit, units.column_unit, 4 * units.stride},
                        scale_pointers_};
    EXPECT_EQ(kernels::varying_offsets(args, nullptr), cudaSuccess);
    if (quantized) quantize(args);
    if (scaling == MatrixScaling::PerTensor) {
      // One scale per group: an address that does not depend on the dimensions.
      std::vector<void*> each;
      for (int g = 0; g < groups; ++g) each.push_back(scales_.get() + g);
      EXPECT_EQ(cudaMemcpy(scale_pointers_, each.data(), 8 * each.size(), cudaMemcpyHostToDevice),
                cudaSuccess);
    }
    EXPECT_EQ(fault_.values()[0].bits, 0U);
  }

  engine::ProductMatrix matrix(bool transposed) const {
    const bool quantized = scaling_ != MatrixScaling::None;
    const auto groups = static_cast<std::ptrdiff_t>(row_dims_.values().size());
    return {.type = quantized ? CUDA_R_8F_E4M3 : CUDA_R_16BF,
            .transposed = transposed,
            .scaling = scaling_,
            .rows = dims_.get() + groups,  // column-major: a row's elements are a column
            .columns = dims_.get(),
            .values = pointers_.get(),
            .scales = quantized ? scale_pointers_ : nullptr};
  }
  /// Elements as a product sees them.
  const std::vector<float>& seen() const { return seen_; }
  std::vector<std::uint16_t> elements() const { return values_.values(); }

 private:
  static std::int64_t total(const Dims& rows, const Dims& columns) {
    std::int64_t sum = 0;
    for (std::size_t g = 0; g < rows.size(); ++g) sum += rows[g] * columns[g];
    return sum;
  }
  static std::vector<std::uint16_t> random_bf16(std::int64_t count, unsigned seed) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    std::vector<std::uint16_t> values(at(count));
    for (std::uint16_t& value : values) value = kernels::round_to_bf16(normal(random));
    return values;
  }
  void quantize(const kernels::VaryingOffsetsArgs& offsets) {
    const kernels::GroupedInput input{.input = values_.get(),
                                      .row_offsets = offsets.row_offsets,
                                      .num_groups = offsets.num_groups,
                                      .capacity_rows = offsets.capacity_rows,
                                      .columns = 0};
    const kernels::VaryingOperand operand{.groups = {offsets.columns, offsets.elements, elements_},
                                          .places = {.rowwise_scales = offsets.arrays[0].values}};
    kernels::QuantizedView view{.codes = codes_.get(),
                                .layout = kernels::ScaleLayout::PerTensor,
                                .scales = scales_.get(),
                                .row_offsets = offsets.row_offsets,
                                .num_groups = offsets.num_groups,
                                .capacity_rows = offsets.capacity_rows};
    if (scaling_ == MatrixScaling::PerTensor) {
      EXPECT_EQ(kernels::quantize_per_tensor_varying({.input = input,
                                                      .scale = group_scales_.get(),
                                                      .rowwise = codes_.get(),
                                                      .scale_inv = scales_.get()},
                                                     operand, nullptr),
                cudaSuccess);
    } else {
      const bool square = scaling_ == MatrixScaling::Block128x128;
      view.layout = square ? kernels::ScaleLayout::BlockSquare : kernels::ScaleLayout::BlockLine;
      EXPECT_EQ(kernels::quantize_block_varying(
                    {.input = input,
                     .options = {.pow2 = true},
                     .rowwise = {.codes = codes_.get(), .scale_inv = scales_.get()}},
                    square, operand, nullptr),
                cudaSuccess);
    }
    const DeviceArray<float> decoded(std::vector<float>(at(elements_), 0.0F));
    EXPECT_EQ(kernels::dequantize_varying({.whole = {.quantized = view, .output = decoded.get()},
                                           .groups = operand.groups,
                                           .places = operand.places},
                                          nullptr),
              cudaSuccess);
    seen_ = decoded.values();
  }

  MatrixScaling scaling_;
  DeviceArray<std::int64_t> row_dims_, column_dims_;
  std::int64_t elements_;
  DeviceArray<std::uint16_t> values_;
  DeviceArray<std::uint8_t> codes_;
  DeviceArray<float> scales_, group_scales_;
  DeviceArray<std::int64_t> offsets_;
  DeviceArray<std::int32_t> dims_;
  DeviceArray<void*> pointers_;
  DeviceArray<kernels::ExtentFault> fault_;
  void** scale_pointers_ = nullptr;
  std::vector<float> seen_;
};

float bf16(std::uint16_t bits) { return std::bit_cast<float>(std::uint32_t{bits} << 16); }

std::vector<float> seen_by_product(const Tensor& tensor) {
  if (!tensor.seen().empty()) return tensor.seen();
  std::vector<float> values;
  for (const std::uint16_t bits : tensor.elements()) values.push_back(bf16(bits));
  return values;
}

class VaryingProduct : public DeviceTest,
                       public testing::WithParamInterface<std::tuple<Shapes, Recipe>> {};

TEST_P(VaryingProduct, EqualsSumsInDouble) {
  const auto& [shapes, recipe] = GetParam();
  auto library = engine::CublasLt::load("");
  if (!library.ok()) GTEST_SKIP() << library.error().message;
  const Tensor x(shapes.m, shapes.k, recipe.x, 1);
  const Tensor w(shapes.n, shapes.k, recipe.w, 2);
  const Tensor y(shapes.m, shapes.n, MatrixScaling::None, 3);
  const auto average = [](const Dims& dims) {
    std::int64_t sum = 0;
    for (const std::int64_t dim : dims) sum += dim;
    return sum / static_cast<std::int64_t>(dims.size());
  };
  const DeviceArray<float> scalars({1.0F, 0.0F});
  const DeviceArray<std::uint8_t> workspace(
      std::vector<std::uint8_t>(at(engine::kWorkspaceBytes), 0));
  engine::ProductConfig config{.product = engine::Product::Fprop,
                               .recipe = recipe.name,
                               .num_groups = static_cast<int>(shapes.m.size()),
                               .a = w.matrix(true),
                               .b = x.matrix(false),
                               .d = y.matrix(false),
                               .average_rows = average(shapes.n),
                               .average_columns = average(shapes.m),
                               .average_reduction = average(shapes.k),
                               .alpha = scalars.get(),
                               .beta = scalars.get() + 1};
  auto product = engine::make_cublaslt_grouped(library.value(), config);
  // A gate may rule out an FP8 recipe; BF16 of equal groups is the plain grouped product.
  const bool must_run =
      recipe.x == MatrixScaling::None && std::string_view(shapes.name) == "SameDims";
  if (!product.ok() && product.error().code == engine::ErrorCode::Unsupported && !must_run) {
    GTEST_SKIP() << product.error().message;
  }
  ASSERT_TRUE(product.ok()) << product.error().message;
  engine::StepObserver observer;
  const engine::Status launched =
      product.value()->launch(workspace.get(), nullptr, {.observer = observer, .tag = {}});
  ASSERT_TRUE(launched.ok()) << launched.error().message;
  const std::vector<std::uint16_t> got = y.elements();
  // Half a unit in BF16's last place, and FP32 sums in an order of the library's own; Hopper's FP8
  // products sum with fewer bits (1.8e-5 of the magnitudes were measured).
  const double of_sum = recipe.x == MatrixScaling::None ? 1e-5 : 1e-4;
  const std::vector<float> a = seen_by_product(x);
  const std::vector<float> b = seen_by_product(w);
  std::int64_t first_x = 0;
  std::int64_t first_w = 0;
  std::int64_t first_y = 0;
  for (std::size_t g = 0; g < shapes.m.size(); ++g) {
    const std::int64_t m = shapes.m[g];
    const std::int64_t n = shapes.n[g];
    const std::int64_t k = shapes.k[g];
    for (std::int64_t i = 0; i < m; ++i) {
      for (std::int64_t j = 0; j < n; ++j) {
        double exact = 0.0;
        double magnitudes = 0.0;
        for (std::int64_t c = 0; c < k; ++c) {
          const double term = static_cast<double>(a[at(first_x + i * k + c)]) *
                              static_cast<double>(b[at(first_w + j * k + c)]);
          exact += term;
          magnitudes += std::fabs(term);
        }
        const double bound = 0x1p-8 * std::fabs(exact) + of_sum * magnitudes;
        ASSERT_NEAR(static_cast<double>(bf16(got[at(first_y + i * n + j)])), exact, bound)
            << "group " << g << " row " << i << " column " << j;
      }
    }
    first_x += m * k;
    first_w += n * k;
    first_y += m * n;
  }
}

std::vector<Shapes> all_shapes() {
  return {
      {"SameDims", {64, 64, 64}, {128, 128, 128}, {256, 256, 256}},
      {"VaryingN", {64, 128, 32, 96}, {128, 256, 384, 128}, {256, 256, 256, 256}},
      {"VaryingK", {64, 128, 32, 96}, {128, 128, 128, 128}, {256, 128, 512, 384}},
      {"AllDiffer", {160, 0, 33, 128}, {128, 384, 256, 512}, {512, 256, 128, 384}},
  };
}

std::vector<Recipe> all_recipes() {
  return {{"BF16", MatrixScaling::None, MatrixScaling::None},
          {"Fp8PerTensor", MatrixScaling::PerTensor, MatrixScaling::PerTensor},
          {"Fp8Block", MatrixScaling::Block1x128, MatrixScaling::Block128x128}};
}

INSTANTIATE_TEST_SUITE_P(Shapes, VaryingProduct,
                         testing::Combine(testing::ValuesIn(all_shapes()),
                                          testing::ValuesIn(all_recipes())),
                         [](const auto& tested) {
                           return std::string(std::get<0>(tested.param).name) +
                                  std::get<1>(tested.param).name;
                         });

}  // namespace
}  // namespace gpu_tests::varying_products
