#include "engine/model/values.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstring>
#include <utility>

#include "engine/model/text.h"

namespace engine {
namespace {

// Copied, not read through a pointer: an enumerator is not an object of the underlying type.
template <class T>
T load(const void* value) {
  T number;
  std::memcpy(&number, value, sizeof(T));
  return number;
}

template <class T>
void put(void* value, T number) {
  std::memcpy(value, &number, sizeof(T));
}

std::string limits_text(const FieldRules& rules, bool real) {
  const char* none = rules.allow_zero ? ", or 0 for none" : "";
  if (std::isinf(rules.high)) {
    return fmt::format("{}at least {}{}", real ? "finite and " : "", rules.low, none);
  }
  if (std::isinf(rules.low)) return fmt::format("at most {}{}", rules.high, none);
  return fmt::format("between {} and {}{}", rules.low, rules.high, none);
}

bool has_limits(const FieldRules& rules) {
  return !std::isinf(rules.low) || !std::isinf(rules.high);
}

bool is_left_out(const FieldRules& rules, std::int64_t enumerator) {
  return enumerator >= 0 && enumerator < 32 && (rules.without >> enumerator & 1U) != 0;
}

/// Walks a value up to its first flaw.
class Validator {
 public:
  Flaw flaw;  // its field is a whole path

  void record(const Type& type, const void* value, const FieldPath& path) {
    for (const Field& field : type.fields) {
      if (!field.checked) continue;
      if (!flaw.empty()) return;
      member(*field.type, field.in(value), field.rules, {.above = &path, .name = field.name});
    }
    if (!flaw.empty() || type.flaw == nullptr) return;
    if (Flaw found = type.flaw(value); !found.empty()) {
      found.field = FieldPath{.above = &path, .name = found.field}.text();
      flaw = std::move(found);
    }
  }

 private:
  void member(const Type& type, const void* value, const FieldRules& rules, const FieldPath& path) {
    switch (type.kind) {
      case Kind::Record:
        return record(type, value, path);
      case Kind::List:
        return list(type, value, rules, path);
      case Kind::Choice: {
        const std::size_t index = type.choice.index(value);
        if (const Type* chosen = type.choice.types[index]) {
          record(*chosen, type.choice.chosen(const_cast<void*>(value)),
                 {.above = &path, .name = type.choice.names[index]});
        }
        return;
      }
      case Kind::Optional:
        if (const void* held = type.maybe.value(value)) member(*type.element, held, rules, path);
        return;
      case Kind::Text:
        return;
      default:
        return number(type, value, rules, path);
    }
  }

  void list(const Type& type, const void* value, const FieldRules& rules, const FieldPath& path) {
    const std::size_t size = type.list.size(value);
    if (size > rules.most) {
      flaw = {path.text(), fmt::format("has {} entries; it takes at most {}", size, rules.most)};
      return;
    }
    if (!type.element->checked && !has_limits(rules) && rules.without == 0) return;
    for (std::size_t i = 0; i < size && flaw.empty(); ++i) {
      member(*type.element, element_at(type, value, i), rules,
             {.above = path.above, .name = path.name, .index = i});
    }
  }

  void number(const Type& type, const void* value, const FieldRules& rules, const FieldPath& path) {
    std::string wrong = number_flaw(type, value, rules);
    if (!wrong.empty()) flaw = {path.text(), std::move(wrong)};
  }
};

bool equal_numbers(const Type& type, const void* a, const void* b) {
  if (type.kind != Kind::Real) return std::memcmp(a, b, type.size) == 0;
  const double left = real_number(type, a);
  const double right = real_number(type, b);
  return left == right || (std::isnan(left) && std::isnan(right));
}

bool parse_enumerator(const Type& type, void* value, std::string_view text) {
  // A list is no name: "bf16,mxfp8" must not read as its last one.
  if (text.find(',') != std::string_view::npos) return false;
  const std::string word = plain_word(text);
  const EnumName* with_prefix = nullptr;  // the longest name that the word ends with
  const EnumName* by_part = nullptr;      // the name that begins or ends with the word
  bool ambiguous = false;
  for (const EnumName& entry : type.names) {
    const std::string name = plain_word(entry.name);
    if (name == word) return store(type, value, entry.value);
    if (word.ends_with("-" + name) &&
        (with_prefix == nullptr || entry.name.size() > with_prefix->name.size())) {
      with_prefix = &entry;
    }
    if (word.empty() || !(name.ends_with("-" + word) || name.starts_with(word + "-"))) continue;
    ambiguous = by_part != nullptr;
    by_part = &entry;
  }
  if (by_part != nullptr && !ambiguous) return store(type, value, by_part->value);
  return with_prefix != nullptr && store(type, value, with_prefix->value);
}

template <class T>
bool parse_number(const Type& type, void* value, std::string_view text) {
  T number{};
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stop != end) return false;
  if constexpr (std::is_same_v<T, float>) {
    put(value, number);  // read directly: through a double it would be rounded twice
    return true;
  } else {
    return store(type, value, number);
  }
}

bool parse_bool(void* value, std::string_view text) {
  // "-1" is not a way to write 1.
  const std::string word = text.starts_with('-') ? std::string() : plain_word(text);
  const bool yes = word == "true" || word == "1" || word == "on" || word == "yes";
  const bool no = word == "false" || word == "0" || word == "off" || word == "no";
  if (yes || no) put(value, yes);
  return yes || no;
}

}  // namespace

