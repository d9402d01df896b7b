// One layer out of a routing file, as rows of numbers: cut from a table that has the layers as a
// dimension, or put together from a table for each layer, or for each step and layer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "engine/input/routing_numbers.h"
#include "engine/model/error.h"
#include "engine/model/run_request.h"

namespace engine {

/// Limit of one layer: 8 million tokens with 8 experts each. No dimension of a table may exceed
/// it.
inline constexpr std::int64_t kMaxLayerNumbers = std::int64_t{1} << 26;

/// Rows of numbers that belong to one layer: [rows, columns], rows `stride` numbers apart.
struct RoutedRows {
  StoredType type = StoredType::I64;
  std::span<const std::byte> bytes;
  std::int64_t first = 0;
  std::int64_t rows = 0;
  std::int64_t stride = 0;
  std::int64_t columns = 0;

  std::int64_t at(std::int64_t row, std::int64_t column) const {
    return integer_at(type, bytes, first + row * stride + column);
  }
};

/// A row that chooses the same expert several times is no choice: vLLM writes zeros for layers
/// without experts and for tokens that it has not seen.
bool is_placeholder(const RoutedRows& rows, std::int64_t row);

/// A table [tokens, top_k] for each step and layer.
struct LayerTables {
  std::map<std::pair<std::int64_t, std::int64_t>, IntegerTable> tables;  // by step and layer
  // The numbers that the file gives them, ascending.
  std::vector<std::int64_t> steps;
  std::vector<std::int64_t> layers;
};

/// Tables whose names differ only in the numbers of step and layer.
struct NumberedTables {
  std::string pattern;  // of the names, with {} for numbers
  LayerTables by_layer;
};
/// Empty if the names of the file's tables differ in another way. Refuses two tables of the same
/// step and layer.
Result<std::optional<NumberedTables>> numbered_tables(const std::string& path,
                                                      const std::vector<IntegerTable>& tables);
LayerTables tables_of(const RaggedList& list);
/// Every token passes every layer, so the layers of a step must have equally many tokens; and one
/// router chooses equally many experts for each.
Status check_tokens_of_layers(const std::string& path, const LayerTables& all);

/// The numbers of a routing file that are meant, and as what. They refer to the RoutingFile, which
/// has to outlive them.
struct RoutedNumbers {
  std::string path;
  RoutingNumbers numbers = RoutingNumbers::Counts;  // never Detect
  std::string source;
  std::variant<IntegerTable, LayerTables> tables;
};

/// One layer of a routing file. With Counts every row is a step; otherwise rows are tokens, and no
/// step has tokens of two pieces.
struct RoutedLayer {
  RoutingNumbers numbers = RoutingNumbers::Counts;
  std::string source;
  int layers = 1;
  std::vector<RoutedRows> pieces;
};

/// `layer` counts from 0, whatever numbers the file gives its layers; the error names both.
Result<RoutedLayer> layer_of(const RoutedNumbers& numbers, int layer);

}  // namespace engine
