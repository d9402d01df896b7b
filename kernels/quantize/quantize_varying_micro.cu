// Instances and launchers of the pipeline for varying groups: MXFP8 and NVFP4.
#include "kernels/amax/clear_amax.cuh"
#include "kernels/quantize/nvfp4_amax.cuh"
#include "kernels/quantize/quantize_mxfp8.cuh"
#include "kernels/quantize/quantize_nvfp4.cuh"
#include "kernels/quantize/varying_launch.cuh"

namespace kernels {
namespace tiles {

/// Parameters that are arguments alone.
template <class Parameters>
__device__ __forceinline__ Parameters group_parameters(const Parameters& whole,
                                                       const GroupPlace& place) {
  return {.args = group_arguments(whole.args, place)};
}

}  // namespace tiles

cudaError_t quantize_mxfp8_varying(const QuantizeMxfp8Args& args, const VaryingOperand& operand,
                                   LaunchStream stream) {
  if (const cudaError_t bad = check_varying(
          args, operand, args.bias_partials,
          {args.rowwise.codes, args.columnwise.codes, args.rowwise.scales, args.columnwise.scales});
      bad != cudaSuccess) {
    return bad;
  }
  if (lacks_places(args.rowwise.codes, args.columnwise.codes, operand.places)) {
    return cudaErrorInvalidValue;
  }
  if (args.input.num_groups == 0) return cudaSuccess;
  const tiles::Mxfp8Parameters whole{.args = args};
  cudaError_t error = cudaSuccess;
  dispatch_cast(args.input.type, args.format, [&](auto type, auto format) {
    using Worker = tiles::Mxfp8Worker<type(), format(), tiles::TileInput::Plain, false>;
    error = tiles::launch_varying_tiles<Worker>(whole, operand, stream);
  });
  return error;
}

cudaError_t nvfp4_amax_varying(const Nvfp4AmaxArgs& args, const VaryingOperand& operand,
                               LaunchStream stream) {
  if (!args.input.activation.is_none()) return cudaErrorNotSupported;
  if (const cudaError_t bad = check_varying_input(args.input, operand); bad != cudaSuccess) {
    return bad;
  }
  if (args.input.num_groups == 0) return cudaSuccess;
  cudaError_t error = cudaSuccess;
  for (float* amax : {args.rowwise_amax, args.columnwise_amax}) {
    if (amax != nullptr) error = clear_amax(amax, args.input.num_groups, args.noop, stream);
    if (error != cudaSuccess) return error;
  }
  const tiles::Nvfp4AmaxParameters whole{.args = args};
  dispatch_input(args.input.type, [&](auto type) {
    error = tiles::launch_varying_tiles<tiles::Nvfp4AmaxWorker<type()>>(whole, operand, stream);
  });
  return error;
}

cudaError_t quantize_nvfp4_varying(const QuantizeNvfp4Args& args, const VaryingOperand& operand,
                                   LaunchStream stream) {
  if (args.stochastic_rounding) return cudaErrorNotSupported;
  if (args.square_blocks && args.hadamard) return cudaErrorInvalidValue;
  if (const cudaError_t bad = check_varying(
          args, operand, nullptr,
          {args.rowwise.codes, args.columnwise.codes, args.rowwise.scales, args.columnwise.scales});
      bad != cudaSuccess) {
    return bad;
  }
  if (lacks_places(args.rowwise.codes, args.columnwise.codes, operand.places) ||
      (args.columnwise.codes != nullptr && operand.places.columnwise_codes == nullptr)) {
    return cudaErrorInvalidValue;
  }
  if (args.input.num_groups == 0) return cudaSuccess;
  const tiles::Nvfp4Parameters whole{.args = args};
  cudaError_t error = cudaSuccess;
  dispatch_input(args.input.type, [&](auto type) {
    using Worker = tiles::Nvfp4Worker<type(), false, false>;
    error = tiles::launch_varying_tiles<Worker>(whole, operand, stream);
  });
  return error;
}

}  // namespace kernels