const void* element_at(const Type& list, const void* value, std::size_t index) {
  const void* first = list.list.data(const_cast<void*>(value));
  return static_cast<const char*>(first) + index * list.element->size;
}

std::string FieldPath::text() const {
  std::string text = above == nullptr ? std::string() : above->text();
  if (!text.empty() && !name.empty()) text += '.';
  text += name;
  if (index != kNoIndex) text += fmt::format("[{}]", index);
  return text;
}

std::string number_flaw(const Type& type, const void* value, const FieldRules& rules) {
  if (type.kind == Kind::Enum && is_left_out(rules, signed_number(type, value))) {
    return fmt::format("is {}, which it does not take; choose one of {}", text_of(type, value),
                       expected_text(type, rules));
  }
  if (!has_limits(rules)) return {};
  const double number = real_number(type, value);
  if (number >= rules.low && number <= rules.high && std::isfinite(number)) return {};
  if (rules.allow_zero && number == 0.0) return {};
  return fmt::format("is {}; it must be {}", text_of(type, value),
                     limits_text(rules, type.kind == Kind::Real));
}

Flaw first_flaw(const Type& type, const void* value) {
  Validator validator;
  validator.record(type, value, {});
  return std::move(validator.flaw);
}

Status validate(const Type& type, const void* value) {
  Flaw flaw = first_flaw(type, value);
  if (flaw.empty()) return {};
  return Error{.code = ErrorCode::InvalidArgument,
               .message = flaw.message(),
               .field = std::move(flaw.field)};
}

bool equal(const Type& type, const void* a, const void* b) {
  switch (type.kind) {
    case Kind::Text:
      return *static_cast<const std::string*>(a) == *static_cast<const std::string*>(b);
    case Kind::Record:
      for (const Field& field : type.fields) {
        if (!equal(*field.type, field.in(a), field.in(b))) return false;
      }
      return true;
    case Kind::List: {
      const std::size_t size = type.list.size(a);
      if (size != type.list.size(b)) return false;
      for (std::size_t i = 0; i < size; ++i) {
        if (!equal(*type.element, element_at(type, a, i), element_at(type, b, i))) return false;
      }
      return true;
    }
    case Kind::Choice: {
      const std::size_t index = type.choice.index(a);
      if (index != type.choice.index(b)) return false;
      const Type* chosen = type.choice.types[index];
      return chosen == nullptr || equal(*chosen, type.choice.chosen(const_cast<void*>(a)),
                                        type.choice.chosen(const_cast<void*>(b)));
    }
    case Kind::Optional: {
      const void* left = type.maybe.value(a);
      const void* right = type.maybe.value(b);
      if (left == nullptr || right == nullptr) return left == right;
      return equal(*type.element, left, right);
    }
    default:
      return equal_numbers(type, a, b);
  }
}

std::int64_t signed_number(const Type& type, const void* value) {
  if (type.kind == Kind::Bool) return load<bool>(value) ? 1 : 0;
  const bool negative = type.kind == Kind::Signed || type.is_signed;
  switch (type.size) {
    case 1:
      return negative ? load<std::int8_t>(value) : load<std::uint8_t>(value);
    case 2:
      return negative ? load<std::int16_t>(value) : load<std::uint16_t>(value);
    case 4:
      return negative ? load<std::int32_t>(value) : std::int64_t{load<std::uint32_t>(value)};
    default:
      return load<std::int64_t>(value);
  }
}

std::uint64_t unsigned_number(const Type& type, const void* value) {
  return type.size == 8 ? load<std::uint64_t>(value)
                        : static_cast<std::uint64_t>(signed_number(type, value));
}

double real_number(const Type& type, const void* value) {
  if (type.kind == Kind::Real) {
    return type.size == sizeof(float) ? static_cast<double>(load<float>(value))
                                      : load<double>(value);
  }
  if (type.kind == Kind::Unsigned) return static_cast<double>(unsigned_number(type, value));
  return static_cast<double>(signed_number(type, value));
}

