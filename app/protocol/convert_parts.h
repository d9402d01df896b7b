// Parts of messages that more than one conversion is made of.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "app/protocol/field_check.h"
#include "app/protocol/wire.h"
#include "engine/model/run_request.h"
#include "engine/model/run_result.h"
#include "profiling/graph/experiment.h"

namespace app {

template <class T, class Repeated>
std::vector<T> to_vector(const Repeated& field) {
  return std::vector<T>(field.begin(), field.end());
}

/// Enumerations without a counterpart on the wire; `last` is the highest known number.
template <class Enum>
void number(FieldCheck& check, Enum& out, std::uint32_t value, Enum last, std::string_view field) {
  if (value > static_cast<std::uint32_t>(last)) {
    check.refuse(fmt::format("{} is {}, which this version does not know", field, value));
  } else {
    out = static_cast<Enum>(value);
  }
}

template <class Enum>
std::uint32_t as_number(Enum value) {
  return static_cast<std::uint32_t>(value);
}

wire::Recipe to_wire(const engine::Recipe& recipe);
/// Absent fields keep Recipe's defaults.
engine::Recipe read_recipe(const wire::Recipe& message, FieldCheck& check);

void set_operand(wire::OperandStatistics& out, const engine::OperandStatistics& operand);
engine::OperandStatistics read_operand(const wire::OperandStatistics& message,
                                       const std::string& field, FieldCheck& check);

/// One byte a node.
std::string wire_states(const std::vector<profiling::NodeState>& states);
std::vector<profiling::NodeState> read_states(const std::string& bytes, FieldCheck& check);

}  // namespace app
