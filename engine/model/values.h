// Operations on any value described with engine/model/fields.h, in addition to validate(): compare,
// print, parse. No templates; the tables contain everything.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/model/fields.h"

namespace engine {

/// Place of a value in a larger one, for messages: "recipe.delayed.margin", "experts[3].rows". It
/// is built on the way down and printed only if something is wrong.
struct FieldPath {
  const FieldPath* above = nullptr;
  std::string_view name = {};
  std::size_t index = kNoIndex;  // of an element of a list
  static constexpr std::size_t kNoIndex = ~std::size_t{0};

  std::string text() const;
};

/// Element `index` of a list; it must exist.
const void* element_at(const Type& list, const void* value, std::size_t index);

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
/// Parses an enumerator by its name in any case; '-', '_' and ' ' are equal. The name of the
/// enumeration may come before it (ROUTING_ZIPF), and the first or last words suffice if they are
/// unambiguous (cpu, block).
bool parse(const Type& type, void* value, std::string_view text);
/// "is 7; it must be between 1 and 3": why the rules refuse a number; empty = they accept it.
std::string number_flaw(const Type& type, const void* value, const FieldRules& rules);
/// What parse() takes: "bf16, fp8-block, ...", "an integer from 1 to 1024".
std::string expected_text(const Type& type, const FieldRules& rules);
/// The enumerators that such a field takes.
std::vector<EnumName> choices_of(const Type& type, const FieldRules& rules);
/// " (did you mean 'nvfp4'?)" if the text is nearly the name of an enumerator, else empty.
std::string nearest_name(const Type& type, std::string_view text);

}  // namespace engine