namespace {

template <class T, class Number>
bool store_as(void* value, Number number) {
  if (!std::in_range<T>(number)) return false;
  put(value, static_cast<T>(number));
  return true;
}

template <class Number>
bool store_integer(const Type& type, void* value, Number number) {
  if (type.kind == Kind::Enum) {
    bool known = false;
    for (const EnumName& entry : type.names) known |= std::cmp_equal(entry.value, number);
    if (!known) return false;
  }
  const bool negative = type.kind == Kind::Signed || type.is_signed;
  switch (type.size) {
    case 1:
      return negative ? store_as<std::int8_t>(value, number)
                      : store_as<std::uint8_t>(value, number);
    case 2:
      return negative ? store_as<std::int16_t>(value, number)
                      : store_as<std::uint16_t>(value, number);
    case 4:
      return negative ? store_as<std::int32_t>(value, number)
                      : store_as<std::uint32_t>(value, number);
    default:
      return negative ? store_as<std::int64_t>(value, number)
                      : store_as<std::uint64_t>(value, number);
  }
}

template <class Number>
bool store_number(const Type& type, void* value, Number number) {
  if (type.kind == Kind::Real) return store(type, value, static_cast<double>(number));
  if (type.kind != Kind::Bool) return store_integer(type, value, number);
  put(value, number != 0);
  return number == 0 || number == 1;
}

}  // namespace

bool store(const Type& type, void* value, std::int64_t number) {
  return store_number(type, value, number);
}

bool store(const Type& type, void* value, std::uint64_t number) {
  return store_number(type, value, number);
}

bool store(const Type& type, void* value, double number) {
  if (type.kind != Kind::Real) return false;
  if (type.size == sizeof(float)) {
    put(value, static_cast<float>(number));
  } else {
    put(value, number);
  }
  return true;
}

std::string text_of(const Type& type, const void* value) {
  switch (type.kind) {
    case Kind::Bool:
      return load<bool>(value) ? "true" : "false";
    case Kind::Signed:
      return fmt::to_string(signed_number(type, value));
    case Kind::Unsigned:
      return fmt::to_string(unsigned_number(type, value));
    case Kind::Real:
      // + 0 makes -0 a plain 0: equal() takes them for the same, and a session file does not keep
      // the sign of a zero.
      return type.size == sizeof(float) ? fmt::to_string(load<float>(value) + 0.0F)
                                        : fmt::to_string(load<double>(value) + 0.0);
    case Kind::Enum:
      for (const EnumName& entry : type.names) {
        if (entry.value == signed_number(type, value)) return std::string(entry.name);
      }
      return "unknown";
    case Kind::Text:
      return *static_cast<const std::string*>(value);
    case Kind::List: {
      std::string text = "[";
      for (std::size_t i = 0; i < type.list.size(value); ++i) {
        if (i > 0) text += ", ";
        text += text_of(*type.element, element_at(type, value, i));
      }
      return text + "]";
    }
    default:
      return {};
  }
}

bool parse(const Type& type, void* value, std::string_view text) {
  switch (type.kind) {
    case Kind::Bool:
      return parse_bool(value, text);
    case Kind::Signed:
      return parse_number<std::int64_t>(type, value, text);
    case Kind::Unsigned:
      return parse_number<std::uint64_t>(type, value, text);
    case Kind::Real:
      return type.size == sizeof(float) ? parse_number<float>(type, value, text)
                                        : parse_number<double>(type, value, text);
    case Kind::Enum:
      return parse_enumerator(type, value, text);
    case Kind::Text:
      *static_cast<std::string*>(value) = text;
      return true;
    default:
      return false;
  }
}

std::vector<EnumName> choices_of(const Type& type, const FieldRules& rules) {
  std::vector<EnumName> choices;
  for (const EnumName& entry : type.names) {
    if (!is_left_out(rules, entry.value)) choices.push_back(entry);
  }
  return choices;
}

std::string expected_text(const Type& type, const FieldRules& rules) {
  std::string text;
  switch (type.kind) {
    case Kind::Bool:
      return "true or false";
    case Kind::Text:
      return "text";
    case Kind::Enum:
      for (const EnumName& entry : choices_of(type, rules)) {
        text += fmt::format("{}{}", text.empty() ? "" : ", ", entry.name);
      }
      return text;
    default:
      text = type.kind == Kind::Real ? "a number" : "an integer";
      if (!rules.unit.empty()) text += fmt::format(" of {}", rules.unit);
      if (has_limits(rules)) {
        text += ", " + limits_text(rules, /*real=*/false);
      } else if (type.kind == Kind::Unsigned) {  // what it can hold is its only limit
        text += fmt::format(", between 0 and {}", ~std::uint64_t{0} >> (64 - 8 * type.size));
      }
      return text;
  }
}

std::string nearest_name(const Type& type, std::string_view text) {
  if (type.kind != Kind::Enum) return {};
  std::vector<std::string> names;
  for (const EnumName& entry : type.names) names.emplace_back(entry.name);
  return suggestion(text, names);
}

}  // namespace engine
