// Launches the M-grouped products of FP8 block scaling.
#include "kernels/product/cluster_launch.cuh"
#include "kernels/product/m_grouped_block.cuh"
#include "kernels/product/tensor_map.h"

namespace kernels {
namespace {

using products::encode_tensor_map;
using products::MGrouped;
using products::MGroupedMaps;
using products::MGroupedParameters;
using products::output_shape;

std::int64_t pairs_of(const MGroupedBlockArgs& args) {
  return ceil_div(args.columns, kMGroupedTileColumns * kMGroupedCluster);
}

bool make_maps(MGroupedMaps& maps, const MGroupedBlockArgs& args) {
  return encode_tensor_map(maps.x, args.x.codes,
                           {.size = {args.reduction, args.capacity_rows},
                            .box = {kBlock, MGrouped::kBoxRows},
                            .swizzled = true}) &&
         encode_tensor_map(maps.w, args.w.codes,
                           {.size = {args.reduction, args.num_groups * args.columns},
                            .box = {kBlock, kMGroupedTileColumns},
                            .swizzled = true}) &&
         encode_tensor_map(maps.output, args.output,
                           output_shape(args.type, {args.columns, args.capacity_rows, 1}));
}

template <Fp8Format kX, InputType kType, int kTileRows>
cudaError_t launch(const MGroupedBlockArgs& args, const MGroupedMaps& maps,
                   const LaunchStream& on) {
  const MGroupedParameters parameters{.row_offsets = args.row_offsets,
                                      .groups = args.num_groups,
                                      .columns = static_cast<int>(args.columns),
                                      .blocks = static_cast<int>(ceil_div(args.reduction, kBlock)),
                                      .pairs = static_cast<int>(pairs_of(args)),
                                      .x_scales = args.x.scale_inv,
                                      .w_scales = args.w.scale_inv,
                                      .output = args.output,
                                      .stamps = args.stamps,
                                      .tickets = args.tickets};
  return products::launch_clusters<static_cast<unsigned>(kMGroupedCluster)>(
      products::m_grouped_block_kernel<kX, kType, kTileRows>,
      {.units = m_grouped_block_tiles(args) / kMGroupedCluster,
       .threads = MGrouped::kThreads,
       .shared_bytes = products::m_grouped_shared_bytes<kTileRows>(args.num_groups),
       .most_shared_bytes = products::m_grouped_shared_bytes<kTileRows>(kMaxGroups)},
      on, maps, parameters);
}

template <Fp8Format kX, InputType kType>
cudaError_t launch_tiles(const MGroupedBlockArgs& args, const MGroupedMaps& maps,
                         const LaunchStream& on) {
  return m_grouped_tile_rows(args) == kMGroupedTileRows[0]
             ? launch<kX, kType, kMGroupedTileRows[0]>(args, maps, on)
             : launch<kX, kType, kMGroupedTileRows[1]>(args, maps, on);
}

bool addressable(const MGroupedBlockArgs& args) {
  constexpr std::int64_t kMost = std::int64_t{1} << 31;
  return (args.tile_rows == 0 || args.tile_rows == kMGroupedTileRows[0] ||
          args.tile_rows == kMGroupedTileRows[1]) &&
         args.num_groups >= 1 && args.num_groups <= kMaxGroups && args.columns > 0 &&
         args.columns % 16 == 0 && args.reduction > 0 && args.reduction % 16 == 0 &&
         args.capacity_rows > 0 && args.capacity_rows + 3 * args.num_groups < kMost &&
         args.num_groups * args.columns < kMost && m_grouped_block_tiles(args) < kMost &&
         args.w.format == Fp8Format::E4m3 && products::copy_aligned(args.x.codes) &&
         products::copy_aligned(args.w.codes) && products::copy_aligned(args.x.scale_inv) &&
         products::copy_aligned(args.output);
}

}  // namespace

cudaError_t m_grouped_block(const MGroupedBlockArgs& args, LaunchStream stream) {
  if (!addressable(args)) return cudaErrorInvalidValue;
  MGroupedMaps maps;
  if (!make_maps(maps, args)) return cudaErrorNotSupported;
  cudaError_t status = cudaSuccess;
  dispatch_input(args.type, [&](auto type) {
    constexpr InputType kType = decltype(type)::value;
    status = args.x.format == Fp8Format::E5m2
                 ? launch_tiles<Fp8Format::E5m2, kType>(args, maps, stream)
                 : launch_tiles<Fp8Format::E4m3, kType>(args, maps, stream);
  });
  return status;
}

}  // namespace kernels
