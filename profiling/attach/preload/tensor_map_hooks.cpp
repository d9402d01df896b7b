// Encodings of tensor maps. The library asks nothing of the driver here: what a map is for are the
// call's own arguments.
#include "profiling/attach/preload/entry_points.h"
#include "profiling/attach/preload/spool_file.h"
#include "profiling/attach/preload/tensor_maps.h"

namespace attach {
namespace {

std::uint64_t bits_of(CUtensorMapDataType type) {
  switch (type) {
    case CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN8B:
    case CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN16B:
      return 4;
    case CU_TENSOR_MAP_DATA_TYPE_16U6_ALIGN16B:
      return 6;
    case CU_TENSOR_MAP_DATA_TYPE_UINT8:
      return 8;
    case CU_TENSOR_MAP_DATA_TYPE_UINT16:
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT16:
    case CU_TENSOR_MAP_DATA_TYPE_BFLOAT16:
      return 16;
    case CU_TENSOR_MAP_DATA_TYPE_UINT32:
    case CU_TENSOR_MAP_DATA_TYPE_INT32:
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT32:
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT32_FTZ:
    case CU_TENSOR_MAP_DATA_TYPE_TFLOAT32:
    case CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ:
      return 32;
    case CU_TENSOR_MAP_DATA_TYPE_UINT64:
    case CU_TENSOR_MAP_DATA_TYPE_INT64:
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT64:
      return 64;
  }
  return 0;  // of a newer CUDA
}

struct Shape {
  CUtensorMapDataType type;
  cuuint32_t rank;
  const void* address;
  const cuuint64_t* dims;     // [rank], innermost first
  const cuuint64_t* strides;  // [rank - 1], bytes
  CUtensorMapInterleave interleave;
};

/// From the first to behind the last element; 0 = not known. Interleaved channels are not
/// contiguous in their dimension.
std::uint64_t bytes_of(const Shape& shape) {
  const std::uint64_t bits = bits_of(shape.type);
  std::uint64_t row = 0;
  if (bits == 0 || shape.rank == 0 || shape.interleave != CU_TENSOR_MAP_INTERLEAVE_NONE ||
      __builtin_mul_overflow(shape.dims[0], bits, &row))
    return 0;
  std::uint64_t bytes = row / 8 + (row % 8 == 0 ? 0 : 1);
  for (cuuint32_t d = 1; d < shape.rank; ++d) {
    std::uint64_t step = 0;
    if (shape.dims[d] == 0 ||
        __builtin_mul_overflow(shape.dims[d] - 1, shape.strides[d - 1], &step) ||
        __builtin_add_overflow(bytes, step, &bytes))
      return 0;
  }
  return bytes;
}

CUresult encoded(const CUtensorMap* map, const Shape& shape, CUresult result) {
  if (result == CUDA_SUCCESS && spool_header() != nullptr) {
    note_tensor_map(
        map, {.address = reinterpret_cast<std::uint64_t>(shape.address), .bytes = bytes_of(shape)});
  }
  return result;
}

}  // namespace
}  // namespace attach

using attach::real;

extern "C" {

CUresult cuTensorMapEncodeTiled(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank,
                                void* address, const cuuint64_t* dims, const cuuint64_t* strides,
                                const cuuint32_t* box, const cuuint32_t* element_strides,
                                CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill) {
  return attach::encoded(
      map, {type, rank, address, dims, strides, interleave},
      real<&cuTensorMapEncodeTiled>(map, type, rank, address, dims, strides, box, element_strides,
                                    interleave, swizzle, promotion, fill));
}
CUresult cuTensorMapEncodeIm2col(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank,
                                 void* address, const cuuint64_t* dims, const cuuint64_t* strides,
                                 const int* lower, const int* upper, cuuint32_t channels,
                                 cuuint32_t pixels, const cuuint32_t* element_strides,
                                 CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                 CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill) {
  return attach::encoded(map, {type, rank, address, dims, strides, interleave},
                         real<&cuTensorMapEncodeIm2col>(
                             map, type, rank, address, dims, strides, lower, upper, channels,
                             pixels, element_strides, interleave, swizzle, promotion, fill));
}
CUresult cuTensorMapEncodeIm2colWide(
    CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* address,
    const cuuint64_t* dims, const cuuint64_t* strides, int lower, int upper, cuuint32_t channels,
    cuuint32_t pixels, const cuuint32_t* element_strides, CUtensorMapInterleave interleave,
    CUtensorMapIm2ColWideMode mode, CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
    CUtensorMapFloatOOBfill fill) {
  return attach::encoded(map, {type, rank, address, dims, strides, interleave},
                         real<&cuTensorMapEncodeIm2colWide>(
                             map, type, rank, address, dims, strides, lower, upper, channels,
                             pixels, element_strides, interleave, mode, swizzle, promotion, fill));
}
/// The shape stays, which only the map as it was before tells.
CUresult cuTensorMapReplaceAddress(CUtensorMap* map, void* address) {
  const bool recorded = attach::spool_header() != nullptr;
  attach::MappedTensor tensor;
  if (recorded && map != nullptr) attach::find_tensor_map(map, tensor);
  const CUresult result = real<&cuTensorMapReplaceAddress>(map, address);
  if (result == CUDA_SUCCESS && recorded) {
    tensor.address = reinterpret_cast<std::uint64_t>(address);
    attach::note_tensor_map(map, tensor);
  }
  return result;
}

}  // extern "C"
