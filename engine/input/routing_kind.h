// Finds which list of a routing file is meant, whether it holds rows per expert or experts of
// tokens, and in which order, from its name, dimensions and values. If several readings are
// possible, it does not guess.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "engine/input/routing_layers.h"
#include "engine/input/routing_numbers.h"
#include "engine/model/error.h"
#include "engine/model/fields.h"
#include "engine/model/run_request.h"

namespace engine {

/// One meaning that the numbers of a file may have.
struct RoutingReading {
  RoutingNumbers numbers = RoutingNumbers::Counts;  // never Detect
  std::string words;                                // "4 layers, 768 tokens, 2 experts of each"
  bool operator==(const RoutingReading&) const = default;
  template <int = 0>
  static constexpr auto fields() {
    return std::array{
        engine::field<&RoutingReading::numbers>({.without = bit_of(RoutingNumbers::Detect)}),
        engine::field<&RoutingReading::words>()};
  }
};

/// One per meaning at most.
inline constexpr std::size_t kMaxRoutingReadings = kType<RoutingNumbers>.names.size() - 1;

/// What the list that `spec` names may mean, as far as its name, dimensions and values tell. One of
/// several is the user's to choose; none: whatever it is read as, it does not fit.
Result<std::vector<RoutingReading>> routing_readings(const RoutingSpec& spec);

/// The list that `spec` names, read as it says; to be detected, it must have one reading. The error
/// names the file.
Result<RoutedNumbers> meant_numbers(const RoutingSpec& spec, const RoutingFile& file);

}  // namespace engine
