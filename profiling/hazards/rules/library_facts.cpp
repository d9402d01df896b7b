// The file ships with the program but users may extend it, so every field is checked.
#include "profiling/hazards/rules/diagnosis.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>

#include "engine/input/json_text.h"
#include "engine/input/regular_file.h"
#include "engine/model/path_text.h"

namespace profiling {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMaxFactBytes = 1 << 20;
constexpr std::array<std::string_view, 3> kNeeds = {"any graph", "collectives",
                                                    "conditional nodes"};

bool has(const Snapshot& snapshot, std::string_view needs) {
  return std::ranges::any_of(snapshot.graphs, [&](const GraphSnapshot& graph) {
    if (needs == "collectives") return !graph.communicators.empty();
    if (needs == "conditional nodes") {
      return std::ranges::find(graph.nodes, NodeType::Conditional, &SnapshotNode::type) !=
             graph.nodes.end();
    }
    return true;
  });
}

/// Removes the first number from the text; nullopt at its end or at a non-number.
std::optional<std::uint64_t> next_number(std::string_view& text) {
  std::uint64_t number = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failure != std::errc{}) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  if (text.starts_with('.')) text.remove_prefix(1);
  return number;
}

/// What is wrong with the fact; empty = nothing.
std::string read_fact(const Json& json, LibraryFact& fact) {
  if (!json.is_object()) return "is not an object";
  struct Field {
    const char* key;
    std::string* value;
    bool may_be_empty;
  };
  for (const Field& field :
       {Field{"id", &fact.id, false}, Field{"library", &fact.library, false},
        Field{"first", &fact.first, true}, Field{"last", &fact.last, true},
        Field{"statement", &fact.statement, false}, Field{"source", &fact.source, false},
        Field{"date", &fact.date, false}}) {
    const auto found = json.find(field.key);
    if (found == json.end() || !found->is_string()) {
      return fmt::format("needs the text '{}'", field.key);
    }
    *field.value = found->get<std::string>();
    if (!field.may_be_empty && field.value->empty()) {
      return fmt::format("has an empty '{}'", field.key);
    }
  }
  if (const auto needs = json.find("needs"); needs != json.end()) {
    if (!needs->is_string() || std::ranges::find(kNeeds, needs->get<std::string>()) == kNeeds.end())
      return fmt::format("'needs' is none of: {}", fmt::join(kNeeds, ", "));
    fact.needs = needs->get<std::string>();
  }
  if (!fact.first.empty() && !is_version(fact.first))
    return "'first' is not a version: " + fact.first;
  if (!fact.last.empty() && !is_version(fact.last)) return "'last' is not a version: " + fact.last;
  if (!fact.first.empty() && !fact.last.empty() && compare_versions(fact.first, fact.last) > 0) {
    return fmt::format("begins with {} and ends with {}", fact.first, fact.last);
  }
  return {};
}

}  // namespace

bool is_version(std::string_view text) {
  if (text.empty() || text.ends_with('.')) return false;
  while (!text.empty()) {
    if (!next_number(text)) return false;
  }
  return true;
}

int compare_versions(std::string_view a, std::string_view b) {
  for (;;) {
    const std::optional<std::uint64_t> left = next_number(a);
    const std::optional<std::uint64_t> right = next_number(b);
    if (!left || !right) return 0;
    if (*left != *right) return *left < *right ? -1 : 1;
  }
}

bool holds_for(const LibraryFact& fact, std::string_view version) {
  if (!is_version(version)) return false;
  return (fact.first.empty() || compare_versions(version, fact.first) >= 0) &&
         (fact.last.empty() || compare_versions(version, fact.last) <= 0);
}

std::string evidence_of(const LibraryFact& fact) {
  return fmt::format("{} ({}, {})", fact.statement, fact.source, fact.date);
}

std::vector<std::string> known_of_libraries(const Snapshot& snapshot,
                                            const std::vector<LibraryFact>& facts) {
  std::vector<std::string> known;
  for (const LoadedLibrary& library : snapshot.libraries) {
    for (const LibraryFact& fact : facts) {
      if (fact.library != library.name || fact.needs.empty() || !holds_for(fact, library.version) ||
          !has(snapshot, fact.needs))
        continue;
      known.push_back(
          fmt::format("{} {} is loaded. {}", library.name, library.version, evidence_of(fact)));
    }
  }
  return known;
}

engine::Result<std::vector<LibraryFact>> load_library_facts(const std::string& path) {
  const auto refuse = [&](const std::string& why) {
    return engine::Error{engine::ErrorCode::InvalidArgument,
                         fmt::format("library facts {}: {}", engine::shown_path(path), why)};
  };
  const engine::Result<std::string> text = engine::read_file(path, kMaxFactBytes);
  if (!text.ok()) {
    return engine::Error{text.error().code, "library facts " + text.error().message};
  }
  const engine::Result<Json> document = engine::parse_json(text.value());
  if (!document.ok()) return refuse(document.error().message);
  const Json& json = document.value();
  const auto facts = json.find("facts");
  if (!json.is_object() || facts == json.end() || !facts->is_array()) {
    return refuse("needs a list 'facts'");
  }
  std::vector<LibraryFact> read;
  for (const Json& entry : *facts) {
    LibraryFact fact;
    if (const std::string wrong = read_fact(entry, fact); !wrong.empty()) {
      return refuse(fmt::format("fact {} {}", read.size() + 1, wrong));
    }
    read.push_back(std::move(fact));
  }
  return read;
}

}  // namespace profiling
