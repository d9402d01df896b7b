// Elements in a .safetensors file may start at any byte, so they are copied out one by one. JSON is
// flattened: the numbers in one list, its nesting as a shape.
#include "engine/input/routing_numbers.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>

#include "engine/input/json_text.h"
#include "engine/input/regular_file.h"

namespace engine {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMaxRoutingJsonBytes = std::size_t{16} << 20;
constexpr int kMaxListDepth = 4;  // [steps, layers, tokens, top_k]

Error refuse_file(const std::string& path, const std::string& why) {
  return {ErrorCode::InvalidArgument, fmt::format("{}: {}", path, why)};
}

template <class Stored>
std::int64_t stored_at(std::span<const std::byte> bytes, std::int64_t index) {
  Stored value{};
  std::memcpy(&value, bytes.data() + index * std::int64_t{sizeof(Stored)}, sizeof(Stored));
  return value;
}

bool is_integer(StoredType type) {
  return type == StoredType::U8 || type == StoredType::I16 || type == StoredType::I32 ||
         type == StoredType::I64;
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
    if (!is_integer(tensor.type)) {
      file.others.push_back(tensor.name);
      continue;
    }
    file.tables.push_back({.name = tensor.name,
                           .dtype = integer_name(tensor.type),
                           .shape = tensor.shape,
                           .type = tensor.type,
                           .bytes = tensor.bytes});
  }
  if (!file.tables.empty()) return file;
  const StoredTensor& first = file.tensors->tensors.front();
  return refuse_file(
      path,
      fmt::format("{}its type '{}' is not int16, int32 or int64; save splits as "
                  "np.save(path, np.asarray(splits, np.int64))",
                  first.name.empty() ? "" : fmt::format("tensor '{}': ", first.name), first.dtype));
}

/// Reads one JSON value into numbers, and finds its shape.
class Flattened {
 public:
  Flattened(const std::string& path, std::vector<std::int64_t>& values)
      : path_(path), values_(values) {}

  Status add(const Json& list, int depth = 0) {
    if (depth == kMaxListDepth) {
      return refuse_file(path_, fmt::format("its lists are more than {} deep; the deepest are "
                                            "[steps, layers, tokens, top_k]",
                                            kMaxListDepth));
    }
    const std::int64_t length = std::ssize(list);
    std::int64_t& known = lengths_[static_cast<std::size_t>(depth)];
    if (depth == depth_) {
      known = length;
      ++depth_;
    } else if (known != length) {
      rectangular_ = false;
    }
    std::int64_t position = 0;
    for (const Json& item : list) {
      const bool nested = item.is_array();
      // Numbers stand at one depth only.
      if (nested ? depth == numbers_at_ : numbers_at_ >= 0 && depth != numbers_at_) {
        return refuse_file(
            path_, fmt::format("entry {} of a list is {}, where others are {}", position,
                               nested ? "a list" : "a number", nested ? "numbers" : "lists"));
      }
      ENGINE_TRY(nested ? add(item, depth + 1) : add_number(item, depth, position));
      ++position;
    }
    return {};
  }

  std::vector<std::int64_t> shape() const { return {lengths_.begin(), lengths_.begin() + depth_}; }
  bool rectangular() const { return rectangular_; }

 private:
  Status add_number(const Json& item, int depth, std::int64_t position) {
    if (!item.is_number_integer() ||
        (item.is_number_unsigned() && item.get<std::uint64_t>() > INT64_MAX)) {
      return refuse_file(path_, fmt::format("entry {} is not an integer of 64 bits", position));
    }
    numbers_at_ = depth;
    values_.push_back(item.get<std::int64_t>());
    return {};
  }

  const std::string& path_;
  std::vector<std::int64_t>& values_;
  std::array<std::int64_t, kMaxListDepth> lengths_{};  // of the first list at each depth
  int depth_ = 0;                                      // of all lists
  int numbers_at_ = -1;  // depth of the lists that hold numbers; -1 = none yet
  bool rectangular_ = true;
};

struct FoundList {
  std::string name;
  std::size_t first = 0;  // of its numbers
  std::vector<std::int64_t> shape;
};

std::span<const std::byte> bytes_of(const std::vector<std::int64_t>& values, std::size_t first,
                                    std::size_t count) {
  return std::as_bytes(std::span(values).subspan(first, count));
}

std::int64_t product_of(const std::vector<std::int64_t>& shape) {
  std::int64_t count = 1;
  for (const std::int64_t dimension : shape) count *= dimension;
  return count;
}

