#include "profiling/session/table_cells.h"

#include <fmt/format.h>

#include <utility>

#include "profiling/session/float_blob.h"

namespace profiling {

bool at_next(RowReader& rows, const char* column, std::size_t size, std::int64_t limit) {
  const auto position = rows.integer<std::int64_t>(column, 0, limit - 1);
  if (rows.ok() && std::cmp_not_equal(position, size)) {
    rows.refuse(fmt::format("{} is {} where {} comes next", column, position, size));
  }
  return rows.ok();
}

engine::RunRequest request_of(RowReader& rows, const char* column, const RequestCodec& codec) {
  const std::string json = rows.exact_text(column);
  if (!rows.ok()) return {};
  engine::Result<engine::RunRequest> request = codec.from_json(json);
  if (request.ok()) return std::move(request).value();
  rows.refuse(fmt::format("{}: {}", column, request.error().message));
  return {};
}

engine::DeviceFacts device_of(RowReader& rows) {
  engine::DeviceFacts device;
  device.name = rows.text("device_name");
  device.driver = rows.text("device_driver");
  device.compute_capability = rows.text("compute_capability");
  device.cublaslt_version = rows.text("cublaslt_version");
  device.cublaslt_path = rows.text("cublaslt_path");
  device.blas = rows.text("blas");
  device.multiprocessors = rows.integer<int>("multiprocessors", 0, 1 << 20);
  device.memory_bytes = rows.count("memory_bytes");
  return device;
}

std::vector<float> cells_of(RowReader& rows, const char* column, std::size_t count) {
  const std::span<const std::byte> blob = rows.blob(column);
  if (!rows.ok()) return {};
  engine::Result<std::vector<float>> values = decompress_floats(blob, count);
  if (values.ok()) return std::move(values).value();
  rows.refuse(fmt::format("blob {} {}", column, values.error().message));
  return {};
}

}  // namespace profiling
