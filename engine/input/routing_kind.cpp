#include "engine/input/routing_kind.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "engine/input/routing_names.h"

namespace engine {
namespace {

/// Rows that are looked at to tell ids from counts.
constexpr std::int64_t kLookedAt = 65536;
constexpr std::size_t kNamesShown = 6;

// ---- Which numbers these are -------------------------------------------------------------------

/// vLLM and others save ids, which are small, in types that hardly hold counts.
bool is_narrow(StoredType type) { return type == StoredType::I16 || type == StoredType::U8; }

/// Whether values look like experts of tokens: every row names different ones.
bool looks_like_ids(const IntegerTable& table) {
  const std::int64_t columns = table.shape.back();
  if (columns == 0 || columns > kMaxTopK) return false;
  const std::int64_t rows = std::min(table.size() / columns, kLookedAt);
  std::vector<std::int64_t> row(static_cast<std::size_t>(columns));
  bool same_sums = rows > 1 && columns > 1;
  std::int64_t sum_before = -1;
  bool negative = false;
  bool looked = false;
  for (std::int64_t r = 0; r < rows; ++r) {
    std::int64_t sum = 0;
    for (std::int64_t c = 0; c < columns; ++c) {
      const std::int64_t value = table.at(r * columns + c);
      if (value >= kMaxExperts) return false;
      negative = negative || value < 0;
      row[static_cast<std::size_t>(c)] = value;
      sum += std::max<std::int64_t>(value, 0);
    }
    std::ranges::sort(row);
    if (row.front() == row.back() && columns > 1) continue;  // a placeholder, or no rows
    looked = true;
    same_sums = same_sums && (sum_before < 0 || sum == sum_before);
    sum_before = sum;
    for (std::size_t c = 1; c < row.size(); ++c) {
      if (row[c] == row[c - 1] && row[c] >= 0 && !negative) return false;
    }
  }
  // All steps route as many tokens; different sets of experts hardly have the same sum.
  return (looked || rows == 0) && (negative || is_narrow(table.type) || !same_sums);
}

RoutingNumbers detect(const IntegerTable& table, bool json) {
  const std::size_t dimensions = table.shape.size();
  if (dimensions <= 1) return RoutingNumbers::Counts;
  if (const RoutingNumbers named = numbers_by_name(table.name); named != RoutingNumbers::Detect) {
    return named;
  }
  // Lists of lists without a name: steps by experts.
  if (json && dimensions == 2) return RoutingNumbers::Counts;
  if (json && dimensions == 4) return RoutingNumbers::Megatron;
  return dimensions > 3 || looks_like_ids(table) ? RoutingNumbers::Vllm : RoutingNumbers::Counts;
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

/// At most one; both null: the tables together may be one recording.
struct MeantList {
  const IntegerTable* table = nullptr;
  const RaggedList* ragged = nullptr;
};

/// Of everything the file holds: tables, then ragged lists, then what could not be read.
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
                 fmt::format("{}: it has no {} of integers named '{}'; it has {}", spec.path,
                             file.json ? "list" : "tensor", spec.tensor,
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

}  // namespace

Result<RoutedNumbers> meant_numbers(const RoutingSpec& spec, const RoutingFile& file) {
  RoutedNumbers meant{.path = spec.path,
                      .numbers = RoutingNumbers::Megatron,
                      .source = "Megatron RouterReplay",
                      .tables = {}};
  ENGINE_ASSIGN(const MeantList list, meant_list(spec, file));
  const bool detects = spec.numbers == RoutingNumbers::Detect;
  if (list.table != nullptr) {
    meant.numbers = detects ? detect(*list.table, file.json) : spec.numbers;
    meant.source = source_words(meant.numbers, *list.table);
    meant.tables = *list.table;
    return meant;
  }
  if (list.ragged != nullptr) {
    if (!detects && spec.numbers != RoutingNumbers::Megatron) {
      return routing_error(spec.path,
                           fmt::format("its lists differ in length, which only Megatron's do; "
                                       "routing.numbers is {}: set it to detect",
                                       name_of(spec.numbers)));
    }
    meant.source += fmt::format(", {} lists of tokens", list.ragged->tokens.size());
    meant.tables = tables_of(*list.ragged);
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
  meant.source += fmt::format(" '{}', {} tensors", numbered->pattern, file.tables.size());
  meant.tables = std::move(numbered->by_layer);
  return meant;
}

}  // namespace engine
