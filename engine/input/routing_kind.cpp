#include "engine/input/routing_kind.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

namespace engine {
namespace {

/// No router chooses as many experts of a token.
constexpr std::int64_t kMaxTopK = 64;
/// Rows that are looked at to tell ids from counts.
constexpr std::int64_t kLookedAt = 65536;
constexpr std::int64_t kMaxPieces = 65536;
constexpr std::size_t kNamesShown = 6;

Error refuse_routing(const std::string& path, const std::string& why) {
  return {ErrorCode::InvalidArgument, fmt::format("{}: {}", path, why)};
}

// ---- Which numbers these are -------------------------------------------------------------------

bool contains_any(std::string name, std::initializer_list<std::string_view> words) {
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
  return std::ranges::any_of(
      words, [&](std::string_view word) { return name.find(word) != std::string::npos; });
}

/// Whether values look like experts of tokens: every row names different ones.
bool looks_like_ids(const IntegerTable& table) {
  const std::int64_t columns = table.shape.back();
  if (columns == 0 || columns > kMaxTopK) return false;
  const std::int64_t rows = std::min(table.size() / columns, kLookedAt);
  std::vector<std::int64_t> row(static_cast<std::size_t>(columns));
  bool same_sums = rows > 1 && columns > 1;
  std::int64_t sum_before = -1;
  bool negative = false;
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
    same_sums = same_sums && (sum_before < 0 || sum == sum_before);
    sum_before = sum;
    for (std::size_t c = 1; c < row.size(); ++c) {
      if (row[c] == row[c - 1] && row[c] >= 0 && !negative) return false;
    }
  }
  // All steps route as many tokens; different sets of experts hardly have the same sum.
  return negative || !same_sums;
}

RoutingNumbers detect(const IntegerTable& table, bool json) {
  const std::size_t dimensions = table.shape.size();
  if (dimensions <= 1) return RoutingNumbers::Counts;
  if (contains_any(table.name, {"logical_count", "count", "split", "tokens_per_expert"})) {
    return RoutingNumbers::Counts;
  }
  if (contains_any(table.name, {"routed_experts"})) return RoutingNumbers::Vllm;
  if (contains_any(table.name, {"router", "replay", "recorded", "layer"})) {
    return RoutingNumbers::Megatron;
  }
  // Lists of lists without a name: steps by experts.
  if (json && dimensions == 2) return RoutingNumbers::Counts;
  if (json && dimensions == 4) return RoutingNumbers::Megatron;
  const bool narrow = table.type == StoredType::I16 || table.type == StoredType::U8;
  const bool ids = dimensions > 3 || narrow || looks_like_ids(table);
  return ids ? RoutingNumbers::Vllm : RoutingNumbers::Counts;
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

/// The dimensions that a kind of numbers can have.
Status check_dimensions(const std::string& path, RoutingNumbers numbers,
                        const IntegerTable& table) {
  const std::size_t dimensions = table.shape.size();
  const bool counts = numbers == RoutingNumbers::Counts;
  if (dimensions >= (counts ? 1U : 2U) && dimensions <= (counts ? 3U : 4U)) return {};
  return refuse_routing(
      path,
      fmt::format("its shape is {}; {}", shape_text(table.shape),
                  counts ? "rows per expert are [experts], [steps, experts] or [steps, layers, "
                           "experts]"
                         : "experts of tokens are [tokens, top_k], with a dimension for "
                           "layers, and one for sequences or steps"));
}

Status check_layer(const RoutingSpec& spec, std::int64_t layers) {
  if (spec.layer < layers) return {};
  return refuse_routing(
      spec.path, fmt::format("routing.layer is {}, but the file has {} layer{}; choose {}",
                             spec.layer, layers, layers == 1 ? "" : "s",
                             layers <= 1 ? std::string("0") : fmt::format("0 to {}", layers - 1)));
}

/// [outer, layers, inner..] of the table, cut to the layer that is meant.
Result<RoutedLayer> slice_layer(const RoutingSpec& spec, RoutingNumbers numbers,
                                const IntegerTable& table) {
  ENGINE_TRY(check_dimensions(spec.path, numbers, table));
  const std::vector<std::int64_t>& shape = table.shape;
  const std::size_t dimensions = shape.size();
  const std::int64_t columns = shape.back();
  const bool layered = dimensions > 2;
  // Where layers stand among the dimensions, if they do.
  const std::size_t layer_at =
      numbers == RoutingNumbers::Megatron ? dimensions - 3 : dimensions - 2;
  const std::int64_t layers = layered ? shape[layer_at] : 1;
  RoutedLayer layer{.numbers = numbers,
                    .source = source_words(numbers, table),
                    .layers = static_cast<int>(std::min<std::int64_t>(layers, kMaxRecordedLayers)),
                    .pieces = {},
                    .file = {}};
  ENGINE_TRY(check_layer(spec, layers));
  RoutedRows piece{.type = table.type,
                   .bytes = table.bytes,
                   .first = 0,
                   .rows = 1,
                   .stride = columns,
                   .columns = columns};
  const std::int64_t outer = dimensions == 4 ? shape[0] : 1;
  if (outer > kMaxPieces) {
    return refuse_routing(spec.path, fmt::format("{} has {} sequences or steps; at most {} are "
                                                 "read: save fewer",
                                                 table.words(), outer, kMaxPieces));
  }
  if (dimensions == 1) {
    layer.pieces.push_back(piece);
  } else if (dimensions == 2) {
    piece.rows = shape[0];
    layer.pieces.push_back(piece);
  } else if (numbers == RoutingNumbers::Megatron) {  // [.., layers, tokens, top_k]
    piece.rows = shape[dimensions - 2];
    for (std::int64_t step = 0; step < outer; ++step) {
      piece.first = (step * layers + spec.layer) * piece.rows * columns;
      layer.pieces.push_back(piece);
    }
  } else {  // [.., rows, layers, columns]
    piece.rows = shape[dimensions - 3];
    piece.stride = layers * columns;
    for (std::int64_t sequence = 0; sequence < outer; ++sequence) {
      piece.first = (sequence * piece.rows * layers + spec.layer) * columns;
      layer.pieces.push_back(piece);
    }
  }
  return layer;
}

// ---- A tensor for each layer, or for each step and layer ---------------------------------------

/// "decoder.layers.3.router" -> text with {} for numbers, the numbers, and the word before each.
struct NumberedName {
  std::string pattern;
  std::vector<std::int64_t> numbers;
  std::vector<std::string> words;
};

NumberedName split_name(const std::string& name) {
  NumberedName split;
  std::size_t at = 0;
  std::string word;
  while (at < name.size()) {
    const auto byte = static_cast<unsigned char>(name[at]);
    if (std::isdigit(byte) == 0) {
      if (std::isalpha(byte) != 0) word += name[at];
      split.pattern += name[at++];
      continue;
    }
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(name.data() + at, name.data() + name.size(), number);
    split.numbers.push_back(error == std::errc{} ? number : -1);
    split.words.push_back(std::exchange(word, {}));
    split.pattern += "{}";
    at = static_cast<std::size_t>(end - name.data());
  }
  return split;
}

/// Which numbers of the names are step and layer: those that differ, told apart by the words before
/// them. -1 = none.
struct NumberPlaces {
  int step = -1;
  int layer = -1;
};

std::optional<NumberPlaces> places_of(const std::vector<NumberedName>& names) {
  std::vector<int> varying;
  const NumberedName& first = names.front();
  for (const NumberedName& name : names) {
    if (name.pattern != first.pattern) return std::nullopt;
  }
  for (std::size_t place = 0; place < first.numbers.size(); ++place) {
    const auto differs = [&](const NumberedName& name) {
      return name.numbers[place] != first.numbers[place];
    };
    if (std::ranges::any_of(names, differs)) varying.push_back(static_cast<int>(place));
  }
  if (varying.empty() || varying.size() > 2) return std::nullopt;
  const auto is_step = [&](int place) {
    return contains_any(first.words[static_cast<std::size_t>(place)],
                        {"step", "iter", "micro", "batch"});
  };
  if (varying.size() == 1) {
    if (is_step(varying[0])) return NumberPlaces{.step = varying[0], .layer = -1};
    return NumberPlaces{.step = -1, .layer = varying[0]};
  }
  if (is_step(varying[1]) && !is_step(varying[0])) return NumberPlaces{varying[1], varying[0]};
  return NumberPlaces{varying[0], varying[1]};
}

Result<RoutedLayer> pieces_by_number(
    const RoutingSpec& spec,
    const std::map<std::pair<std::int64_t, std::int64_t>, IntegerTable>& all,
    const std::string& source) {
  std::set<std::int64_t> steps;
  std::set<std::int64_t> layers;
  for (const auto& [place, table] : all) {
    steps.insert(place.first);
    layers.insert(place.second);
  }
  ENGINE_TRY(check_layer(spec, std::ssize(layers)));
  const std::int64_t layer = *std::next(layers.begin(), spec.layer);
  RoutedLayer made{.numbers = RoutingNumbers::Megatron,
                   .source = source,
                   .layers = static_cast<int>(layers.size()),
                   .pieces = {},
                   .file = {}};
  for (const std::int64_t step : steps) {
    const auto found = all.find({step, layer});
    if (found == all.end()) {
      return refuse_routing(
          spec.path,
          fmt::format("step {} has no layer {}; every step needs every layer", step, layer));
    }
    const IntegerTable& table = found->second;
    if (table.shape.size() != 2) {
      return refuse_routing(
          spec.path, fmt::format("'{}' is {}; a tensor per layer is [tokens, top_k]", table.name,
                                 shape_text(table.shape)));
    }
    made.pieces.push_back({.type = table.type,
                           .bytes = table.bytes,
                           .first = 0,
                           .rows = table.shape[0],
                           .stride = table.shape[1],
                           .columns = table.shape[1]});
  }
  return made;
}

Result<RoutedLayer> numbered_layer(const RoutingSpec& spec, const RoutingFile& file) {
  std::vector<NumberedName> names;
  for (const IntegerTable& table : file.tables) names.push_back(split_name(table.name));
  const std::optional<NumberPlaces> places = places_of(names);
  if (!places) {
    std::string listed;
    for (std::size_t i = 0; i < std::min(file.tables.size(), kNamesShown); ++i) {
      listed += (i == 0 ? "" : ", ") + file.tables[i].name;
    }
    return refuse_routing(
        spec.path,
        fmt::format("it holds {} tensors of integers, {}{}; name one with "
                    "routing.tensor",
                    file.tables.size(), listed, file.tables.size() > kNamesShown ? ", ..." : ""));
  }
  std::map<std::pair<std::int64_t, std::int64_t>, IntegerTable> all;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto number = [&](int place) {
      return place < 0 ? std::int64_t{0} : names[i].numbers[static_cast<std::size_t>(place)];
    };
    all.emplace(std::pair{number(places->step), number(places->layer)}, file.tables[i]);
  }
  return pieces_by_number(spec, all,
                          fmt::format("Megatron RouterReplay '{}', {} tensors",
                                      names.front().pattern, file.tables.size()));
}

Result<RoutedLayer> ragged_layer(const RoutingSpec& spec, const RoutingFile& file) {
  if (spec.numbers == RoutingNumbers::Counts || spec.numbers == RoutingNumbers::Vllm) {
    return refuse_routing(spec.path,
                          fmt::format("its lists differ in length, which only Megatron's do; "
                                      "routing.numbers is {}: set it to detect",
                                      name_of(spec.numbers)));
  }
  std::map<std::pair<std::int64_t, std::int64_t>, IntegerTable> all;
  for (const RaggedTable& one : file.ragged) all.emplace(std::pair{one.step, one.layer}, one.table);
  return pieces_by_number(
      spec, all, fmt::format("Megatron RouterReplay, {} lists of tokens", file.ragged.size()));
}

// ---- Which table is meant ----------------------------------------------------------------------

/// Null: none in particular.
Result<const IntegerTable*> meant_table(const RoutingSpec& spec, const RoutingFile& file) {
  const std::vector<IntegerTable>& tables = file.tables;
  if (!spec.tensor.empty()) {
    const auto found = std::ranges::find(tables, spec.tensor, &IntegerTable::name);
    if (found != tables.end()) return &*found;
    return Error{ErrorCode::NotFound,
                 fmt::format("{}: it has no tensor of integers named '{}'; it has {}", spec.path,
                             spec.tensor,
                             tables.empty() ? "none" : fmt::format("'{}'", tables.front().name))};
  }
  if (tables.size() == 1) return &tables.front();
  for (const std::string_view usual : {"logical_count", "routed_experts"}) {
    const auto named = std::ranges::find_if(
        tables, [&](const IntegerTable& table) { return table.name.ends_with(usual); });
    if (named != tables.end()) return &*named;
  }
  return nullptr;
}

}  // namespace

Result<RoutedLayer> open_routed_layer(const RoutingSpec& spec) {
  ENGINE_ASSIGN(RoutingFile file, read_routing_file(spec.path));
  Result<RoutedLayer> layer = [&]() -> Result<RoutedLayer> {
    if (!file.ragged.empty()) return ragged_layer(spec, file);
    ENGINE_ASSIGN(const IntegerTable* table, meant_table(spec, file));
    if (table == nullptr) return numbered_layer(spec, file);
    const RoutingNumbers numbers =
        spec.numbers == RoutingNumbers::Detect ? detect(*table, file.json) : spec.numbers;
    return slice_layer(spec, numbers, *table);
  }();
  if (!layer.ok()) return layer;
  layer.value().file = std::move(file);
  return layer;
}

bool is_placeholder(const RoutedRows& rows, std::int64_t row) {
  if (rows.columns < 2) return false;
  const std::int64_t first = rows.at(row, 0);
  for (std::int64_t column = 1; column < rows.columns; ++column) {
    if (rows.at(row, column) != first) return false;
  }
  return true;
}

}  // namespace engine
