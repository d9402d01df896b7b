// What the numbers of a routing file are: which table of the file is meant, and whether it holds
// rows per expert or experts of tokens, and in which order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/input/routing_numbers.h"
#include "engine/model/error.h"
#include "engine/model/run_request.h"

namespace engine {

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

/// One layer of a recording. With Counts every row is a step; otherwise rows are tokens, and no
/// step has tokens of two pieces.
struct RoutedLayer {
  RoutingNumbers numbers = RoutingNumbers::Counts;
  std::string source;
  int layers = 1;
  std::vector<RoutedRows> pieces;
  RoutingFile file;  // what the pieces refer to
};

/// The layer that `spec` names of the table that it names. The error names the file.
Result<RoutedLayer> open_routed_layer(const RoutingSpec& spec);

/// A row that chooses the same expert several times is no choice: vLLM writes zeros for layers
/// without experts and for tokens that it has not seen.
bool is_placeholder(const RoutedRows& rows, std::int64_t row);

}  // namespace engine
