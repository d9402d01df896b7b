// Instances and launchers of the NVFP4 workers.
#include "kernels/amax/clear_amax.cuh"
#include "kernels/quantize/nvfp4_amax.cuh"
#include "kernels/quantize/quantize_nvfp4.cuh"

namespace kernels {

cudaError_t nvfp4_amax(const Nvfp4AmaxArgs& args, LaunchStream stream) {
  const GroupedInput& input = args.input;
  if (const cudaError_t bad = check_operands(input, nullptr); bad != cudaSuccess) return bad;
  if (!input.activation.is_none()) return cudaErrorNotSupported;
  if (input.num_groups == 0) return cudaSuccess;
  cudaError_t error = cudaSuccess;
  for (float* amax : {args.rowwise_amax, args.columnwise_amax}) {
    if (amax != nullptr) error = clear_amax(amax, input.num_groups, args.noop, stream);
    if (error != cudaSuccess) return error;
  }
  const tiles::Nvfp4AmaxParameters parameters{.args = args};
  dispatch_input(input.type, [&](auto type) {
    error = tiles::launch_tiles<tiles::Nvfp4AmaxWorker<type()>>(parameters, stream);
  });
  return error;
}

cudaError_t quantize_nvfp4(const QuantizeNvfp4Args& args, LaunchStream stream) {
  const GroupedInput& input = args.input;
  for (const std::uint8_t* bytes :
       {args.rowwise.codes, args.columnwise.codes, args.rowwise.scales, args.columnwise.scales}) {
    if (const cudaError_t bad = check_operands(input, bytes); bad != cudaSuccess) return bad;
  }
  if (!input.activation.is_none()) return cudaErrorNotSupported;
  if (args.square_blocks && args.hadamard) return cudaErrorInvalidValue;
  if (input.num_groups == 0) return cudaSuccess;
  const tiles::Nvfp4Parameters parameters{.args = args};
  const bool stamped = args.controls.stamps.stamps != nullptr;
  if (stamped && input.type != InputType::Bf16) return cudaErrorNotSupported;
  cudaError_t error = cudaSuccess;
  dispatch_input(input.type, [&](auto type) {
    const auto launch = [&]<bool kStamped>() {
      return args.stochastic_rounding
                 ? tiles::launch_tiles<tiles::Nvfp4Worker<type(), true, kStamped>>(parameters,
                                                                                   stream)
                 : tiles::launch_tiles<tiles::Nvfp4Worker<type(), false, kStamped>>(parameters,
                                                                                    stream);
    };
    if constexpr (type() == InputType::Bf16) {
      error = stamped ? launch.template operator()<true>() : launch.template operator()<false>();
    } else {
      error = launch.template operator()<false>();
    }
  });
  return error;
}

}  // namespace kernels
