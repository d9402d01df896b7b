// Instances and launchers of the tile kernel with gathered rows.
#include "kernels/amax/clear_amax.cuh"
#include "kernels/quantize/nvfp4_amax.cuh"
#include "kernels/quantize/quantize_block_tile.cuh"
#include "kernels/quantize/quantize_mxfp8.cuh"
#include "kernels/quantize/quantize_routed.h"

namespace kernels {
namespace {

using tiles::TileInput;

cudaError_t check(const GroupedInput& input, const LaunchControls& controls,
                  const std::int32_t* row_tokens, std::initializer_list<const void*> outputs) {
  const bool rows = input.num_groups > 0 && input.capacity_rows > 0;
  if (rows && (input.input == nullptr || input.row_offsets == nullptr || row_tokens == nullptr)) {
    return cudaErrorInvalidValue;
  }
  if (!input.activation.is_none() || controls.stamps.stamps != nullptr)
    return cudaErrorNotSupported;
  for (const void* output : outputs) {
    if (const cudaError_t bad = check_operands(input, output); bad != cudaSuccess) return bad;
  }
  return cudaSuccess;
}

template <class Worker, class Parameters>
cudaError_t launch(const Parameters& parameters, const std::int32_t* row_tokens,
                   LaunchStream stream) {
  using Routed = tiles::Routed<Worker>;
  return tiles::launch_tiles<Routed>(typename Routed::Parameters{parameters, row_tokens}, stream);
}

template <tiles::TileScaling kScaling>
cudaError_t launch_block(const tiles::TileParameters& parameters, const std::int32_t* row_tokens,
                         LaunchStream stream) {
  cudaError_t error = cudaSuccess;
  dispatch_cast(parameters.args.input.type, parameters.args.format, [&](auto type, auto format) {
    using Worker = tiles::BlockWorker<type(), format(), kScaling, TileInput::Plain, false>;
    error = launch<Worker>(parameters, row_tokens, stream);
  });
  return error;
}

}  // namespace

cudaError_t routed_amax(const RoutedAmaxArgs& args, const std::int32_t* row_tokens,
                        LaunchStream stream) {
  if (const cudaError_t bad = check(args.input, {}, row_tokens, {nullptr}); bad != cudaSuccess)
    return bad;
  if (args.input.num_groups == 0) return cudaSuccess;
  if (const cudaError_t error = clear_amax(args.amax, args.input.num_groups, args.noop, stream);
      error != cudaSuccess) {
    return error;
  }
  const tiles::Nvfp4AmaxParameters parameters{
      .args = {.input = args.input, .rowwise_amax = args.amax, .noop = args.noop}};
  cudaError_t error = cudaSuccess;
  dispatch_input(args.input.type, [&](auto type) {
    error = launch<tiles::Nvfp4AmaxWorker<type()>>(parameters, row_tokens, stream);
  });
  return error;
}

cudaError_t quantize_per_tensor_routed(const QuantizePerTensorArgs& args,
                                       const std::int32_t* row_tokens, LaunchStream stream) {
  if (const cudaError_t bad =
          check(args.input, args.controls, row_tokens, {args.rowwise, args.columnwise});
      bad != cudaSuccess) {
    return bad;
  }
  if (args.input.num_groups == 0) return cudaSuccess;
  return launch_block<tiles::TileScaling::PerTensor>(tiles::per_tensor_parameters(args), row_tokens,
                                                     stream);
}

cudaError_t quantize_block_lines_routed(const QuantizeBlockArgs& args,
                                        const std::int32_t* row_tokens, LaunchStream stream) {
  if (args.block != kBlock) return cudaErrorNotSupported;
  if (const cudaError_t bad =
          check(args.input, args.controls, row_tokens, {args.rowwise.codes, args.columnwise.codes});
      bad != cudaSuccess) {
    return bad;
  }
  if (args.input.num_groups == 0) return cudaSuccess;
  return launch_block<tiles::TileScaling::Block1x128>(
      {.args = args, .rule = block_scale_rule(args)}, row_tokens, stream);
}

cudaError_t quantize_mxfp8_routed(const QuantizeMxfp8Args& args, const std::int32_t* row_tokens,
                                  LaunchStream stream) {
  if (const cudaError_t bad = check(
          args.input, args.controls, row_tokens,
          {args.rowwise.codes, args.columnwise.codes, args.rowwise.scales, args.columnwise.scales});
      bad != cudaSuccess) {
    return bad;
  }
  if (args.input.num_groups == 0) return cudaSuccess;
  const tiles::Mxfp8Parameters parameters{.args = args};
  cudaError_t error = cudaSuccess;
  dispatch_cast(args.input.type, args.format, [&](auto type, auto format) {
    using Worker = tiles::Mxfp8Worker<type(), format(), TileInput::Plain, false>;
    error = launch<Worker>(parameters, row_tokens, stream);
  });
  return error;
}

}  // namespace kernels
