// JSON lists as tables: the numbers in one list, their nesting as a shape. A list that cannot be
// read is set aside with the reason, because the lists beside it may be the ones that are meant.
#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>

#include "engine/input/json_text.h"
#include "engine/input/regular_file.h"
#include "engine/input/routing_names.h"
#include "engine/input/routing_numbers.h"

namespace engine {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMaxRoutingJsonBytes = std::size_t{16} << 20;
constexpr int kMaxListDepth = 4;  // [steps, layers, tokens, top_k]

Error refuse_list(std::string why) { return {ErrorCode::InvalidArgument, std::move(why)}; }

/// Reads one JSON list into numbers, and finds its shape.
class Flattened {
 public:
  explicit Flattened(std::vector<std::int64_t>& values) : values_(values) {}

  Status add(const Json& list, int depth = 0) {
    if (depth == kMaxListDepth) {
      return refuse_list(
          fmt::format("its lists are more than {} deep; the deepest are [steps, "
                      "layers, tokens, top_k]",
                      kMaxListDepth));
    }
    const std::int64_t length = std::ssize(list);
    std::int64_t& known = lengths_[static_cast<std::size_t>(depth)];
    if (depth == depth_) {
      known = length;
      ++depth_;
    } else if (known != length) {
      rectangular_ = false;
    }
    std::int64_t position = 0;
    for (const Json& item : list) {
      const bool nested = item.is_array();
      // Numbers may occur at one depth only.
      if (nested ? depth == numbers_at_ : numbers_at_ >= 0 && depth != numbers_at_) {
        return refuse_list(fmt::format("entry {} of a list is {}, where others are {}", position,
                                       nested ? "a list" : "a number",
                                       nested ? "numbers" : "lists"));
      }
      ENGINE_TRY(nested ? add(item, depth + 1) : add_number(item, depth, position));
      ++position;
    }
    return {};
  }

  std::vector<std::int64_t> shape() const { return {lengths_.begin(), lengths_.begin() + depth_}; }
  bool rectangular() const { return rectangular_; }

 private:
  Status add_number(const Json& item, int depth, std::int64_t position) {
    if (!item.is_number_integer() ||
        (item.is_number_unsigned() && item.get<std::uint64_t>() > INT64_MAX)) {
      return refuse_list(fmt::format("entry {} is not an integer of 64 bits", position));
    }
    numbers_at_ = depth;
    values_.push_back(item.get<std::int64_t>());
    return {};
  }

