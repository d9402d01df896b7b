// Launches the weight gradients of FP8 block scaling.
#include <array>
#include <utility>

#include "kernels/product/wgrad_block.cuh"

namespace kernels {
namespace {

using products::WgradMaps;
using products::WgradParameters;

using EncodeTensorMap = decltype(&cuTensorMapEncodeTiled);

/// The driver's, since the program is not linked with it. Null if it is too old.
EncodeTensorMap tensor_map_encoder() {
  static const EncodeTensorMap encoder = [] {
    constexpr unsigned kSince = 12000;
    void* found = nullptr;
    cudaDriverEntryPointQueryResult result = cudaDriverEntryPointSymbolNotFound;
    const cudaError_t status = cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found,
                                                                kSince, cudaEnableDefault, &result);
    return status == cudaSuccess ? reinterpret_cast<EncodeTensorMap>(found) : nullptr;
  }();
  return encoder;
}

/// A tensor of up to three dimensions, the innermost first, and the box that is copied at a time.
struct TensorShape {
  CUtensorMapDataType type = CU_TENSOR_MAP_DATA_TYPE_UINT8;
  int element_bytes = 1;
  int dimensions = 2;
  std::array<std::int64_t, 3> size = {1, 1, 1};
  std::array<std::int64_t, 3> box = {1, 1, 1};
  bool swizzled = false;  // lines of 128 bytes
};

bool encode(CUtensorMap& map, const void* data, const TensorShape& shape) {
  const EncodeTensorMap encoder = tensor_map_encoder();
  if (encoder == nullptr) return false;
  std::array<cuuint64_t, 3> sizes{};
  std::array<cuuint64_t, 3> strides{};  // in bytes, without the innermost
  std::array<cuuint32_t, 3> boxes{};
  const std::array<cuuint32_t, 3> steps = {1, 1, 1};
  auto bytes = static_cast<cuuint64_t>(shape.element_bytes);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    sizes[i] = static_cast<cuuint64_t>(shape.size[i]);
    boxes[i] = static_cast<cuuint32_t>(shape.box[i]);
    bytes *= sizes[i];
    strides[i] = bytes;
  }
  return encoder(&map, shape.type, static_cast<cuuint32_t>(shape.dimensions),
                 const_cast<void*>(data), sizes.data(), strides.data(), boxes.data(), steps.data(),
                 CU_TENSOR_MAP_INTERLEAVE_NONE,
                 shape.swizzled ? CU_TENSOR_MAP_SWIZZLE_128B : CU_TENSOR_MAP_SWIZZLE_NONE,
                 CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                 CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS;
}

bool encode_codes(CUtensorMap& map, const WgradBlockArgs& args, const JoinedCodes& operand,
                  std::int64_t lines, std::int64_t box_lines) {
  return encode(
      map, operand.codes,
      {.size = {args.capacity_rows, lines}, .box = {kBlock, box_lines}, .swizzled = true});
}

bool encode_scales(CUtensorMap& map, const WgradBlockArgs& args, const JoinedCodes& operand,
                   std::int64_t lines, std::int64_t box_lines) {
  return encode(map, operand.scale_inv,
                {.type = CU_TENSOR_MAP_DATA_TYPE_FLOAT32,
                 .element_bytes = 4,
                 .size = {lines, wgrad_scale_blocks(args.capacity_rows, args.num_groups)},
                 .box = {box_lines, 1}});
}

bool encode_gradient(CUtensorMap& map, const WgradBlockArgs& args) {
  const bool wide = args.type == InputType::Fp32;
  const CUtensorMapDataType narrow = args.type == InputType::Bf16 ? CU_TENSOR_MAP_DATA_TYPE_BFLOAT16
                                                                  : CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
  return encode(map, args.gradient,
                {.type = wide ? CU_TENSOR_MAP_DATA_TYPE_FLOAT32 : narrow,
                 .element_bytes = wide ? 4 : 2,
                 .dimensions = 3,
                 .size = {args.k, args.n, args.num_groups},
                 .box = {wide ? 32 : 64, 16, 1},
                 .swizzled = true});
}

bool make_maps(WgradMaps& maps, const WgradBlockArgs& args) {
  return encode_codes(maps.y, args, args.y, args.n, kWgradTileRows / kWgradCluster) &&
         encode_codes(maps.x, args, args.x, args.k, kWgradTileColumns) &&
         encode_scales(maps.y_scales, args, args.y, args.n, kWgradTileRows) &&
         encode_scales(maps.x_scales, args, args.x, args.k, kWgradTileColumns) &&
         encode_gradient(maps.gradient, args);
}

/// 0 where the device cannot run the kernel.
int multiprocessors() {
  int device = 0;
  int major = 0;
  int count = 0;
  if (cudaGetDevice(&device) != cudaSuccess ||
      cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) != cudaSuccess ||
      cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device) != cudaSuccess) {
    return 0;
  }
  return major == 9 ? count : 0;
}

template <Fp8Format kY, Fp8Format kX, InputType kType, bool kAccumulate>
cudaError_t launch(const WgradMaps& maps, const WgradParameters& parameters,
                   const LaunchStream& on) {
  auto* kernel = products::wgrad_block_kernel<kY, kX, kType, kAccumulate>;
  constexpr auto kCluster = static_cast<unsigned>(kWgradCluster);
  const int available = multiprocessors();
  if (available == 0) return cudaErrorNotSupported;
  const std::size_t shared_bytes = products::wgrad_shared_bytes(parameters.groups);
  const cudaError_t allowed = cudaFuncSetAttribute(
      reinterpret_cast<const void*>(kernel), cudaFuncAttributeMaxDynamicSharedMemorySize,
      static_cast<int>(products::wgrad_shared_bytes(kMaxGroups)));
  if (allowed != cudaSuccess) return allowed;
  const std::int64_t clusters =
      std::min<std::int64_t>(parameters.order.units(), available / static_cast<int>(kCluster));
  cudaLaunchConfig_t config =
      launch_config({.grid = dim3(static_cast<unsigned>(clusters) * kCluster),
                     .threads = products::kWgradThreads,
                     .shared_bytes = shared_bytes},
                    on.stream);
  std::array<cudaLaunchAttribute, 2> attributes{};
  attributes[0].id = cudaLaunchAttributeClusterDimension;
  attributes[0].val.clusterDim.x = kCluster;
  attributes[0].val.clusterDim.y = 1;
  attributes[0].val.clusterDim.z = 1;
  attributes[1].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attributes[1].val.programmaticStreamSerializationAllowed = 1;
  config.attrs = attributes.data();
  config.numAttrs = on.programmatic ? 2 : 1;
  return launch_configured(config, kernel, maps, parameters);
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
  const auto aligned = [](const void* pointer) {
    return reinterpret_cast<std::uintptr_t>(pointer) % 16 == 0;
  };
  constexpr std::int64_t kMost = std::int64_t{1} << 31;
  return args.num_groups >= 1 && args.num_groups <= kMaxGroups && args.n > 0 && args.n % 16 == 0 &&
         args.k > 0 && args.k % 16 == 0 && args.capacity_rows > 0 &&
         args.capacity_rows % kJoinedUnit == 0 && args.capacity_rows < kMost &&
         wgrad_scale_blocks(args.capacity_rows, args.num_groups) < products::kMostWgradBlocks &&
         wgrad_block_tiles(args) < kMost && aligned(args.y.codes) && aligned(args.x.codes) &&
         aligned(args.y.scale_inv) && aligned(args.x.scale_inv) && aligned(args.gradient);
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
