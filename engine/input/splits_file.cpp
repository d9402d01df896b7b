// At most kMaxExperts numbers are ever kept, whatever the file claims.
#include "engine/input/splits_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>

#include "engine/input/json_text.h"
#include "engine/input/regular_file.h"
#include "engine/input/tensor_file.h"
#include "engine/model/run_request.h"

namespace engine {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMaxJsonBytes = 1 << 20;

Error refuse(const std::string& path, const std::string& why) {
  return {ErrorCode::InvalidArgument, fmt::format("{}: {}", path, why)};
}

Error too_many(const std::string& path, std::size_t count) {
  return refuse(
      path, fmt::format("it holds {} splits; at most {} experts are possible", count, kMaxExperts));
}

Result<std::vector<std::int64_t>> read_json(const std::string& path) {
  const Result<std::string> text = read_file(path, kMaxJsonBytes);
  if (!text.ok()) return text.error();
  const Result<Json> document = parse_json(text.value(), {.max_depth = 2});
  if (!document.ok() || !document.value().is_array()) {
    return refuse(path, "not a JSON list of integers such as [128, 0, 256]");
  }
  const Json& list = document.value();
  if (list.size() > static_cast<std::size_t>(kMaxExperts)) return too_many(path, list.size());
  std::vector<std::int64_t> splits;
  for (const Json& item : list) {
    if (!item.is_number_integer() ||
        (item.is_number_unsigned() && item.get<std::uint64_t>() > INT64_MAX)) {
      return refuse(path, fmt::format("entry {} is not an integer of 64 bits", splits.size()));
    }
    splits.push_back(item.get<std::int64_t>());
  }
  return splits;
}

Result<std::vector<std::int64_t>> read_npy(const std::string& path) {
  const Result<TensorFile> file = open_tensor_file(path);
  if (!file.ok()) return file.error();
  const StoredTensor& tensor = file.value().tensors.front();
  if (tensor.type != StoredType::I32 && tensor.type != StoredType::I64) {
    return refuse(path, fmt::format("its type '{}' is not int32 or int64; save splits as "
                                    "np.save(path, np.asarray(splits, np.int64))",
                                    tensor.dtype));
  }
  if (tensor.shape.size() != 1) {
    return refuse(
        path, fmt::format("its shape is {}; splits are one-dimensional", shape_text(tensor.shape)));
  }
  const auto count = static_cast<std::size_t>(tensor.shape[0]);
  if (count > static_cast<std::size_t>(kMaxExperts)) return too_many(path, count);
  // Not memcpy: a list of nothing has no address to copy to.
  std::vector<std::int64_t> splits(count);
  if (tensor.type == StoredType::I64) {
    std::ranges::copy(tensor.bytes, std::as_writable_bytes(std::span(splits)).begin());
  } else {
    std::vector<std::int32_t> narrow(count);
    std::ranges::copy(tensor.bytes, std::as_writable_bytes(std::span(narrow)).begin());
    splits.assign(narrow.begin(), narrow.end());
  }
  return splits;
}

}  // namespace

Result<std::vector<std::int64_t>> read_splits_file(const std::string& path) {
  if (path.ends_with(".npy")) return read_npy(path);
  if (path.ends_with(".json")) return read_json(path);
  return refuse(path, "splits are read from .json or .npy files");
}

}  // namespace engine
