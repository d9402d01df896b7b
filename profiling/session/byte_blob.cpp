#include "profiling/session/byte_blob.h"

#include <fmt/format.h>
#include <zstd.h>

namespace profiling {
namespace {

engine::Error unreadable(std::string why) { return {engine::ErrorCode::Io, std::move(why)}; }

}  // namespace

std::vector<std::byte> compress_bytes(std::span<const std::byte> bytes) {
  if (bytes.empty()) return {};
  std::vector<std::byte> blob(ZSTD_compressBound(bytes.size()));
  const std::size_t size =
      ZSTD_compress(blob.data(), blob.size(), bytes.data(), bytes.size(), ZSTD_CLEVEL_DEFAULT);
  // With a buffer of the bound's size only memory exhaustion can fail; whoever reads an empty blob
  // finds too few numbers.
  blob.resize(ZSTD_isError(size) != 0U ? 0 : size);
  return blob;
}

engine::Result<std::size_t> content_bytes(std::span<const std::byte> blob) {
  if (blob.empty()) return std::size_t{0};
  const unsigned long long content = ZSTD_getFrameContentSize(blob.data(), blob.size());
  if (content == ZSTD_CONTENTSIZE_ERROR || content == ZSTD_CONTENTSIZE_UNKNOWN) {
    return unreadable("is not a zstd frame of known size");
  }
  return static_cast<std::size_t>(content);
}

engine::Status decompress_bytes(std::span<const std::byte> blob, std::span<std::byte> target) {
  if (blob.empty() && target.empty()) return {};
  const std::size_t size = ZSTD_decompress(target.data(), target.size(), blob.data(), blob.size());
  if (ZSTD_isError(size) != 0U) {
    return unreadable(fmt::format("does not decompress: {}", ZSTD_getErrorName(size)));
  }
  if (size == target.size()) return {};
  return unreadable(fmt::format("holds {} bytes where {} belong", size, target.size()));
}

}  // namespace profiling
