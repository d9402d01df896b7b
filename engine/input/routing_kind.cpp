#include "engine/input/routing_kind.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "engine/input/routing_names.h"
#include "engine/model/counted.h"
#include "engine/model/path_text.h"

namespace engine {
namespace {

/// Rows that are looked at to tell ids from counts.
constexpr std::int64_t kLookedAt = 65536;
constexpr std::size_t kNamesShown = 6;

// ---- Which numbers these are -------------------------------------------------------------------

/// What the values allow. Experts of a token differ from each other and are few; rows per expert
/// are not negative.
struct AllowedKinds {
  bool experts = false;
  bool counts = true;
};

AllowedKinds kinds_of_values(const IntegerTable& table) {
  const std::int64_t columns = table.shape.back();
  AllowedKinds allowed{.experts = columns > 0 && columns <= kMaxTopK,
                       .counts = columns <= kMaxExperts};
  if (columns == 0) return allowed;
  const std::int64_t rows = std::min(table.size() / columns, kLookedAt);
  if (rows == 0) return allowed;  // beside a dimension of 0 any other may be huge
  std::vector<std::int64_t> row(static_cast<std::size_t>(columns));
  bool looked = false;
  bool repeated = false;
  bool negative = false;
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < columns; ++c) {
      const std::int64_t value = table.at(r * columns + c);
      allowed.experts = allowed.experts && value < kMaxExperts;
      negative = negative || value < 0;
      row[static_cast<std::size_t>(c)] = value;
    }
    std::ranges::sort(row);
    if (row.front() == row.back() && columns > 1) continue;  // a placeholder, or no rows
    looked = true;
    for (std::size_t c = 1; c < row.size(); ++c) {
      repeated = repeated || (row[c] == row[c - 1] && row[c] >= 0);
    }
  }
  // Only experts have negative numbers, for choices that were dropped; then a router may repeat
  // one.
  allowed.experts = allowed.experts && (negative || (looked && !repeated));
  allowed.counts = allowed.counts && !negative;
  return allowed;
}

bool are_layers(std::int64_t dimension) { return dimension > 0 && dimension <= kMaxRecordedLayers; }

/// The dimensions as `numbers` reads them.
std::string reading_words(RoutingNumbers numbers, const std::vector<std::int64_t>& shape) {
  const std::size_t n = shape.size();
  const bool by_layer = numbers == RoutingNumbers::Megatron;
  if (numbers == RoutingNumbers::Counts) {
    return fmt::format("{}, {}{}", counted(shape[0], "step"),
                       n > 2 ? counted(shape[1], "layer") + ", " : std::string(),
                       counted(shape.back(), "expert"));
  }
  std::string words = n > 3 ? counted(shape[0], by_layer ? "step" : "sequence") + ", " : "";
  const std::int64_t outer = n > 2 ? shape[n - 3] : 0;
  const std::int64_t inner = shape[n - 2];
  if (n == 2) {
    words += counted(inner, "token");
  } else {
    words += by_layer ? counted(outer, "layer") + ", " + counted(inner, "token")
                      : counted(outer, "token") + ", " + counted(inner, "layer");
  }
  return fmt::format("{}, {} of each token", words, counted(shape.back(), "expert"));
}

/// Where name, dimensions and values leave one reading, or where whatever is read will be refused,
/// one; otherwise several.
std::vector<RoutingNumbers> readings_of(const RoutingSpec& spec, const IntegerTable& table) {
  const std::vector<std::int64_t>& shape = table.shape;
  const std::size_t dimensions = shape.size();
  if (dimensions <= 1) return {RoutingNumbers::Counts};
  const RoutingNumbers named =
      table.name.empty() ? numbers_by_file_name(spec.path) : numbers_by_name(table.name);
  if (named != RoutingNumbers::Detect) return {named};
  const AllowedKinds allowed = kinds_of_values(table);
  // Rows per expert have their own steps.
  const bool counts = allowed.counts && dimensions < 4 && spec.tokens_per_step == 0;
  const std::int64_t inner = shape[dimensions - 2];
  const std::int64_t outer = dimensions > 2 ? shape[dimensions - 3] : 0;
  std::vector<RoutingNumbers> readings;
  if (counts && (dimensions == 2 || are_layers(inner))) readings.push_back(RoutingNumbers::Counts);
  if (allowed.experts && (dimensions == 2 || are_layers(inner))) {
    readings.push_back(RoutingNumbers::Vllm);
  }
  // With two dimensions, or one token in one layer, both orders are the same.
  if (allowed.experts && dimensions > 2 && are_layers(outer) && !(inner == 1 && outer == 1)) {
    readings.push_back(RoutingNumbers::Megatron);
  }
  const bool readable = dimensions <= 4 && std::ranges::find(shape, 0) == shape.end();
  if (!readings.empty() && readable) return readings;
  return {dimensions > 3 || allowed.experts ? RoutingNumbers::Vllm : RoutingNumbers::Counts};
}

