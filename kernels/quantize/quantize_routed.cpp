// CPU twins: the rows are gathered, then quantized, which is the definition.
#include "kernels/quantize/quantize_routed.h"

#include <cstring>
#include <vector>

#include "kernels/amax/group_amax.h"

namespace kernels {
namespace {

/// The operand's rows, gathered; rows of no group stay unread.
class GatheredRows {
 public:
  GatheredRows(const GroupedInput& input, const std::int32_t* row_tokens) : input_(input) {
    const std::int64_t bytes = input.columns * element_bytes(input.type);
    const std::int64_t rows = input.row_offsets[input.num_groups];
    values_.resize(static_cast<std::size_t>(rows * bytes));
    for (std::int64_t row = 0; row < rows; ++row) {
      std::memcpy(values_.data() + row * bytes,
                  static_cast<const std::byte*>(input.input) + row_tokens[row] * bytes,
                  static_cast<std::size_t>(bytes));
    }
    input_.input = values_.data();
  }
  GatheredRows(const GatheredRows&) = delete;
  GatheredRows& operator=(const GatheredRows&) = delete;

  const GroupedInput& input() const { return input_; }

 private:
  GroupedInput input_;
  std::vector<std::byte> values_;
};

}  // namespace

void routed_amax_cpu(const RoutedAmaxArgs& args, const std::int32_t* row_tokens) {
  const GatheredRows rows(args.input, row_tokens);
  group_amax_cpu({.input = rows.input(), .amax = args.amax, .noop = args.noop});
}

void quantize_per_tensor_routed_cpu(const QuantizePerTensorArgs& args,
                                    const std::int32_t* row_tokens) {
  const GatheredRows rows(args.input, row_tokens);
  QuantizePerTensorArgs gathered = args;
  gathered.input = rows.input();
  quantize_per_tensor_cpu(gathered);
}

void quantize_block_lines_routed_cpu(const QuantizeBlockArgs& args,
                                     const std::int32_t* row_tokens) {
  const GatheredRows rows(args.input, row_tokens);
  QuantizeBlockArgs gathered = args;
  gathered.input = rows.input();
  quantize_block_lines_cpu(gathered);
}

void quantize_mxfp8_routed_cpu(const QuantizeMxfp8Args& args, const std::int32_t* row_tokens) {
  const GatheredRows rows(args.input, row_tokens);
  QuantizeMxfp8Args gathered = args;
  gathered.input = rows.input();
  quantize_mxfp8_cpu(gathered);
}

}  // namespace kernels
