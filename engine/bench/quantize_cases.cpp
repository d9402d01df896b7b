#include "engine/bench/quantize_cases.h"

#include "engine/bench/bench_operand.h"

namespace engine {
namespace {

using namespace kernels;

constexpr double kFloat = 4;  // bytes

/// Adds cases with the names and bytes of one operand.
class CaseList {
 public:
  CaseList(BenchTarget& target, const BenchOperand& operand)
      : target_(target),
        operand_(operand),
        count_(static_cast<double>(operand.active_rows * operand.input.columns)) {}

  void add(std::string kernel, double bytes_per_element, Launch launch) {
    cases_.push_back({std::move(kernel), bytes_per_element * count_, std::move(launch)});
  }
  std::vector<BenchCase> take() { return std::move(cases_); }

  void add_copy() {
    const std::int64_t bytes = operand_.active_rows * operand_.input.columns * 3 / 2;
    const auto* from = static_cast<const std::byte*>(operand_.input.input);
    add("copy", 3, [&target = target_, to = operand_.copied, from, bytes] {
      return target.copy(to, from, bytes);
    });
    add("offsets", 0, [&target = target_, args = operand_.offsets] { return target.run(args); });
  }

  void add_block(const char* kernel, double bytes, bool square, bool row, bool column,
                 bool bias = false) {
    QuantizeBlockArgs args{.input = operand_.input, .options = {.pow2 = true}};
    if (row) args.rowwise = {.codes = operand_.codes, .scale_inv = operand_.scales};
    if (column) {
      args.columnwise = {.codes = operand_.transposed, .scale_inv = operand_.column_scales};
      args.controls.tickets = operand_.tickets;
    }
    if (bias) args.bias_partials = operand_.bias_partials;
    add(kernel, bytes,
        [&target = target_, args, square] { return target.run_block(args, square); });
  }

  void add_per_tensor() {
    const GroupAmaxArgs amax{.input = operand_.input, .amax = operand_.amax};
    const PerTensorScaleArgs scale{.amax = operand_.amax,
                                   .num_groups = operand_.input.num_groups,
                                   .scale = operand_.scale,
                                   .scale_inv = operand_.scale_inv};
    const auto current = [&target = target_, amax, scale](const QuantizePerTensorArgs& cast) {
      return Launch([&target, amax, scale, cast]() -> Status {
        if (Status done = target.run(amax); !done.ok()) return done;
        if (Status done = target.run(scale); !done.ok()) return done;
        return target.run(cast);
      });
    };
    QuantizePerTensorArgs cast{
        .input = operand_.input, .scale = operand_.scale, .rowwise = operand_.codes};
    add("per_tensor_current", 5, current(cast));
    cast.columnwise = operand_.transposed;
    cast.controls.tickets = operand_.tickets;
    add("per_tensor_current_both", 6, current(cast));
    cast.amax = operand_.amax;
    cast.scale_inv = operand_.scale_inv;
    add("per_tensor_delayed_both", 4, [&target = target_, cast] { return target.run(cast); });
  }

  void add_mxfp8(const char* kernel, bool row, bool column, bool square = false) {
    QuantizeMxfp8Args args{.input = operand_.input, .square_blocks = square};
    if (row) args.rowwise = {operand_.codes, operand_.scale_bytes};
    if (column) args.columnwise = {operand_.transposed, operand_.column_scale_bytes};
    args.controls.tickets = operand_.tickets;
    const double bytes = row && column ? 4 + 2.0 / kMxBlock : 3 + 1.0 / kMxBlock;
    add(kernel, bytes, [&target = target_, args] { return target.run(args); });
  }

  /// The operand's columns as gates and values: the output has half as many.
  void add_swiglu() {
    GroupedInput gated = operand_.input;
    gated.columns /= 2;
    if (gated.columns % 16 != 0) return;
    gated.activation = Activation::SwiGlu;
    QuantizeBlockArgs block{.input = gated, .options = {.pow2 = true}};
    block.rowwise = {.codes = operand_.codes, .scale_inv = operand_.scales};
    add("swiglu_block_1x128", 2.5 + kFloat / 2 / kBlock,
        [&target = target_, block] { return target.run_block(block, false); });
    block.columnwise = {.codes = operand_.transposed, .scale_inv = operand_.column_scales};
    block.controls.tickets = operand_.tickets;
    add("swiglu_block_1x128_both", 3 + kFloat / kBlock,
        [&target = target_, block] { return target.run_block(block, false); });
    QuantizeMxfp8Args mx{.input = gated};
    mx.rowwise = {operand_.codes, operand_.scale_bytes};
    mx.controls.tickets = operand_.tickets;
    add("swiglu_mxfp8", 2.5 + 0.5 / kMxBlock, [&target = target_, mx] { return target.run(mx); });
  }

  void add_nvfp4_amax() {
    const Nvfp4AmaxArgs args{.input = operand_.input,
                             .hadamard = true,
                             .rowwise_amax = operand_.amax,
                             .columnwise_amax = operand_.amax};
    add("nvfp4_amax", 2, [&target = target_, args] { return target.run(args); });
  }

  void add_nvfp4(const char* kernel, bool column, bool hadamard = false) {
    QuantizeNvfp4Args args{.input = operand_.input, .hadamard = hadamard};
    args.rowwise = {operand_.codes, operand_.scale_bytes, operand_.amax};
    if (column) {
      args.columnwise = {operand_.transposed, operand_.column_scale_bytes, operand_.amax};
    }
    args.controls.tickets = operand_.tickets;
    const double bytes = column ? 3 + 2.0 / kNvBlock : 2.5 + 1.0 / kNvBlock;
    add(kernel, bytes, [&target = target_, args] { return target.run(args); });
  }

 private:
  BenchTarget& target_;
  const BenchOperand operand_;
  const double count_;
  std::vector<BenchCase> cases_;
};

}  // namespace

Result<QuantizeCases> make_quantize_cases(BenchTarget& target, const BenchShape& shape) {
  const Result<BenchOperand> operand = make_bench_operand(target, shape);
  if (!operand.ok()) return operand.error();
  CaseList list(target, operand.value());
  const double scale = kFloat / static_cast<double>(kBlock);
  list.add_copy();
  list.add_block("block_1x128", 3 + scale, false, true, false);
  list.add_block("block_128x128", 3, true, true, false);
  list.add_block("block_1x128_columnwise", 3 + scale, false, false, true);
  list.add_block("block_1x128_both", 4 + 2 * scale, false, true, true);
  list.add_block("block_1x128_both_bias", 4 + 2 * scale, false, true, true, true);
  list.add_block("block_128x128_columnwise", 3, true, false, true);
  list.add_block("block_128x128_both", 4, true, true, true);
  list.add_per_tensor();
  list.add_mxfp8("mxfp8_row", true, false);
  list.add_mxfp8("mxfp8_columnwise", false, true);
  list.add_mxfp8("mxfp8_both", true, true);
  list.add_mxfp8("mxfp8_square_both", true, true, true);
  list.add_swiglu();
  list.add_nvfp4_amax();
  list.add_nvfp4("nvfp4_row", false);
  list.add_nvfp4("nvfp4_both", true);
  list.add_nvfp4("nvfp4_both_hadamard", true, true);
  return QuantizeCases{.cases = list.take(),
                       .elements = operand.value().active_rows * shape.columns};
}

}  // namespace engine
