#include "app/sweep/number_axis.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/model/leaves.h"
#include "engine/model/values.h"

namespace app {
namespace {

engine::FoundLeaf leaf_of(std::string_view field, const engine::RunRequest& request) {
  return engine::find_leaf(engine::kType<engine::RunRequest>, &request, field);
}

std::string_view without_blanks(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

}  // namespace

bool is_number_field(std::string_view field) {
  const engine::RunRequest request;
  const engine::FoundLeaf leaf = leaf_of(field, request);
  return leaf.field != nullptr &&
         (leaf.type->kind == engine::Kind::Signed || leaf.type->kind == engine::Kind::Unsigned ||
          leaf.type->kind == engine::Kind::Real);
}

bool is_listed_field(std::string_view field) {
  const engine::RunRequest request;
  const engine::FoundLeaf leaf = leaf_of(field, request);
  return is_number_field(field) ||
         (leaf.field != nullptr &&
          (leaf.type->kind == engine::Kind::Enum || leaf.type->kind == engine::Kind::Bool));
}

engine::Result<NumberAxis> read_axis(std::string_view field, std::string_view text,
                                     std::string_view name) {
  const auto refuse = [name](std::string_view what) {
    return engine::Error{engine::ErrorCode::InvalidArgument, fmt::format("{} {}", name, what)};
  };
  NumberAxis axis{.field = std::string(field), .values = {}};
  engine::RunRequest request;
  while (true) {
    const std::string_view word = without_blanks(text.substr(0, text.find(',')));
    const bool read =
        engine::set_leaf(engine::kType<engine::RunRequest>, &request, axis.field, word);
    const engine::FoundLeaf leaf = leaf_of(axis.field, request);
    if (!read || !engine::number_flaw(*leaf.type, leaf.value, leaf.field->rules).empty()) {
      const bool choice = leaf.type->kind == engine::Kind::Enum;
      return refuse(fmt::format("lists '{}'{}; every value must be {}{}", word,
                                engine::nearest_name(*leaf.type, word), choice ? "one of " : "",
                                engine::expected_text(*leaf.type, leaf.field->rules)));
    }
    std::string value = engine::text_of(*leaf.type, leaf.value);
    if (std::ranges::find(axis.values, value) != axis.values.end()) {
      return refuse(fmt::format("lists {} twice; name every value once", value));
    }
    axis.values.push_back(std::move(value));
    const auto comma = text.find(',');
    if (comma == std::string_view::npos) return axis;
    text.remove_prefix(comma + 1);
  }
}

std::string short_name(std::string_view field) {
  const engine::RunRequest request;
  const engine::FoundLeaf leaf = leaf_of(field, request);
  if (leaf.field != nullptr && !leaf.field->rules.also.empty()) {
    return std::string(leaf.field->rules.also);
  }
  return std::string(field.substr(field.rfind('.') + 1));  // npos + 1 is 0
}

}  // namespace app
