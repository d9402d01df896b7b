#include "engine/input/routing_layers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <set>
#include <string_view>
#include <tuple>

namespace engine {
namespace {

constexpr std::int64_t kMaxPieces = 65536;
constexpr std::size_t kNumbersShown = 6;

// ---- Checks ------------------------------------------------------------------------------------

std::string label_of(const IntegerTable& table) {
  return table.name.empty() ? "" : fmt::format("'{}': ", table.name);
}

/// Dimensions that can be multiplied and walked over. Beside a dimension of 0 any other may be
/// huge: the file needs no data for it. Within this bound no product below overflows: either it has
/// a factor 0 early enough, or it counts elements that are in the file.
Status check_dimensions(const std::string& path, RoutingNumbers numbers,
                        const IntegerTable& table) {
  const std::size_t dimensions = table.shape.size();
  const bool counts = numbers == RoutingNumbers::Counts;
  if (dimensions < (counts ? 1U : 2U) || dimensions > (counts ? 3U : 4U)) {
    return routing_error(
        path,
        fmt::format("{}its shape is {}; {}", label_of(table), shape_text(table.shape),
                    counts ? "rows per expert are [experts], [steps, experts] or [steps, layers, "
                             "experts]"
                           : "experts of tokens are [tokens, top_k], with a dimension for "
                             "layers, and one for sequences or steps"));
  }
  if (std::ranges::all_of(table.shape, [](std::int64_t d) { return d <= kMaxLayerNumbers; })) {
    return {};
  }
  return routing_error(path,
                       fmt::format("{}its shape is {}, with a dimension above {}, the most "
                                   "numbers of a layer that are read: save fewer tokens",
                                   label_of(table), shape_text(table.shape), kMaxLayerNumbers));
}

/// Experts of a token, where the numbers name them.
Status check_width(const std::string& path, const IntegerTable& table) {
  const std::int64_t columns = table.shape.back();
  // An empty JSON list does not say how wide its rows would be.
  const bool empty_list = columns == 0 && table.shape.front() == 0;
  if ((columns > 0 || empty_list) && columns <= kMaxTopK) return {};
  return routing_error(
      path, fmt::format("{}every token of {} chooses {} experts, where 1 to {} are read; if these "
                        "are rows per expert, set routing.numbers to counts",
                        label_of(table), table.words(), columns, kMaxTopK));
}

/// `known`: the numbers that the file gives its layers; empty if it only counts them.
Status check_layer(const std::string& path, int layer, std::int64_t layers,
                   const std::vector<std::int64_t>& known) {
  if (layer < layers) return {};
  if (layers == 0) return routing_error(path, "it holds no layer");
  std::string also;
  if (!known.empty() && known.back() != layers - 1) {
    const std::size_t shown = std::min(known.size(), kNumbersShown);
    also = fmt::format("; the file numbers them {}{}",
                       fmt::join(known.begin(), known.begin() + std::ptrdiff_t(shown), ", "),
                       shown < known.size() ? ", ..." : "");
    const auto meant = std::ranges::lower_bound(known, layer);
    if (meant != known.end() && *meant == layer) {
      also += fmt::format(": for {} choose {}", layer, meant - known.begin());
    }
  }
  return routing_error(
      path, fmt::format("routing.layer is {}, but the file has {} layer{}; choose {}{}", layer,
                        layers, layers == 1 ? "" : "s",
                        layers == 1 ? std::string("0") : fmt::format("0 to {}", layers - 1), also));
}

// ---- A layer of one table ----------------------------------------------------------------------

/// [outer, layers, inner..] of the table, cut to the layer that is meant.
Result<RoutedLayer> cut(const RoutedNumbers& all, const IntegerTable& table, int number) {
  ENGINE_TRY(check_dimensions(all.path, all.numbers, table));
  if (all.numbers != RoutingNumbers::Counts) ENGINE_TRY(check_width(all.path, table));
  const std::vector<std::int64_t>& shape = table.shape;
  const std::size_t dimensions = shape.size();
  const std::int64_t columns = shape.back();
  const bool layered = dimensions > 2;
  // Which dimension is that of the layers, if there is one.
  const std::size_t layer_at =
      all.numbers == RoutingNumbers::Megatron ? dimensions - 3 : dimensions - 2;
  const std::int64_t layers = layered ? shape[layer_at] : 1;
  RoutedLayer layer{.numbers = all.numbers,
                    .source = all.source,
                    .layers = static_cast<int>(std::min<std::int64_t>(layers, kMaxRecordedLayers)),
                    .pieces = {}};
  ENGINE_TRY(check_layer(all.path, number, layers, {}));
  RoutedRows piece{.type = table.type,
                   .bytes = table.bytes,
                   .first = 0,
                   .rows = 1,
                   .stride = columns,
                   .columns = columns};
  const std::int64_t outer = dimensions == 4 ? shape[0] : 1;
  if (outer > kMaxPieces) {
    return routing_error(all.path, fmt::format("{} has {} sequences or steps; at most {} are "
                                               "read: save fewer",
                                               table.words(), outer, kMaxPieces));
  }
  if (dimensions == 1) {
    layer.pieces.push_back(piece);
  } else if (dimensions == 2) {
    piece.rows = shape[0];
    layer.pieces.push_back(piece);
  } else if (all.numbers == RoutingNumbers::Megatron) {  // [.., layers, tokens, top_k]
    piece.rows = shape[dimensions - 2];
    for (std::int64_t step = 0; step < outer; ++step) {
      piece.first = (step * layers + number) * piece.rows * columns;
      layer.pieces.push_back(piece);
    }
  } else {  // [.., rows, layers, columns]
    piece.rows = shape[dimensions - 3];
    piece.stride = layers * columns;
    for (std::int64_t sequence = 0; sequence < outer; ++sequence) {
      piece.first = (sequence * piece.rows * layers + number) * columns;
      layer.pieces.push_back(piece);
    }
  }
  return layer;
}

// ---- A table for each layer --------------------------------------------------------------------

/// "decoder.layers.3.router" -> text with {} for numbers, the numbers, and the word before each.
struct NameParts {
  std::string pattern;
  std::vector<std::int64_t> numbers;  // -1: beyond 64 bits
  std::vector<std::string> words;
};

NameParts parts_of(const std::string& name) {
  NameParts parts;
  std::size_t at = 0;
  std::string word;
  while (at < name.size()) {
    const auto byte = static_cast<unsigned char>(name[at]);
    if (std::isdigit(byte) == 0) {
      if (std::isalpha(byte) != 0) word += name[at];
      parts.pattern += name[at++];
      continue;
    }
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(name.data() + at, name.data() + name.size(), number);
    parts.numbers.push_back(error == std::errc{} ? number : -1);
    parts.words.push_back(std::exchange(word, {}));
    parts.pattern += "{}";
    at = static_cast<std::size_t>(end - name.data());
  }
  return parts;
}

bool is_step_word(std::string word) {
  std::ranges::transform(word, word.begin(), [](unsigned char c) { return std::tolower(c); });
  constexpr std::array<std::string_view, 4> kWords = {"step", "iter", "micro", "batch"};
  return std::ranges::any_of(
      kWords, [&](std::string_view one) { return word.find(one) != std::string::npos; });
}

/// Which numbers of the names are step and layer: those that differ, told apart by the words before
/// them. -1 = none.
struct NumberPlaces {
  int step = -1;
  int layer = -1;
};

std::optional<NumberPlaces> places_of(const std::vector<NameParts>& names) {
  std::vector<int> varying;
  const NameParts& first = names.front();
  for (const NameParts& name : names) {
    if (name.pattern != first.pattern) return std::nullopt;
  }
  for (std::size_t place = 0; place < first.numbers.size(); ++place) {
    const auto differs = [&](const NameParts& name) {
      return name.numbers[place] != first.numbers[place];
    };
    if (std::ranges::any_of(names, differs)) varying.push_back(static_cast<int>(place));
  }
  if (varying.empty() || varying.size() > 2) return std::nullopt;
  const auto is_step = [&](int place) {
    return is_step_word(first.words[static_cast<std::size_t>(place)]);
  };
  if (varying.size() == 1) {
    if (is_step(varying[0])) return NumberPlaces{.step = varying[0], .layer = -1};
    return NumberPlaces{.step = -1, .layer = varying[0]};
  }
  if (is_step(varying[1]) && !is_step(varying[0])) return NumberPlaces{varying[1], varying[0]};
  return NumberPlaces{varying[0], varying[1]};
}

void number_steps_and_layers(LayerTables& all) {
  std::set<std::int64_t> steps;
  std::set<std::int64_t> layers;
  for (const auto& [place, table] : all.tables) {
    steps.insert(place.first);
    layers.insert(place.second);
  }
  all.steps.assign(steps.begin(), steps.end());
  all.layers.assign(layers.begin(), layers.end());
}

Result<RoutedLayer> put_together(const RoutedNumbers& all, const LayerTables& by_layer,
                                 int number) {
  const auto layers = std::ssize(by_layer.layers);
  ENGINE_TRY(check_layer(all.path, number, layers, by_layer.layers));
  const std::int64_t layer = by_layer.layers[static_cast<std::size_t>(number)];
  RoutedLayer made{
      .numbers = all.numbers,
      .source = layer == number ? all.source : fmt::format("{}, layer {}", all.source, layer),
      .layers = static_cast<int>(std::min<std::int64_t>(layers, kMaxRecordedLayers)),
      .pieces = {}};
  for (const std::int64_t step : by_layer.steps) {
    const auto found = by_layer.tables.find({step, layer});
    if (found == by_layer.tables.end()) {
      return routing_error(all.path, fmt::format("step {} has no layer {}; every step needs every "
                                                 "layer",
                                                 step, layer));
    }
    const IntegerTable& table = found->second;
    if (table.shape.size() != 2) {
      return routing_error(all.path,
                           fmt::format("{}its shape is {}; a tensor per layer is [tokens, top_k]",
                                       label_of(table), shape_text(table.shape)));
    }
    ENGINE_TRY(check_dimensions(all.path, all.numbers, table));
    ENGINE_TRY(check_width(all.path, table));
    made.pieces.push_back({.type = table.type,
                           .bytes = table.bytes,
                           .first = 0,
                           .rows = table.shape[0],
                           .stride = table.shape[1],
                           .columns = table.shape[1]});
  }
  return made;
}

}  // namespace

bool is_placeholder(const RoutedRows& rows, std::int64_t row) {
  if (rows.columns < 2) return false;
  const std::int64_t first = rows.at(row, 0);
  for (std::int64_t column = 1; column < rows.columns; ++column) {
    if (rows.at(row, column) != first) return false;
  }
  return true;
}

Result<std::optional<NumberedTables>> numbered_tables(const std::string& path,
                                                      const std::vector<IntegerTable>& tables) {
  if (tables.empty()) return std::optional<NumberedTables>();
  std::vector<NameParts> names;
  for (const IntegerTable& table : tables) names.push_back(parts_of(table.name));
  const std::optional<NumberPlaces> places = places_of(names);
  if (!places) return std::optional<NumberedTables>();
  NumberedTables all{.pattern = names.front().pattern, .by_layer = {}};
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto number = [&](int place) {
      return place < 0 ? std::int64_t{0} : names[i].numbers[static_cast<std::size_t>(place)];
    };
    const std::pair at{number(places->step), number(places->layer)};
    if (at.first < 0 || at.second < 0) {
      return routing_error(
          path, fmt::format("a number in the name '{}' does not fit 64 bits", tables[i].name));
    }
    const auto [known, added] = all.by_layer.tables.emplace(at, tables[i]);
    if (added) continue;
    return routing_error(
        path, fmt::format("'{}' and '{}' are both layer {}{}; rename one, or name "
                          "the one that is meant with routing.tensor",
                          known->second.name, tables[i].name, at.second,
                          places->step < 0 ? std::string() : fmt::format(" of step {}", at.first)));
  }
  number_steps_and_layers(all.by_layer);
  return std::optional(std::move(all));
}