  std::vector<std::int64_t>& values_;
  std::array<std::int64_t, kMaxListDepth> lengths_{};  // of the first list at each depth
  int depth_ = 0;                                      // of all lists
  int numbers_at_ = -1;  // depth of the lists that hold numbers; -1 = none yet
  bool rectangular_ = true;
};

/// Where a list's numbers are: by position, because the numbers of all lists still move.
struct FoundTable {
  std::size_t first = 0;
  std::vector<std::int64_t> shape;
};

struct FoundList {
  std::string name;
  bool ragged = false;
  std::int64_t layers = 1;         // of a ragged list
  std::vector<FoundTable> tables;  // of a ragged list several
};

/// [steps][layers][tokens][top_k] or [layers][tokens][top_k], whose token counts differ.
Result<std::vector<FoundTable>> lists_of_tokens(const Json& list, int depth,
                                                std::vector<std::int64_t>& values) {
  std::vector<FoundTable> found;
  const auto add = [&](const Json& tokens) -> Status {
    const std::size_t first = values.size();
    Flattened flat(values);
    ENGINE_TRY(flat.add(tokens));
    if (!flat.rectangular() || (flat.shape().size() != 2 && !tokens.empty())) {
      return refuse_list(
          "a list of tokens has differing numbers of experts; every token must choose equally "
          "many");
    }
    found.push_back({first, tokens.empty() ? std::vector<std::int64_t>{0, 0} : flat.shape()});
    return {};
  };
  for (const Json& outer : list) {
    if (depth == 3) {
      ENGINE_TRY(add(outer));
      continue;
    }
    for (const Json& inner : outer) ENGINE_TRY(add(inner));
  }
  return found;
}

/// Checks that the entries of the outer dimension, [steps][layers] or vLLM's [sequences][tokens],
/// have equal lengths.
Status check_inner_lengths(const std::string& name, const Json& list) {
  const bool by_token = numbers_by_name(name) == RoutingNumbers::Vllm;
  for (const Json& outer : list) {
    if (outer.size() == list.front().size()) continue;
    return refuse_list(
        by_token ? fmt::format("a sequence has {} tokens, the first has {}; save sequences "
                               "of equal length, or one sequence per file",
                               outer.size(), list.front().size())
                 : fmt::format("a step has {} layers, the first has {}; every step must have "
                               "the same layers",
                               outer.size(), list.front().size()));
  }
  return {};
}

Result<FoundList> find_numbers(const std::string& name, const Json& list,
                               std::vector<std::int64_t>& values) {
  FoundList found{.name = name, .tables = {}};
  const std::size_t first = values.size();
  Flattened flat(values);
  ENGINE_TRY(flat.add(list));
  if (flat.rectangular()) {
    found.tables.push_back({first, flat.shape()});
    return found;
  }
  const int depth = static_cast<int>(flat.shape().size());
  if (depth < 3) {
    return refuse_list(
        fmt::format("its lists differ in length; every {} must have equally many experts",
                    numbers_by_name(name) == RoutingNumbers::Vllm ? "token" : "step"));
  }
  if (depth == 4) ENGINE_TRY(check_inner_lengths(name, list));
  values.resize(first);
  found.ragged = true;
  found.layers = static_cast<std::int64_t>(depth == 4 ? list.front().size() : list.size());
  ENGINE_ASSIGN(found.tables, lists_of_tokens(list, depth, values));
  return found;
}

/// The lists of a document: itself, or the members of an object that are lists.
std::vector<std::pair<std::string, const Json*>> lists_of(const Json& document) {
  std::vector<std::pair<std::string, const Json*>> lists;
  if (document.is_array()) lists.emplace_back("", &document);
  if (!document.is_object()) return lists;
  for (const auto& [name, member] : document.items()) {
    if (member.is_array()) lists.emplace_back(name, &member);
  }
  return lists;
}

IntegerTable table_of(const std::string& name, const FoundTable& found,
                      const std::vector<std::int64_t>& values) {
  std::int64_t count = 1;
  for (const std::int64_t dimension : found.shape) count *= dimension;
  return {.name = name,
          .dtype = "integers",
          .shape = found.shape,
          .type = StoredType::I64,
          .bytes = std::as_bytes(
              std::span(values).subspan(found.first, static_cast<std::size_t>(count)))};
}

}  // namespace

Result<RoutingFile> read_json_lists(const std::string& path) {
  ENGINE_ASSIGN(const std::string text, read_file(path, kMaxRoutingJsonBytes));
  const Result<Json> document = parse_json(text, {.max_bytes = kMaxRoutingJsonBytes});
  if (!document.ok()) return routing_error(path, document.error().message);
  const auto lists = lists_of(document.value());
  if (lists.empty()) {
    return routing_error(path,
                         "not a JSON list of integers such as [128, 0, 256], nor lists of them");
  }
  RoutingFile file;
  file.json = true;
  const auto values = std::make_shared<std::vector<std::int64_t>>();
  std::vector<FoundList> all;
  for (const auto& [name, list] : lists) {
    const std::size_t first = values->size();
    Result<FoundList> found = find_numbers(name, *list, *values);
    if (found.ok()) {
      all.push_back(std::move(found).value());
    } else {
      values->resize(first);
      file.unread.push_back({name, found.error().message});
    }
  }
  if (all.empty()) return routing_error(path, words_of(file.unread.front()));
  for (const FoundList& found : all) {
    if (!found.ragged) {
      file.tables.push_back(table_of(found.name, found.tables.front(), *values));
      continue;
    }
    RaggedList ragged{.name = found.name, .layers = found.layers, .tokens = {}};
    for (const FoundTable& one : found.tables) {
      ragged.tokens.push_back(table_of(found.name, one, *values));
    }
    file.ragged.push_back(std::move(ragged));
  }
  file.values = values;
  return file;
}

}  // namespace engine