/// [steps][layers][tokens][top_k] or [layers][tokens][top_k], whose token counts differ.
Result<std::vector<FoundList>> ragged_lists(const std::string& path, const Json& list, int depth,
                                            std::vector<std::int64_t>& values) {
  std::vector<FoundList> found;
  const auto add = [&](const Json& table) -> Status {
    FoundList one{.name = {}, .first = values.size(), .shape = {}};
    Flattened flat(path, values);
    ENGINE_TRY(flat.add(table));
    if (!flat.rectangular() || (flat.shape().size() != 2 && !table.empty())) {
      return refuse_file(path,
                         "a list of tokens has differing numbers of experts; every token "
                         "chooses as many");
    }
    one.shape = table.empty() ? std::vector<std::int64_t>{0, 0} : flat.shape();
    found.push_back(std::move(one));
    return {};
  };
  for (const Json& outer : list) {
    if (depth == 3) {
      ENGINE_TRY(add(outer));
      continue;
    }
    for (const Json& inner : outer) ENGINE_TRY(add(inner));
  }
  return found;
}

Status check_layers(const std::string& path, const Json& list) {
  for (const Json& step : list) {
    if (step.size() == list.front().size()) continue;
    return refuse_file(path, fmt::format("a step has {} layers, the first has {}; every step has "
                                         "the same layers",
                                         step.size(), list.front().size()));
  }
  return {};
}

/// The lists of a document: itself, or the members of an object that are lists of numbers.
std::vector<std::pair<std::string, const Json*>> lists_of(const Json& document) {
  std::vector<std::pair<std::string, const Json*>> lists;
  if (document.is_array()) lists.emplace_back("", &document);
  if (!document.is_object()) return lists;
  for (const auto& [name, member] : document.items()) {
    if (member.is_array()) lists.emplace_back(name, &member);
  }
  return lists;
}

Result<RoutingFile> read_json_lists(const std::string& path) {
  ENGINE_ASSIGN(const std::string text, read_file(path, kMaxRoutingJsonBytes));
  const Result<Json> document =
      parse_json(text, {.max_bytes = kMaxRoutingJsonBytes, .max_depth = kMaxListDepth + 1});
  const auto lists = document.ok() ? lists_of(document.value())
                                   : std::vector<std::pair<std::string, const Json*>>{};
  if (lists.empty()) {
    return refuse_file(path,
                       "not a JSON list of integers such as [128, 0, 256], nor lists of them");
  }
  const auto values = std::make_shared<std::vector<std::int64_t>>();
  std::vector<FoundList> tables;
  std::vector<FoundList> ragged;
  std::vector<RaggedTable> places;
  Status refused;
  for (const auto& [name, list] : lists) {
    const std::size_t first = values->size();
    Flattened flat(path, *values);
    // Other lists of an object may hold anything.
    if (const Status added = flat.add(*list); !added.ok()) {
      if (refused.ok()) refused = added;
      values->resize(first);
      continue;
    }
    if (flat.rectangular()) {
      tables.push_back({name, first, flat.shape()});
      continue;
    }
    const int depth = static_cast<int>(flat.shape().size());
    if (depth < 3 || lists.size() > 1) {
      return refuse_file(path, fmt::format("{}its lists differ in length; every step has as many "
                                           "experts",
                                           name.empty() ? "" : fmt::format("'{}': ", name)));
    }
    if (depth == 4) ENGINE_TRY(check_layers(path, *list));
    values->resize(first);
    ENGINE_ASSIGN(ragged, ragged_lists(path, *list, depth, *values));
    const auto layers = static_cast<std::int64_t>(depth == 4 ? list->front().size() : list->size());
    for (std::int64_t i = 0; i < std::ssize(ragged); ++i) {
      places.push_back({.step = i / std::max<std::int64_t>(layers, 1),
                        .layer = i % std::max<std::int64_t>(layers, 1),
                        .table = {}});
    }
  }
  if (tables.empty() && ragged.empty()) {
    ENGINE_TRY(refused);
    return refuse_file(path, "it holds no list of integers");
  }
  RoutingFile file;
  file.json = true;
  file.values = values;
  const auto table_of = [&](const FoundList& found) {
    return IntegerTable{
        .name = found.name,
        .dtype = "integers",
        .shape = found.shape,
        .type = StoredType::I64,
        .bytes = bytes_of(*values, found.first, static_cast<std::size_t>(product_of(found.shape)))};
  };
  for (const FoundList& found : tables) file.tables.push_back(table_of(found));
  for (std::size_t i = 0; i < ragged.size(); ++i) {
    places[i].table = table_of(ragged[i]);
    file.ragged.push_back(std::move(places[i]));
  }
  return file;
}

}  // namespace

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
  if (path.ends_with(".npy") || path.ends_with(".safetensors")) return read_tensors(path);
  if (path.ends_with(".json")) return read_json_lists(path);
  return refuse_file(path,
                     "splits and recorded experts are read from .json or .npy files, or from "
                     ".safetensors");
}

}  // namespace engine
