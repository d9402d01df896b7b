// Integers of a routing file as tables, whatever the format: .npy, .safetensors or JSON. What they
// mean is decided in routing_kind.cpp. Files are untrusted: sizes are bounded, and a table's
// elements are checked to be there before it is handed out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/input/tensor_file.h"
#include "engine/model/error.h"

namespace engine {

/// InvalidArgument, with the path before `why`.
Error routing_error(const std::string& path, const std::string& why);

/// Element `index` of integers that may start at any byte.
std::int64_t integer_at(StoredType type, std::span<const std::byte> bytes, std::int64_t index);

/// Integers in row-major order; the bytes are those of the file that RoutingFile holds.
struct IntegerTable {
  std::string name;   // of a tensor, or of a JSON member; may be empty
  std::string dtype;  // "int16"
  std::vector<std::int64_t> shape;
  StoredType type = StoredType::I64;
  std::span<const std::byte> bytes;

  std::int64_t size() const { return std::ssize(bytes) / stored_size(type); }
  std::int64_t at(std::int64_t index) const { return integer_at(type, bytes, index); }
  /// "int16 [4096, 27, 8]"
  std::string words() const;
};

/// A JSON list of lists [tokens, top_k] whose lengths differ between steps and layers.
struct RaggedList {
  std::string name;
  std::int64_t layers = 1;
  std::vector<IntegerTable> tokens;  // by step, and within a step by layer
};

/// A tensor or list that holds no table of integers.
struct UnreadList {
  std::string name;
  std::string why;  // a sentence
};

/// What a routing file holds, each of the three in the file's order.
struct RoutingFile {
  std::vector<IntegerTable> tables;  // at least one, unless `ragged` has some
  std::vector<RaggedList> ragged;
  std::vector<UnreadList> unread;
  bool json = false;
  // What the tables refer to.
  std::shared_ptr<const TensorFile> tensors;
  std::shared_ptr<const std::vector<std::int64_t>> values;
};

/// Reads the file in the format of its extension. Refuses a file without integers.
Result<RoutingFile> read_routing_file(const std::string& path);

/// A list of a JSON document, or those that are members of an object. Refuses what holds none.
Result<RoutingFile> read_json_lists(const std::string& path);

/// "'name': why", to follow the path.
std::string words_of(const UnreadList& list);

}  // namespace engine
