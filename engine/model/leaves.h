// A described value leaf by leaf: every number, text and enumerator by its path.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engine/model/fields.h"

namespace engine {

/// A value without nested fields: a number, a text, an enumerator, or a list of those.
struct Leaf {
  std::string path;  // "recipe.delayed.margin"
  const Field& field;
  const Type& type;   // of the value: what an optional holds
  const void* value;  // null in leaves_of()
};
/// Visits leaves in the order of the tables: only the selected alternative of a choice, and nothing
/// of an empty optional.
void for_each_leaf(const Type& type, const void* record,
                   const std::function<void(const Leaf&)>& visit);
/// Leaves of the type itself: every alternative of a choice, and nothing inside lists.
std::vector<Leaf> leaves_of(const Type& type);

struct FoundLeaf {
  const Field* field = nullptr;  // null: there is no such leaf
  const Type* type = nullptr;    // of the value: what an optional holds
  const void* value = nullptr;   // null: of an alternative that is not chosen
};
FoundLeaf find_leaf(const Type& type, const void* record, std::string_view path);
/// The value of the leaf, to be stored in; a choice becomes what the path names. Null: no such
/// path.
void* choose_leaf(const Type& type, void* record, std::string_view path);
/// Reads the leaf of this path from text; a choice becomes what the path names. False: no such
/// path, or the text is not a value of it.
bool set_leaf(const Type& type, void* record, std::string_view path, std::string_view text);

/// The texts of all leaves by their paths.
using LeafTexts = std::map<std::string, std::string>;
LeafTexts leaf_texts(const Type& type, const void* record);
template <Described T>
LeafTexts leaf_texts(const T& record) {
  return leaf_texts(kType<T>, &record);
}

}  // namespace engine
