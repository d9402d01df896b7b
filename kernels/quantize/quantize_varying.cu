// Instances and launchers of the pipeline for varying groups: FP8 with scales per block and per
// tensor. The formats with one-byte scales are in quantize_varying_micro.cu.
#include "kernels/quantize/quantize_block_tile.cuh"
#include "kernels/quantize/varying_launch.cuh"

namespace kernels {
namespace tiles {

__device__ __forceinline__ TileParameters group_parameters(const TileParameters& whole,
                                                           const GroupPlace& place) {
  TileParameters own = whole;
  own.args = group_arguments(whole.args, place);
  own.group_scale = shifted(whole.group_scale, place.group);
  own.group_amax = shifted(whole.group_amax, place.group);
  own.group_scale_inv = nullptr;  // written for the whole operand
  return own;
}

}  // namespace tiles

namespace {

using tiles::TileScaling;

template <TileScaling kScaling>
cudaError_t launch_block(const tiles::TileParameters& whole, const VaryingOperand& operand,
                         LaunchStream stream) {
  cudaError_t error = cudaSuccess;
  dispatch_cast(whole.args.input.type, whole.args.format, [&](auto type, auto format) {
    using Worker = tiles::BlockWorker<type(), format(), kScaling, tiles::TileInput::Plain, false>;
    error = tiles::launch_varying_tiles<Worker>(whole, operand, stream);
  });
  return error;
}

}  // namespace

cudaError_t quantize_per_tensor_varying(const QuantizePerTensorArgs& args,
                                        const VaryingOperand& operand, LaunchStream stream) {
  if (const cudaError_t bad =
          check_varying(args, operand, args.bias_partials, {args.rowwise, args.columnwise});
      bad != cudaSuccess) {
    return bad;
  }
  if (args.input.num_groups == 0) return cudaSuccess;
  return launch_block<TileScaling::PerTensor>(tiles::per_tensor_parameters(args), operand, stream);
}

cudaError_t quantize_block_varying(const QuantizeBlockArgs& args, bool square,
                                   const VaryingOperand& operand, LaunchStream stream) {
  if (args.block != kBlock) return cudaErrorNotSupported;
  if (const cudaError_t bad = check_varying(args, operand, args.bias_partials,
                                            {args.rowwise.codes, args.columnwise.codes});
      bad != cudaSuccess) {
    return bad;
  }
  if (lacks_places(args.rowwise.codes, args.columnwise.codes, operand.places)) {
    return cudaErrorInvalidValue;
  }
  if (args.input.num_groups == 0) return cudaSuccess;
  const tiles::TileParameters whole{.args = args, .rule = block_scale_rule(args)};
  return square ? launch_block<TileScaling::Block128x128>(whole, operand, stream)
                : launch_block<TileScaling::Block1x128>(whole, operand, stream);
}

}  // namespace kernels
