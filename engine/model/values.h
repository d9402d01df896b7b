// Operations on any value described with engine/model/fields.h, in addition to validate(): compare,
// print, parse, walk leaf by leaf. No templates; the tables contain everything.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engine/model/fields.h"

namespace engine {

/// Where a value is in a larger one, for messages: "recipe.delayed.margin", "experts[3].rows". Made
/// on the way down, printed only when something is wrong.
struct FieldPath {
  const FieldPath* above = nullptr;
  std::string_view name = {};
  std::size_t index = kNoIndex;  // of an element of a list
  static constexpr std::size_t kNoIndex = ~std::size_t{0};

  std::string text() const;
};

/// Field by field; NaN equals NaN.
bool equal(const Type& type, const void* a, const void* b);
template <Described T>
bool equal_fields(const T& a, const T& b) {
  return equal(kType<T>, &a, &b);
}

/// Value of a bool, a number or an enumeration.
std::int64_t signed_number(const Type& type, const void* value);     // Bool, Signed, Enum
std::uint64_t unsigned_number(const Type& type, const void* value);  // Unsigned
double real_number(const Type& type, const void* value);             // any of them

/// Stores a number in a bool, a number or an enumeration. Returns false and stores nothing if the
/// type cannot hold it or the enumeration has no such number. A float takes the nearest value.
bool store(const Type& type, void* value, std::int64_t number);
bool store(const Type& type, void* value, std::uint64_t number);
bool store(const Type& type, void* value, double number);

/// "fp8-block", "true", "0.5": numbers in the shortest form that reads back; lists as "[1, 2]".
/// Records, choices and lists of them are walked, not printed.
std::string text_of(const Type& type, const void* value);
/// Enumerators by name in any case, '-', '_' and ' ' alike, also with a word before it that names
/// the enumeration (ROUTING_ZIPF), or by the first or last words of the name if those of no other
/// are the same (cpu, block).
bool parse(const Type& type, void* value, std::string_view text);
/// "is 7; it must be between 1 and 3": why the rules refuse a number; empty = they accept it.
std::string number_flaw(const Type& type, const void* value, const FieldRules& rules);
/// What parse() takes: "bf16, fp8-block, ...", "an integer from 1 to 1024".
std::string expected_text(const Type& type, const FieldRules& rules);
/// " (did you mean 'nvfp4'?)" if the text is nearly the name of an enumerator, else empty.
std::string nearest_name(const Type& type, std::string_view text);

/// A value without nested fields: a number, a text, an enumerator, or a list of those.
struct Leaf {
  std::string path;  // "recipe.delayed.margin"
  const Field& field;
  const Type& type;   // of the value: what an optional holds
  const void* value;  // null in leaves_of()
};
/// In the order of the tables; of a choice only the selected alternative, of an empty optional
/// none.
void for_each_leaf(const Type& type, const void* record,
                   const std::function<void(const Leaf&)>& visit);
/// Of the type itself: every alternative of a choice; nothing inside lists.
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