Status check_tokens_of_layers(const std::string& path, const LayerTables& all) {
  const auto tokens_of = [](const IntegerTable& table) { return table.shape.front(); };
  const auto width_of = [](const IntegerTable& table) { return table.shape.back(); };
  const IntegerTable* of_step = nullptr;  // the first with this step
  std::int64_t step = 0;
  std::int64_t first_layer = 0;
  std::map<std::int64_t, std::int64_t> widths;  // by layer
  for (const auto& [at, table] : all.tables) {
    if (table.shape.size() != 2) continue;  // refused where it is used
    if (of_step == nullptr || at.first != step) {
      of_step = &table;
      std::tie(step, first_layer) = at;
    }
    if (tokens_of(table) != tokens_of(*of_step)) {
      return routing_error(
          path, fmt::format("step {} has {} tokens in layer {} but {} in layer {}; every token "
                            "passes every layer, so save equally many for each",
                            step, tokens_of(*of_step), first_layer, tokens_of(table), at.second));
    }
    if (tokens_of(table) == 0) continue;  // an empty list does not say how wide it is
    const std::int64_t width = widths.emplace(at.second, width_of(table)).first->second;
    if (width == width_of(table)) continue;
    return routing_error(path, fmt::format("tokens of layer {} choose {} experts each, but {} in "
                                           "step {}; a router chooses equally many in every step",
                                           at.second, width, width_of(table), step));
  }
  return {};
}

LayerTables tables_of(const RaggedList& list) {
  LayerTables all;
  const std::int64_t layers = std::max<std::int64_t>(list.layers, 1);
  for (std::int64_t i = 0; i < std::ssize(list.tokens); ++i) {
    all.tables.emplace(std::pair{i / layers, i % layers}, list.tokens[static_cast<std::size_t>(i)]);
  }
  number_steps_and_layers(all);
  return all;
}

Result<RoutedLayer> layer_of(const RoutedNumbers& numbers, int layer) {
  if (const auto* table = std::get_if<IntegerTable>(&numbers.tables)) {
    return cut(numbers, *table, layer);
  }
  return put_together(numbers, std::get<LayerTables>(numbers.tables), layer);
}

}  // namespace engine
