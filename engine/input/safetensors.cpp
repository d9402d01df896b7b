// The .safetensors header: a length, then JSON that maps names to dtype, shape and byte range. The
// JSON is parsed without exceptions and never deeper than the format goes.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

#include "engine/input/json_text.h"
#include "engine/input/tensor_file.h"

namespace engine {
namespace {

using Json = nlohmann::json;

constexpr std::uint64_t kMaxHeaderBytes = 16ULL << 20;  // a 671 B-parameter model needs under 1 MiB
constexpr std::size_t kMaxDimensions = 32;
constexpr int kMaxDepth = 3;  // file -> tensor -> list

StoredType safetensors_type(const std::string& dtype) {
  if (dtype == "F32") return StoredType::F32;
  if (dtype == "F16") return StoredType::F16;
  if (dtype == "BF16") return StoredType::Bf16;
  if (dtype == "U8") return StoredType::U8;
  if (dtype == "I16") return StoredType::I16;
  if (dtype == "I32") return StoredType::I32;
  if (dtype == "I64") return StoredType::I64;
  return StoredType::Unusable;
}

/// A list of integers in [0, 2^63), or false.
bool read_list(const Json& entry, const char* key, std::vector<std::int64_t>& out) {
  const auto found = entry.find(key);
  if (found == entry.end() || !found->is_array() || found->size() > kMaxDimensions) return false;
  for (const Json& item : *found) {
    if (!item.is_number_unsigned() || item.get<std::uint64_t>() > INT64_MAX) return false;
    out.push_back(item.get<std::int64_t>());
  }
  return true;
}

Result<StoredTensor> read_entry(const std::string& name, const Json& entry,
                                std::span<const std::byte> body) {
  const auto refuse = [&](const std::string& why) {
    return Error{ErrorCode::InvalidArgument, fmt::format("tensor '{}': {}", name, why)};
  };
  StoredTensor tensor;
  tensor.name = name;
  std::vector<std::int64_t> offsets;
  const auto dtype = entry.is_object() ? entry.find("dtype") : entry.end();
  if (!entry.is_object() || dtype == entry.end() || !dtype->is_string() ||
      !read_list(entry, "shape", tensor.shape) || !read_list(entry, "data_offsets", offsets) ||
      offsets.size() != 2) {
    return refuse("the header entry needs dtype, shape and two data_offsets");
  }
  tensor.dtype = dtype->get<std::string>();
  tensor.type = safetensors_type(tensor.dtype);
  const auto begin = static_cast<std::uint64_t>(offsets[0]);
  const auto end = static_cast<std::uint64_t>(offsets[1]);
  if (begin > end || end > body.size()) {
    return refuse(
        fmt::format("bytes {} to {} lie outside the {} bytes of data: the file is "
                    "truncated or its header is wrong",
                    begin, end, body.size()));
  }
  tensor.bytes = body.subspan(begin, end - begin);
  if (tensor.type == StoredType::Unusable) {
    tensor.reason = fmt::format(
        "its type {} is not one of F32, F16, BF16; convert it with tensor.float() before saving",
        tensor.dtype);
    return tensor;
  }
  const Result<std::int64_t> elements = element_count(tensor.shape);
  if (!elements.ok()) return refuse(elements.error().message);
  const auto size = static_cast<std::uint64_t>(stored_size(tensor.type));
  if ((end - begin) % size != 0 ||
      (end - begin) / size != static_cast<std::uint64_t>(elements.value())) {
    return refuse(
        fmt::format("shape {} of {} has {} elements of {} bytes, but data_offsets span "
                    "{} bytes",
                    shape_text(tensor.shape), tensor.dtype, elements.value(), size, end - begin));
  }
  return tensor;
}

/// No byte belongs to two tensors: a writer that stores one of them would change the other.
Status check_ranges(const std::vector<StoredTensor>& tensors, std::span<const std::byte> body) {
  std::vector<const StoredTensor*> order;
  for (const StoredTensor& tensor : tensors) {
    if (!tensor.bytes.empty()) order.push_back(&tensor);
  }
  const auto begin_of = [](const StoredTensor* tensor) { return tensor->bytes.data(); };
  std::ranges::sort(order, {}, begin_of);
  for (std::size_t i = 1; i < order.size(); ++i) {
    const StoredTensor& before = *order[i - 1];
    const StoredTensor& after = *order[i];
    const std::byte* const end = before.bytes.data() + before.bytes.size();
    if (after.bytes.data() >= end) continue;
    const auto place = [&](const std::byte* at) { return at - body.data(); };
    return Error{
        ErrorCode::InvalidArgument,
        fmt::format("tensors '{}' (bytes {} to {}) and '{}' (bytes {} to {}) share bytes: the "
                    "header is wrong; save the file again",
                    before.name, place(before.bytes.data()), place(end), after.name,
                    place(after.bytes.data()), place(after.bytes.data() + after.bytes.size()))};
  }
  return {};
}

}  // namespace

Result<std::vector<StoredTensor>> parse_safetensors(std::span<const std::byte> file,
                                                    const std::string& where) {
  const auto refuse = [&](const std::string& why) {
    return Error{ErrorCode::InvalidArgument, fmt::format("{}: {}", where, why)};
  };
  if (file.size() < 8) {
    return refuse(fmt::format("{} bytes are too few for a .safetensors file", file.size()));
  }
  std::uint64_t header_bytes = 0;
  std::memcpy(&header_bytes, file.data(), 8);
  if (header_bytes > kMaxHeaderBytes) {
    return refuse(fmt::format("the header claims {} bytes; at most {} are read", header_bytes,
                              kMaxHeaderBytes));
  }
  if (header_bytes > file.size() - 8) {
    return refuse(fmt::format("the header claims {} bytes but only {} follow", header_bytes,
                              file.size() - 8));
  }
  const char* text = reinterpret_cast<const char*>(file.data()) + 8;
  // Tensors are selected by name, so a name too long to show is refused, not truncated.
  const Result<Json> document =
      parse_json({text, header_bytes},
                 {.max_bytes = kMaxHeaderBytes, .max_depth = kMaxDepth, .unique_names = true});
  if (!document.ok()) return refuse("the header is " + document.error().message);
  const Json& header = document.value();
  if (!header.is_object()) return refuse("the header is not a JSON object");
  const std::span<const std::byte> body = file.subspan(8 + header_bytes);
  std::vector<StoredTensor> tensors;
  for (const auto& [name, entry] : header.items()) {
    if (name == "__metadata__") continue;
    Result<StoredTensor> tensor = read_entry(name, entry, body);
    if (!tensor.ok()) return refuse(tensor.error().message);
    tensors.push_back(std::move(tensor).value());
  }
  if (tensors.empty()) return refuse("it contains no tensor");
  if (const Status apart = check_ranges(tensors, body); !apart.ok()) {
    return refuse(apart.error().message);
  }
  // No bytes of a tensor that cannot be read are handed out.
  for (StoredTensor& tensor : tensors) {
    if (tensor.type == StoredType::Unusable) tensor.bytes = {};
  }
  return tensors;
}

}  // namespace engine
