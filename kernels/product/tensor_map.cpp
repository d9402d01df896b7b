#include "kernels/product/tensor_map.h"

#include <cuda_runtime_api.h>

namespace kernels::products {
namespace {

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

}  // namespace

TensorShape output_shape(InputType type, const std::array<std::int64_t, 3>& size) {
  const bool wide = type == InputType::Fp32;
  const CUtensorMapDataType narrow =
      type == InputType::Bf16 ? CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 : CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
  return {.type = wide ? CU_TENSOR_MAP_DATA_TYPE_FLOAT32 : narrow,
          .element_bytes = wide ? 4 : 2,
          .dimensions = 3,
          .size = size,
          .box = {wide ? 32 : 64, 16, 1},
          .swizzled = true};
}

bool encode_tensor_map(CUtensorMap& map, const void* data, const TensorShape& shape) {
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

}  // namespace kernels::products
