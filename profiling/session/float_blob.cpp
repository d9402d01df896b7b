#include "profiling/session/float_blob.h"

#include <bit>

#include "profiling/session/byte_blob.h"

namespace profiling {

static_assert(std::endian::native == std::endian::little, "blobs are little-endian");

std::vector<std::byte> compress_floats(std::span<const float> values) {
  return compress_bytes(std::as_bytes(values));
}

engine::Result<std::vector<float>> decompress_floats(std::span<const std::byte> blob,
                                                     std::size_t count) {
  std::vector<float> values(count);
  engine::Status status = decompress_bytes(blob, std::as_writable_bytes(std::span(values)));
  if (!status.ok()) return status.error();
  return values;
}

}  // namespace profiling
