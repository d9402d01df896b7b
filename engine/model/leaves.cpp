#include "engine/model/leaves.h"

#include <fmt/format.h>

#include "engine/model/values.h"

namespace engine {
namespace {

bool is_number(Kind kind) {
  return kind == Kind::Bool || kind == Kind::Signed || kind == Kind::Unsigned ||
         kind == Kind::Real || kind == Kind::Enum;
}

bool is_leaf(const Type& type) {
  if (type.kind == Kind::List)
    return is_number(type.element->kind) || type.element->kind == Kind::Text;
  return is_number(type.kind) || type.kind == Kind::Text;
}

std::string joined(const std::string& path, std::string_view name) {
  return path.empty() ? std::string(name) : fmt::format("{}.{}", path, name);
}

void walk(const Type& type, const void* value, const Field& field, const std::string& path,
          const std::function<void(const Leaf&)>& visit);

void walk_record(const Type& type, const void* record, const std::string& path,
                 const std::function<void(const Leaf&)>& visit) {
  for (const Field& field : type.fields) {
    walk(*field.type, record == nullptr ? nullptr : field.in(record), field,
         joined(path, field.name), visit);
  }
}

/// Without a value: of the type.
void walk(const Type& type, const void* value, const Field& field, const std::string& path,
          const std::function<void(const Leaf&)>& visit) {
  if (is_leaf(type)) return visit({path, field, type, value});
  switch (type.kind) {
    case Kind::Record:
      return walk_record(type, value, path, visit);
    case Kind::List:
      for (std::size_t i = 0; value != nullptr && i < type.list.size(value); ++i) {
        walk(*type.element, element_at(type, value, i), field, fmt::format("{}[{}]", path, i),
             visit);
      }
      return;
    case Kind::Choice:
      for (std::size_t i = 0; i < type.choice.types.size(); ++i) {
        const Type* alternative = type.choice.types[i];
        if (alternative == nullptr || (value != nullptr && type.choice.index(value) != i)) continue;
        walk_record(*alternative,
                    value == nullptr ? nullptr : type.choice.chosen(const_cast<void*>(value)),
                    joined(path, type.choice.names[i]), visit);
      }
      return;
    case Kind::Optional: {
      const void* held = value == nullptr ? nullptr : type.maybe.value(value);
      if (value == nullptr || held != nullptr) walk(*type.element, held, field, path, visit);
      return;
    }
    default:
      return;
  }
}

}  // namespace

void for_each_leaf(const Type& type, const void* record,
                   const std::function<void(const Leaf&)>& visit) {
  walk_record(type, record, "", visit);
}

std::vector<Leaf> leaves_of(const Type& type) {
  std::vector<Leaf> leaves;
  walk_record(type, nullptr, "", [&leaves](const Leaf& leaf) { leaves.push_back(leaf); });
  return leaves;
}

namespace {

/// With `choose`, selects the alternative that the path names; otherwise unselected alternatives
/// have no value.
FoundLeaf walk_to(const Type& type, void* record, std::string_view path, bool choose) {
  const std::string_view name = path.substr(0, path.find('.'));
  const std::string_view rest = name.size() == path.size() ? "" : path.substr(name.size() + 1);
  for (const Field& field : type.fields) {
    if (!is_called(field, name)) continue;
    void* value = record == nullptr ? nullptr : field.in(record);
    const Type* at = field.type;
    if (at->kind == Kind::Optional) {
      void* held = value == nullptr ? nullptr : const_cast<void*>(at->maybe.value(value));
      value = held == nullptr && choose ? at->maybe.make(value) : held;
      at = at->element;
    }
    if (at->kind == Kind::Record) return walk_to(*at, value, rest, choose);
    if (at->kind != Kind::Choice) {
      return rest.empty() ? FoundLeaf{&field, at, value} : FoundLeaf{};
    }
    const std::string_view chosen = rest.substr(0, rest.find('.'));
    for (std::size_t i = 0; i < at->choice.names.size(); ++i) {
      if (at->choice.types[i] == nullptr || at->choice.names[i] != chosen) continue;
      if (rest.size() == chosen.size()) return {};
      void* inside = nullptr;
      if (value != nullptr && at->choice.index(value) == i) {
        inside = at->choice.chosen(value);
      } else if (choose) {
        inside = at->choice.choose(value, i);
      }
      return walk_to(*at->choice.types[i], inside, rest.substr(chosen.size() + 1), choose);
    }
  }
  return {};
}

}  // namespace

FoundLeaf find_leaf(const Type& type, const void* record, std::string_view path) {
  return walk_to(type, const_cast<void*>(record), path, /*choose=*/false);
}

void* choose_leaf(const Type& type, void* record, std::string_view path) {
  return const_cast<void*>(walk_to(type, record, path, /*choose=*/true).value);
}

bool set_leaf(const Type& type, void* record, std::string_view path, std::string_view text) {
  const FoundLeaf leaf = find_leaf(type, record, path);
  return leaf.field != nullptr && parse(*leaf.type, choose_leaf(type, record, path), text);
}

LeafTexts leaf_texts(const Type& type, const void* record) {
  LeafTexts texts;
  for_each_leaf(type, record, [&texts](const Leaf& leaf) {
    texts.emplace(leaf.path, text_of(leaf.type, leaf.value));
  });
  return texts;
}

}  // namespace engine