std::string source_words(RoutingNumbers numbers, const IntegerTable& table) {
  const std::size_t dimensions = table.shape.size();
  const char* words = dimensions == 1 ? "rows per expert of one step" : "rows per expert, by step";
  switch (numbers) {
    case RoutingNumbers::Vllm:
      words = dimensions > 2 ? "vLLM routed_experts" : "experts of every token";
      break;
    case RoutingNumbers::Megatron:
      words = "Megatron RouterReplay";
      break;
    case RoutingNumbers::Counts:
      if (dimensions == 3) words = "SGLang logical_count";
      break;
    case RoutingNumbers::Detect:
      break;
  }
  return fmt::format("{}{}, {}", words, table.name.empty() ? "" : fmt::format(" '{}'", table.name),
                     table.words());
}

// ---- Which list is meant -----------------------------------------------------------------------

/// At most one; both null: the tables together may be one recorded routing.
struct MeantList {
  const IntegerTable* table = nullptr;
  const RaggedList* ragged = nullptr;
};

/// Names of everything in the file: tables, then ragged lists, then what could not be read.
std::vector<std::string_view> names_of(const RoutingFile& file) {
  std::vector<std::string_view> names;
  for (const IntegerTable& one : file.tables) names.push_back(one.name);
  for (const RaggedList& one : file.ragged) names.push_back(one.name);
  for (const UnreadList& one : file.unread) names.push_back(one.name);
  return names;
}

Result<MeantList> list_at(const std::string& path, const RoutingFile& file, std::size_t index) {
  if (index < file.tables.size()) return MeantList{.table = &file.tables[index]};
  index -= file.tables.size();
  if (index < file.ragged.size()) return MeantList{.ragged = &file.ragged[index]};
  return routing_error(path, words_of(file.unread[index - file.ragged.size()]));
}

/// "a, b, c"
std::string shown_names(const RoutingFile& file) {
  std::vector<std::string_view> names = names_of(file);
  names.resize(names.size() - file.unread.size());
  const bool cut = names.size() > kNamesShown;
  names.resize(std::min(names.size(), kNamesShown));
  return fmt::format("{}{}", fmt::join(names, ", "), cut ? ", ..." : "");
}

Result<MeantList> meant_list(const RoutingSpec& spec, const RoutingFile& file) {
  const std::vector<std::string_view> names = names_of(file);
  if (!spec.tensor.empty()) {
    const auto found = std::ranges::find(names, spec.tensor);
    if (found != names.end()) {
      return list_at(spec.path, file, static_cast<std::size_t>(found - names.begin()));
    }
    const std::string known = shown_names(file);
    return Error{ErrorCode::NotFound,
                 fmt::format("{}: it has no {} of integers named '{}'; it has {}",
                             shown_path(spec.path), file.json ? "list" : "tensor", spec.tensor,
                             known.empty() ? "one without a name" : fmt::format("'{}'", known))};
  }
  if (const auto named = meant_by_name(names)) return list_at(spec.path, file, *named);
  const bool alone = file.tables.size() + file.ragged.size() == 1;
  return alone ? list_at(spec.path, file, 0) : MeantList{};
}

Error name_one(const std::string& path, const RoutingFile& file) {
  return routing_error(path, fmt::format("it holds {} {} of integers, {}; name one with "
                                         "routing.tensor",
                                         file.tables.size() + file.ragged.size(),
                                         file.json ? "lists" : "tensors", shown_names(file)));
}

std::vector<RoutingReading> described(const RoutingSpec& spec, const IntegerTable& table) {
  std::vector<RoutingReading> readings;
  for (const RoutingNumbers one : readings_of(spec, table)) {
    readings.push_back({one, table.shape.size() < 2 ? "" : reading_words(one, table.shape)});
  }
  return readings;
}

Error choose_one(const std::string& path, const IntegerTable& table,
                 const std::vector<RoutingReading>& readings) {
  std::vector<std::string> all;
  for (const RoutingReading& one : readings) {
    all.push_back(fmt::format("{} ({})", name_of(one.numbers), one.words));
  }
  return routing_error(path, fmt::format("{}{} can be read as {}: choose the one that is meant "
                                         "(*File contains* in the window, routing.numbers in a "
                                         "request)",
                                         table.name.empty() ? "" : "'" + table.name + "', ",
                                         table.words(), fmt::join(all, " or as ")));
}

