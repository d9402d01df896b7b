#include "engine/backend/cpu/step_reference.h"

#include <algorithm>
#include <limits>

#include "engine/backend/cpu/product.h"
#include "engine/quantize/statistics_fold.h"

namespace engine {
namespace {

using kernels::GroupProductError;

constexpr std::int64_t kStripFloats = std::int64_t{1} << 25;

const float* read(const TensorSource& source, std::int64_t first, std::int64_t count,
                  Buffer<float>& out) {
  const std::int64_t values = count * source.columns();
  source.read_f32(first, count, {out.reserve(values), static_cast<std::size_t>(values)});
  return out.get();
}

struct Rows {
  const void* product = nullptr;
  ElementType type = ElementType::Bf16;
  const float* reference = nullptr;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
};

void add_error(const Rows& rows, GroupProductError& error) {
  const std::int64_t offsets[2] = {0, rows.rows};
  kernels::product_error_cpu({.product = rows.product,
                              .product_type = rows.type,
                              .reference = rows.reference,
                              .row_offsets = offsets,
                              .num_groups = 1,
                              .capacity_rows = rows.rows,
                              .columns = rows.columns,
                              .errors = &error});
}

}  // namespace

StepReference::StepReference(CpuProjection& step) : step_(step) {
  LoadedOperands& operands = step.operands();
  if (!operands.kept() || !step.runs_forward()) return;
  known_ = operands.reference_splits == step.shape().splits && operands.reference.get() != nullptr;
  operands.reference.reserve(step.shape().sum_m() * step.shape().n);
  if (!known_) operands.reference_splits.clear();  // until the last expert is there
}

void StepReference::measure(int expert, ExpertResult& result, OutputErrors& all) {
  OutputErrors errors;
  add(expert, errors);
  for (const Product product : {Product::Fprop, Product::Dgrad, Product::Wgrad}) {
    result.of(product) = product_accuracy(errors.of(product));
    kernels::add_errors(errors.of(product), all.of(product));
  }
}

void StepReference::add(int expert, OutputErrors& errors) {
  if (step_.runs_forward()) kernels::add_errors(fprop(expert), errors.y);
  if (!step_.runs_backward()) return;
  kernels::add_errors(dgrad(expert), errors.dx);
  kernels::add_errors(wgrad(expert), errors.dw);
}

void StepReference::complete() {
  LoadedOperands& operands = step_.operands();
  if (operands.kept() && step_.runs_forward()) operands.reference_splits = step_.shape().splits;
}

const float* StepReference::weights(int expert) {
  const std::int64_t n = step_.shape().n;
  if (weights_of_ != expert) read(step_.operands().weights.front().source(), expert * n, n, w_);
  weights_of_ = expert;
  return w_.get();
}

const float* StepReference::fprop_rows(int expert, std::int64_t row, std::int64_t count) {
  const GroupedShape& shape = step_.shape();
  LoadedOperands& operands = step_.operands();
  const std::int64_t first = step_.first_row(expert) + row;
  float* y =
      operands.kept() ? operands.reference.get() + first * shape.n : y_.reserve(count * shape.n);
  if (!known_) {
    product({.x = read(operands.activations->source(), first, count, x_),
             .w = weights(expert),
             .m = count,
             .n = shape.n,
             .k = shape.k,
             .y_type = ElementType::Fp32,
             .y = y,
             .cancel = &step_.context().progress.cancel});
  }
  if (!step_.request().products.bias) return y;
  float* biased = biased_.reserve(count * shape.n);
  std::copy_n(y, count * shape.n, biased);
  step_.add_bias(0, expert, count, ElementType::Fp32, biased);
  return biased;
}

GroupProductError StepReference::fprop(int expert) {
  const GroupedShape& shape = step_.shape();
  GroupProductError error{};
  const std::int64_t rows = step_.rows(expert);
  const std::int64_t strip = std::max<std::int64_t>(1, kStripFloats / (shape.n + shape.k));
  for (std::int64_t row = 0; row < rows; row += strip) {
    const std::int64_t count = std::min(strip, rows - row);
    add_error({.product = step_.output_of(0, expert) + row * shape.n,
               .type = step_.request().recipe.high_precision,
               .reference = fprop_rows(expert, row, count),
               .rows = count,
               .columns = shape.n},
              error);
  }
  return error;
}

GroupProductError StepReference::dgrad(int expert) {
  const GroupedShape& shape = step_.shape();
  GroupProductError error{};
  const std::int64_t rows = step_.rows(expert);
  const std::int64_t strip = std::max<std::int64_t>(1, kStripFloats / (shape.n + shape.k));
  for (std::int64_t row = 0; row < rows; row += strip) {
    const std::int64_t count = std::min(strip, rows - row);
    float* dx = y_.reserve(count * shape.k);
    product(
        {.x = read(step_.operands().gradients->source(), step_.first_row(expert) + row, count, g_),
         .w = weights(expert),
         .w_transposed = true,
         .m = count,
         .n = shape.k,
         .k = shape.n,
         .y_type = ElementType::Fp32,
         .y = dx,
         .cancel = &step_.context().progress.cancel});
    add_error({.product = step_.input_gradient_of(0, expert) + row * shape.k,
               .type = step_.request().recipe.high_precision,
               .reference = dx,
               .rows = count,
               .columns = shape.k},
              error);
  }
  return error;
}

GroupProductError StepReference::wgrad(int expert) {
  const GroupedShape& shape = step_.shape();
  const std::int64_t rows = step_.rows(expert);
  GroupProductError error{};
  if (rows == 0) return error;
  float* dw = y_.reserve(shape.n * shape.k);
  const std::int64_t first = step_.first_row(expert);
  product({.x = read(step_.operands().gradients->source(), first, rows, g_),
           .w = read(step_.operands().activations->source(), first, rows, x_),
           .x_transposed = true,
           .w_transposed = true,
           .m = shape.n,
           .n = shape.k,
           .k = rows,
           .y_type = ElementType::Fp32,
           .y = dw,
           .cancel = &step_.context().progress.cancel});
  add_error({.product = step_.weight_gradient_of(0, expert),
             .type = step_.request().products.wgrad_type,
             .reference = dw,
             .rows = shape.n,
             .columns = shape.k},
            error);
  return error;
}

}  // namespace engine
