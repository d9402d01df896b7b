// Elements in a .safetensors file may start at any byte, so they are copied out one by one.
#include "engine/input/routing_numbers.h"

#include <fmt/format.h>

#include <cstring>

#include "engine/model/path_text.h"

namespace engine {
namespace {

template <class Stored>
std::int64_t stored_at(std::span<const std::byte> bytes, std::int64_t index) {
  Stored value{};
  std::memcpy(&value, bytes.data() + index * std::int64_t{sizeof(Stored)}, sizeof(Stored));
  return value;
}

const char* integer_name(StoredType type) {
  switch (type) {
    case StoredType::U8:
      return "uint8";
    case StoredType::I16:
      return "int16";
    case StoredType::I32:
      return "int32";
    default:
      return "int64";
  }
}

Result<RoutingFile> read_tensors(const std::string& path) {
  ENGINE_ASSIGN(TensorFile opened, open_tensor_file(path));
  RoutingFile file;
  file.tensors = std::make_shared<const TensorFile>(std::move(opened));
  for (const StoredTensor& tensor : file.tensors->tensors) {
    if (tensor.column_major) {
      file.unread.push_back({tensor.name, tensor.reason});
      continue;
    }
    if (!is_integer(tensor.type)) {
      file.unread.push_back(
          {tensor.name, fmt::format("its type '{}' is not uint8, int16, int32 or int64; save "
                                    "splits as np.save(path, np.asarray(splits, np.int64))",
                                    tensor.dtype)});
      continue;
    }
    file.tables.push_back({.name = tensor.name,
                           .dtype = integer_name(tensor.type),
                           .shape = tensor.shape,
                           .type = tensor.type,
                           .bytes = tensor.bytes});
  }
  if (!file.tables.empty()) return file;
  return routing_error(path, words_of(file.unread.front()));
}

}  // namespace

Error routing_error(const std::string& path, const std::string& why) {
  return {ErrorCode::InvalidArgument, fmt::format("{}: {}", shown_path(path), why)};
}

std::string words_of(const UnreadList& list) {
  return list.name.empty() ? list.why : fmt::format("'{}': {}", list.name, list.why);
}

std::int64_t integer_at(StoredType type, std::span<const std::byte> bytes, std::int64_t index) {
  switch (type) {
    case StoredType::U8:
      return stored_at<std::uint8_t>(bytes, index);
    case StoredType::I16:
      return stored_at<std::int16_t>(bytes, index);
    case StoredType::I32:
      return stored_at<std::int32_t>(bytes, index);
    default:
      return stored_at<std::int64_t>(bytes, index);
  }
}

std::string IntegerTable::words() const { return fmt::format("{} {}", dtype, shape_text(shape)); }

Result<RoutingFile> read_routing_file(const std::string& path) {
  if (path.ends_with(".npy") || path.ends_with(".npz") || path.ends_with(".safetensors")) {
    return read_tensors(path);
  }
  if (path.ends_with(".json")) return read_json_lists(path);
  return routing_error(path,
                       "splits and recorded experts are read from .json or .npy files, or from "
                       ".npz or .safetensors");
}

}  // namespace engine
