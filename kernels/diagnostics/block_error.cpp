#include "kernels/diagnostics/block_error.h"

#include <algorithm>
#include <vector>

#include "kernels/common/input_elements.h"

namespace kernels {
namespace {

template <InputType kType>
int bin_of(const BlockErrorArgs& args, std::int64_t begin, std::int64_t end) {
  const auto* const input =
      static_cast<const typename InputElement<kType>::Bits*>(args.input.input);
  BlockErrorSums sums;
  for (std::int64_t i = begin; i < end; ++i) {
    const float x = InputElement<kType>::value(input[i]);
    sums.add(x, args.decoded == nullptr ? x : args.decoded[i]);
  }
  return sums.bin();
}

template <InputType kType>
void count(const BlockErrorArgs& args) {
  constexpr std::int64_t kStripRows = 256;
  const std::int64_t rows = args.input.row_offsets[args.input.num_groups];
  const std::int64_t columns = args.input.columns;
  const std::int64_t blocks = ceil_div(columns, kErrorBlock);
  std::vector<int> bins(static_cast<std::size_t>(std::min(rows, kStripRows) * blocks));
  for (std::int64_t first = 0; first < rows; first += kStripRows) {
    const std::int64_t end_row = std::min(first + kStripRows, rows);
#pragma omp parallel for schedule(static)
    for (std::int64_t row = first; row < end_row; ++row) {
      for (std::int64_t block = 0; block < blocks; ++block) {
        const std::int64_t begin = row * columns + block * kErrorBlock;
        const std::int64_t end = std::min(begin + kErrorBlock, (row + 1) * columns);
        bins[static_cast<std::size_t>((row - first) * blocks + block)] =
            bin_of<kType>(args, begin, end);
      }
    }
    for (std::int64_t i = 0; i < (end_row - first) * blocks; ++i) {
      if (const int bin = bins[static_cast<std::size_t>(i)]; bin >= 0) ++args.counts[bin];
    }
  }
}

}  // namespace

void block_errors_cpu(const BlockErrorArgs& args) {
  switch (args.input.type) {
    case InputType::Bf16:
      return count<InputType::Bf16>(args);
    case InputType::Fp16:
      return count<InputType::Fp16>(args);
    case InputType::Fp32:
      return count<InputType::Fp32>(args);
  }
}

}  // namespace kernels
