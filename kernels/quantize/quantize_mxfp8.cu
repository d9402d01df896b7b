// Instances and launcher of the MXFP8 worker.
#include "kernels/quantize/quantize_mxfp8.cuh"

namespace kernels {

cudaError_t quantize_mxfp8(const QuantizeMxfp8Args& args, LaunchStream stream) {
  for (const std::uint8_t* bytes :
       {args.rowwise.codes, args.columnwise.codes, args.rowwise.scales, args.columnwise.scales}) {
    if (const cudaError_t bad = check_operands(args.input, bytes); bad != cudaSuccess) return bad;
  }
  if (args.input.num_groups == 0) return cudaSuccess;
  const tiles::Mxfp8Parameters parameters{.args = args};
  const auto launch =
      [&]<InputType kType, Fp8Format kFormat, tiles::TileInput kInput, bool kStamped>() {
        return tiles::launch_tiles<tiles::Mxfp8Worker<kType, kFormat, kInput, kStamped>>(parameters,
                                                                                         stream);
      };
  return tiles::dispatch_tiles(parameters.operand(), args.format, launch);
}

}  // namespace kernels