/// Only Megatron's lists of tokens may differ in length. A name that speaks for other dimensions
/// says what is uneven: "token 0 has 2 layers but token 1 has 1".
Status check_named(const RoutingSpec& spec, const RaggedList& list) {
  if (spec.numbers != RoutingNumbers::Detect) return {};
  const RoutingNumbers named =
      list.name.empty() ? numbers_by_file_name(spec.path) : numbers_by_name(list.name);
  if (named == RoutingNumbers::Detect || named == RoutingNumbers::Megatron) return {};
  const bool counts = named == RoutingNumbers::Counts;
  const char* const rows = counts ? "step" : "token";
  const auto layers_of = [&](std::size_t i) { return list.tokens[i].shape.front(); };
  std::size_t other = 1;
  while (other < list.tokens.size() && layers_of(other) == layers_of(0)) ++other;
  const std::string uneven =
      other < list.tokens.size()
          ? fmt::format("{} 0 has {} but {} {} has {}", rows, counted(layers_of(0), "layer"), rows,
                        other, layers_of(other))
          : "its lists differ in length";
  return routing_error(
      spec.path,
      fmt::format(
          "{}its name says {}, [{}], where every {} must have equally many layers, but {}; if "
          "these are "
          "the tokens of Megatron's layers, choose megatron (*File contains* in the window, "
          "routing.numbers in a request)",
          list.name.empty() ? "" : "'" + list.name + "': ",
          counts ? "rows per expert" : "vLLM routed_experts",
          counts ? "steps, layers, experts" : "tokens, layers, top_k", rows, uneven));
}

}  // namespace

Result<std::vector<RoutingReading>> routing_readings(const RoutingSpec& spec) {
  ENGINE_ASSIGN(const RoutingFile file, read_routing_file(spec.path));
  ENGINE_ASSIGN(const MeantList list, meant_list(spec, file));
  if (list.table == nullptr) return std::vector<RoutingReading>{};  // only experts by layer
  return described(spec, *list.table);
}

Result<RoutedNumbers> meant_numbers(const RoutingSpec& spec, const RoutingFile& file) {
  RoutedNumbers meant{.path = spec.path,
                      .numbers = RoutingNumbers::Megatron,
                      .source = "Megatron RouterReplay",
                      .tables = {}};
  ENGINE_ASSIGN(const MeantList list, meant_list(spec, file));
  const bool detects = spec.numbers == RoutingNumbers::Detect;
  if (list.table != nullptr) {
    meant.numbers = spec.numbers;
    if (detects) {
      const std::vector<RoutingReading> readings = described(spec, *list.table);
      if (readings.size() > 1) return choose_one(spec.path, *list.table, readings);
      meant.numbers = readings.front().numbers;
    }
    meant.source = source_words(meant.numbers, *list.table);
    meant.tables = *list.table;
    return meant;
  }
  if (list.ragged != nullptr) {
    if (!detects && spec.numbers != RoutingNumbers::Megatron) {
      return routing_error(
          spec.path, fmt::format("its steps have differing numbers of tokens, which can be read as "
                                 "megatron only, but routing.numbers is {}: set it to megatron",
                                 name_of(spec.numbers)));
    }
    ENGINE_TRY(check_named(spec, *list.ragged));
    LayerTables lists = tables_of(*list.ragged);
    ENGINE_TRY(check_tokens_of_layers(spec.path, lists));
    meant.source += fmt::format(", {} lists of tokens", list.ragged->tokens.size());
    meant.tables = std::move(lists);
    return meant;
  }
  if (!file.ragged.empty()) return name_one(spec.path, file);
  ENGINE_ASSIGN(std::optional<NumberedTables> numbered, numbered_tables(spec.path, file.tables));
  if (!numbered) return name_one(spec.path, file);
  if (spec.numbers == RoutingNumbers::Counts) {
    return routing_error(spec.path,
                         "a tensor for each layer names experts of tokens, but routing.numbers is "
                         "counts: set it to detect, or name one tensor with routing.tensor");
  }
  ENGINE_TRY(check_tokens_of_layers(spec.path, numbered->by_layer));
  meant.source += fmt::format(" '{}', {} tensors", numbered->pattern, file.tables.size());
  meant.tables = std::move(numbered->by_layer);
  return meant;
}

}  // namespace engine
