// Launches the weight gradients of FP8 block scaling.
#include "kernels/product/cluster_launch.cuh"
#include "kernels/product/tensor_map.h"
#include "kernels/product/wgrad_block.cuh"

namespace kernels {
namespace {

using products::copy_aligned;
using products::encode_tensor_map;
using products::output_shape;
using products::WgradMaps;
using products::WgradParameters;

bool encode_codes(CUtensorMap& map, const WgradBlockArgs& args, const ScaledCodes& operand,
                  std::int64_t lines, std::int64_t box_lines) {
  return encode_tensor_map(
      map, operand.codes,
      {.size = {args.capacity_rows, lines}, .box = {kBlock, box_lines}, .swizzled = true});
}

bool encode_scales(CUtensorMap& map, const WgradBlockArgs& args, const ScaledCodes& operand,
                   std::int64_t lines, std::int64_t box_lines) {
  return encode_tensor_map(
      map, operand.scale_inv,
      {.type = CU_TENSOR_MAP_DATA_TYPE_FLOAT32,
       .element_bytes = 4,
       .size = {lines, wgrad_scale_blocks(args.capacity_rows, args.num_groups)},
       .box = {box_lines, 1}});
}

bool make_maps(WgradMaps& maps, const WgradBlockArgs& args) {
  return encode_codes(maps.y, args, args.y, args.n, kWgradTileRows / kWgradCluster) &&
         encode_codes(maps.x, args, args.x, args.k, kWgradTileColumns) &&
         encode_scales(maps.y_scales, args, args.y, args.n, kWgradTileRows) &&
         encode_scales(maps.x_scales, args, args.x, args.k, kWgradTileColumns) &&
         encode_tensor_map(maps.gradient, args.gradient,
                           output_shape(args.type, {args.k, args.n, args.num_groups}));
}

template <Fp8Format kY, Fp8Format kX, InputType kType, bool kAccumulate>
cudaError_t launch(const WgradMaps& maps, const WgradParameters& parameters,
                   const LaunchStream& on) {
  return products::launch_clusters<static_cast<unsigned>(kWgradCluster)>(
      products::wgrad_block_kernel<kY, kX, kType, kAccumulate>,
      {.units = parameters.order.units(),
       .threads = products::kWgradThreads,
       .shared_bytes = products::wgrad_shared_bytes(parameters.groups),
       .most_shared_bytes = products::wgrad_shared_bytes(kMaxGroups)},
      on, maps, parameters);
}

template <Fp8Format kY, Fp8Format kX>
cudaError_t launch_typed(const WgradBlockArgs& args, const WgradMaps& maps,
                         const WgradParameters& parameters, const LaunchStream& on) {
  cudaError_t status = cudaSuccess;
  dispatch_input(args.type, [&](auto type) {
    constexpr InputType kType = decltype(type)::value;
    status = args.accumulate ? launch<kY, kX, kType, true>(maps, parameters, on)
                             : launch<kY, kX, kType, false>(maps, parameters, on);
  });
  return status;
}

bool addressable(const WgradBlockArgs& args) {
  constexpr std::int64_t kMost = std::int64_t{1} << 31;
  return args.num_groups >= 1 && args.num_groups <= kMaxGroups && args.n > 0 && args.n % 16 == 0 &&
         args.k > 0 && args.k % 16 == 0 && args.capacity_rows > 0 &&
         args.capacity_rows % kJoinedUnit == 0 && args.capacity_rows < kMost &&
         wgrad_scale_blocks(args.capacity_rows, args.num_groups) < products::kMostWgradBlocks &&
         wgrad_block_tiles(args) < kMost && copy_aligned(args.y.codes) &&
         copy_aligned(args.x.codes) && copy_aligned(args.y.scale_inv) &&
         copy_aligned(args.x.scale_inv) && copy_aligned(args.gradient);
}

}  // namespace

cudaError_t wgrad_block(const WgradBlockArgs& args, LaunchStream stream) {
  if (!addressable(args)) return cudaErrorInvalidValue;
  WgradMaps maps;
  if (!make_maps(maps, args)) return cudaErrorNotSupported;
  const WgradParameters parameters{.row_offsets = args.row_offsets,
                                   .first_columns = args.first_columns,
                                   .groups = args.num_groups,
                                   .order = WgradOrder(args.n, args.k, args.num_groups),
                                   .n = static_cast<int>(args.n),
                                   .k = static_cast<int>(args.k),
                                   .gradient = args.gradient,
                                   .stamps = args.stamps};
  constexpr Fp8Format kNarrow = Fp8Format::E4m3;
  constexpr Fp8Format kWide = Fp8Format::E5m2;
  const bool wide_x = args.x.format == kWide;
  if (args.y.format == kWide) {
    return wide_x ? launch_typed<kWide, kWide>(args, maps, parameters, stream)
                  : launch_typed<kWide, kNarrow>(args, maps, parameters, stream);
  }
  return wide_x ? launch_typed<kNarrow, kWide>(args, maps, parameters, stream)
                : launch_typed<kNarrow, kNarrow>(args, maps, parameters, stream);
}

}  // namespace kernels
