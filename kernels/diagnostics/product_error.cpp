// Error of a product against an FP32 reference, per group, on the CPU.
#include <algorithm>
#include <bit>
#include <cmath>

#include "kernels/common/element_run.h"
#include "kernels/common/input_elements.h"
#include "kernels/diagnostics/row_tasks.h"
#include "kernels/diagnostics/statistics.h"

namespace kernels {

namespace {

constexpr std::int64_t kElementsPerTask = 1 << 16;

/// Inlined into the clones below, one per element type: a template itself cannot be cloned.
template <class Element, class Read>
[[gnu::always_inline]] inline GroupProductError sum_errors(const Element* product,
                                                           const float* reference,
                                                           std::int64_t count, Read read) {
  double reference_squares = 0.0;
  double error_squares = 0.0;
  double largest = 0.0;
  std::uint64_t elements = 0;
  std::uint64_t references = 0;  // finite ones
#pragma omp simd reduction(+ : reference_squares, error_squares, elements, references) \
    reduction(max : largest)
  for (std::int64_t i = 0; i < count; ++i) {
    const float value = read(product[i]);
    const bool has_reference =
        (std::bit_cast<std::uint32_t>(reference[i]) & 0x7F800000U) != 0x7F800000U;
    const bool counts =
        (std::bit_cast<std::uint32_t>(value) & 0x7F800000U) != 0x7F800000U && has_reference;
    const double expected = counts ? reference[i] : 0.0F;
    const double error = static_cast<double>(counts ? value : 0.0F) - expected;
    reference_squares += expected * expected;
    error_squares += error * error;
    largest = std::max(largest, std::fabs(error));
    elements += counts ? 1U : 0U;
    references += has_reference ? 1U : 0U;
  }
  return {.reference_squares = reference_squares,
          .error_squares = error_squares,
          .max_abs_error = largest,
          .elements = elements,
          .lost = references - elements,
          .undefined = static_cast<std::uint64_t>(count) - references};
}

KERNELS_VECTOR_CLONES
GroupProductError span_error_bf16(const std::uint16_t* product, const float* reference,
                                  std::int64_t count) {
  return sum_errors(product, reference, count,
                    [](std::uint16_t bits) { return InputElement<InputType::Bf16>::value(bits); });
}

KERNELS_VECTOR_CLONES
GroupProductError span_error_fp16(const std::uint16_t* product, const float* reference,
                                  std::int64_t count) {
  return sum_errors(product, reference, count,
                    [](std::uint16_t bits) { return InputElement<InputType::Fp16>::value(bits); });
}

KERNELS_VECTOR_CLONES
GroupProductError span_error_fp32(const float* product, const float* reference,
                                  std::int64_t count) {
  return sum_errors(product, reference, count, [](float value) { return value; });
}

GroupProductError span_error(const ProductErrorArgs& args, std::int64_t first, std::int64_t count) {
  const float* reference = args.reference + first;
  switch (args.product_type) {
    case InputType::Fp32:
      return span_error_fp32(static_cast<const float*>(args.product) + first, reference, count);
    case InputType::Fp16:
      return span_error_fp16(static_cast<const std::uint16_t*>(args.product) + first, reference,
                             count);
    case InputType::Bf16:
      break;
  }
  return span_error_bf16(static_cast<const std::uint16_t*>(args.product) + first, reference, count);
}

}  // namespace

void product_error_cpu(const ProductErrorArgs& args) {
  const std::vector<RowTask> tasks =
      row_tasks(args.row_offsets, args.num_groups, args.columns, kElementsPerTask);
  std::vector<GroupProductError> parts(tasks.size());
#pragma omp parallel for schedule(dynamic)
  for (std::size_t t = 0; t < tasks.size(); ++t) {
    const RowTask& task = tasks[t];
    const std::int64_t first = (args.row_offsets[task.group] + task.first_row) * args.columns;
    parts[t] = span_error(args, first, (task.last_row - task.first_row) * args.columns);
  }
  // In task order, so that the sums do not depend on the number of threads.
  for (std::size_t t = 0; t < tasks.size(); ++t) {
    add_errors(parts[t], args.errors[tasks[t].group]);
  }
}

}  // namespace kernels
