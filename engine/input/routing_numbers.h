// Integers of a routing file as tables, whatever the format: .npy, .safetensors or JSON. What they
// mean is decided in recorded_routing.cpp. Files are untrusted: sizes are bounded, and a table's
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

/// One list of JSON lists [tokens, top_k], whose lengths differ between steps and layers.
struct RaggedTable {
  std::int64_t step = 0;
  std::int64_t layer = 0;
  IntegerTable table;
};

/// What a routing file holds: one table, or one for each step and layer.
struct RoutingFile {
  std::vector<IntegerTable> tables;  // those with integers, at least one unless `ragged` has some
  std::vector<RaggedTable> ragged;   // of a JSON list that is no rectangle
  bool json = false;
  std::vector<std::string> others;  // names of tensors that hold no integers
  // What the tables refer to.
  std::shared_ptr<const TensorFile> tensors;
  std::shared_ptr<const std::vector<std::int64_t>> values;
};

/// By the path's extension. Refuses what holds no integers.
Result<RoutingFile> read_routing_file(const std::string& path);

}  // namespace engine
