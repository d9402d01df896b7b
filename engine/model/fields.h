// Field descriptions of the project's value types, defined once next to each type: a member, which
// gives the field its name, its limits, its unit; the names of an enumeration's enumerators. All
// code that takes values across a border (wire, JSON, CSV, command line, validation, settings
// comparison, tests) walks these tables.
//
//   struct LaunchMode {
//     LaunchKind kind = LaunchKind::Eager;
//     int iterations = 10;
//     template <int = 0>
//     static constexpr auto fields() {
//       return std::array{engine::field<&LaunchMode::kind>(),
//                         engine::field<&LaunchMode::iterations>({.low = 1, .high = 100})};
//     }
//     Flaw flaw() const;  // optional: checks that involve several fields
//   };
//
// The tables are plain data behind one accessor per member, and every border is one non-template
// function. Visitors templated over tuples of member pointers would be shorter here, but each
// border would be recompiled for each type in each unit that uses it. fields() is a template so
// that a unit that uses no table instantiates none: for run_result.h that saves 0.3 s.
//
// Supported members: bool, integers, float, double, std::string, described enumerations and
// structs, std::vector and std::array of them, std::variant with ChoiceNames, std::optional and
// std::shared_ptr<const T>. Anything else does not compile.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "engine/model/error.h"

namespace engine {

struct Type;

/// Limits for times and counts that have no other: sums and differences of two stay in 64 bits.
inline constexpr double kMaxTime_ns = double{std::int64_t{1} << 60};
inline constexpr double kMaxCount = double{std::int64_t{1} << 62};

/// Constraints on a value, and how it is shown. Limits apply to each number of a list.
struct FieldRules {
  /// Limits of a number. A field with either limit accepts no infinity and no NaN; a field without
  /// limits accepts all.
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool allow_zero = false;  // 0 is allowed in addition to the range, and means none
  std::size_t most = std::numeric_limits<std::size_t>::max();  // elements of a list
  std::string_view unit = {};
  bool sparse = false;  // left out of a message if equal to its default
  /// Set for a list of thousands of records: it is sent as one column per field, which is smaller
  /// and several times faster to convert.
  bool columns = false;
  std::uint32_t without = 0;  // of an enumerator: those that this field does not take, see bit_of()
  /// What people call it, where that is not the field's own name: another name of its option on the
  /// command line.
  std::string_view also = {};
  /// Its name in documents and scripts from before it was renamed, which are still read.
  std::string_view formerly = {};
  bool path = false;   // of a file: what is passed on to others leaves its folders out
  bool input = false;  // and of one that is read, with the data of a step
};

/// Bit of an enumerator in FieldRules::without.
template <class Enum>
constexpr std::uint32_t bit_of(Enum value) {
  return std::uint32_t{1} << static_cast<unsigned>(value);
}

/// Usual rules.
inline constexpr FieldRules kCount = {.low = 0, .high = kMaxCount};
inline constexpr FieldRules kDuration_ns = {.low = 0, .high = kMaxTime_ns};
inline constexpr FieldRules kPath = {.path = true};
inline constexpr FieldRules kInputFile = {.path = true, .input = true};

struct Field {
  std::string_view name;  // of the wire, JSON, CSV and the command line alike
  const Type* type;
  void* (*at)(void* record);
  FieldRules rules;
  bool checked;  // it or a nested field has constraints

  void* in(void* record) const { return at(record); }
  const void* in(const void* record) const { return at(const_cast<void*>(record)); }
};

/// Whether a document or script means this field.
constexpr bool is_called(const Field& field, std::string_view name) {
  return field.name == name || (!name.empty() && field.rules.formerly == name);
}

struct EnumName {
  std::int64_t value;
  std::string_view name;
};

enum class Kind : std::uint8_t {
  Bool,
  Signed,
  Unsigned,
  Real,
  Enum,
  Text,      // std::string
  Record,    // a struct with fields()
  List,      // elements contiguous in memory
  Choice,    // exactly one of several records
  Optional,  // one or none
};

struct ListAccess {
  std::size_t (*size)(const void* list);
  bool (*resize)(void* list, std::size_t size);  // false: this list has another, fixed size
  void* (*data)(void* list);
};

struct ChoiceAccess {
  std::span<const std::string_view> names;  // empty = nothing is chosen (std::monostate)
  std::span<const Type* const> types;       // null for the same
  std::size_t (*index)(const void* choice);
  void* (*chosen)(void* choice);
  void* (*choose)(void* choice, std::size_t index);  // a fresh one
};

struct MaybeAccess {
  const void* (*value)(const void* maybe);  // null = none
  void* (*make)(void* maybe);               // a fresh one
};

struct Type {
  Kind kind;
  std::size_t size;                      // bytes
  std::string_view name = {};            // Record, Enum, Choice: "engine::RunRequest"
  bool checked = false;                  // a nested field has constraints, see Field
  bool is_signed = false;                // of an enumeration's underlying type
  std::span<const EnumName> names = {};  // Enum
  std::span<const Field> fields = {};    // Record
  Flaw (*flaw)(const void* record) = nullptr;
  const void* (*defaults)() = nullptr;  // of a Record: one whose members have their initialisers
  const Type* element = nullptr;        // List, Optional
  ListAccess list = {};
  ChoiceAccess choice = {};
  MaybeAccess maybe = {};
};

/// Name of a variant and names of its alternatives; specialised next to the variant.
template <class Variant>
struct ChoiceNames;

/// Fields of a type: from its own fields() or, if its header is below this one, from a fields_of()
/// next to it.
template <class T>
concept Described = requires { T::fields(); } || requires(const T* type) { fields_of(type); };

/// An enumeration whose namespace defines its names, in the order of its numbers or, where those
/// have gaps, as pairs: `constexpr auto enum_names(Scaling) { return std::array<std::string_view,
/// 6>{...}; }`
template <class T>
concept Named = std::is_enum_v<T> && requires(T value) { enum_names(value); };

namespace detail {

template <class T>
struct TypeOf;

/// "start_ns" of &Iteration::start_ns, out of the compiler's own words for this function:
/// "... [with auto kMember = &engine::Iteration::start_ns; ...]" (GCC), "... [kMember =
/// &engine::Iteration::start_ns]" (Clang).
template <auto kMember>
constexpr std::string_view name_of_member() {
  constexpr std::string_view kText = __PRETTY_FUNCTION__;
  constexpr std::size_t kEnd = kText.find_first_of(";]", kText.find("kMember = "));
  constexpr std::size_t kColon = kText.rfind(':', kEnd);
  return kText.substr(kColon + 1, kEnd - kColon - 1);
}

/// "engine::Iteration", as above: "... [with T = engine::Iteration; ...]".
template <class T>
constexpr std::string_view name_of_type() {
  constexpr std::string_view kText = __PRETTY_FUNCTION__;
  constexpr std::string_view kBefore = "T = ";
  constexpr std::size_t kStart = kText.find(kBefore) + kBefore.size();
  return kText.substr(kStart, kText.find_first_of(";]", kStart) - kStart);
}

template <class T>
constexpr auto make_fields() {
  if constexpr (requires { T::fields(); }) {
    return T::fields();
  } else {
    return fields_of(static_cast<const T*>(nullptr));
  }
}
template <class T>
inline constexpr auto kFields = make_fields<T>();

template <class E>
constexpr auto name_table() {
  constexpr auto kNames = enum_names(E{});
  std::array<EnumName, kNames.size()> table{};
  for (std::size_t i = 0; i < table.size(); ++i) {
    if constexpr (std::is_convertible_v<decltype(kNames[0]), std::string_view>) {
      table[i] = {static_cast<std::int64_t>(i), kNames[i]};
    } else {
      table[i] = {static_cast<std::int64_t>(kNames[i].first), kNames[i].second};
    }
  }
  return table;
}

template <Named E>
inline constexpr auto kNameTable = name_table<E>();

}  // namespace detail

/// The table of a type.
template <class T>
inline constexpr Type kType = detail::TypeOf<T>::make();

namespace detail {

template <auto kMember>
struct Member;
template <class Record, class T, T Record::* kMember>
struct Member<kMember> {
  using Value = T;
  static void* at(void* record) { return &(static_cast<Record*>(record)->*kMember); }
};

template <class T>
  requires std::is_arithmetic_v<T>
struct TypeOf<T> {
  static constexpr Type make() {
    return {.kind = std::is_same_v<T, bool>       ? Kind::Bool
                    : std::is_floating_point_v<T> ? Kind::Real
                    : std::is_signed_v<T>         ? Kind::Signed
                                                  : Kind::Unsigned,
            .size = sizeof(T)};
  }
};

template <Named T>
struct TypeOf<T> {
  static constexpr Type make() {
    return {.kind = Kind::Enum,
            .size = sizeof(T),
            .name = name_of_type<T>(),
            .is_signed = std::is_signed_v<std::underlying_type_t<T>>,
            .names = kNameTable<T>};
  }
};

template <>
struct TypeOf<std::byte> {
  static constexpr Type make() { return {.kind = Kind::Unsigned, .size = 1}; }
};

template <>
struct TypeOf<std::string> {
  static constexpr Type make() { return {.kind = Kind::Text, .size = sizeof(std::string)}; }
};

template <Described T>
struct TypeOf<T> {
  static constexpr Type make() {
    Type type{
        .kind = Kind::Record, .size = sizeof(T), .name = name_of_type<T>(), .fields = kFields<T>};
    type.defaults = []() -> const void* {
      static const T defaults{};
      return &defaults;
    };
    for (const Field& field : kFields<T>) type.checked |= field.checked;
    if constexpr (requires(const T& value) { value.flaw(); }) {
      type.flaw = [](const void* record) { return static_cast<const T*>(record)->flaw(); };
      type.checked = true;
    }
    return type;
  }
};

template <class T>
struct TypeOf<std::vector<T>> {
  using List = std::vector<T>;
  static constexpr Type make() {
    return {.kind = Kind::List,
            .size = sizeof(List),
            .checked = kType<T>.checked,
            .element = &kType<T>,
            .list = {[](const void* list) { return static_cast<const List*>(list)->size(); },
                     [](void* list, std::size_t size) {
                       static_cast<List*>(list)->resize(size);
                       return true;
                     },
                     [](void* list) -> void* { return static_cast<List*>(list)->data(); }}};
  }
};

template <class T, std::size_t kSize>
struct TypeOf<std::array<T, kSize>> {
  using List = std::array<T, kSize>;
  static constexpr Type make() {
    return {.kind = Kind::List,
            .size = sizeof(List),
            .checked = kType<T>.checked,
            .element = &kType<T>,
            .list = {[](const void*) { return kSize; },
                     [](void*, std::size_t size) { return size == kSize; },
                     [](void* list) -> void* { return static_cast<List*>(list)->data(); }}};
  }
};

template <class T>
constexpr const Type* type_or_none() {
  if constexpr (std::is_same_v<T, std::monostate>) {
    return nullptr;
  } else {
    return &kType<T>;
  }
}

template <class... T>
struct TypeOf<std::variant<T...>> {
  using Choice = std::variant<T...>;
  static constexpr std::array<const Type*, sizeof...(T)> kTypes = {type_or_none<T>()...};
  template <std::size_t... kIndex>
  static void* emplace(Choice& choice, std::size_t index, std::index_sequence<kIndex...>) {
    void* made = nullptr;
    static_cast<void>(
        ((index == kIndex && (made = &choice.template emplace<kIndex>(), true)) || ...));
    return made;
  }
  static constexpr Type make() {
    static_assert(ChoiceNames<Choice>::names.size() == sizeof...(T));
    return {
        .kind = Kind::Choice,
        .size = sizeof(Choice),
        .name = ChoiceNames<Choice>::name,
        .checked = true,
        .choice = {.names = ChoiceNames<Choice>::names,
                   .types = kTypes,
                   .index = [](const void* c) { return static_cast<const Choice*>(c)->index(); },
                   .chosen =
                       [](void* c) {
                         return std::visit([](auto& value) -> void* { return &value; },
                                           *static_cast<Choice*>(c));
                       },
                   .choose =
                       [](void* c, std::size_t index) {
                         return emplace(*static_cast<Choice*>(c), index,
                                        std::index_sequence_for<T...>());
                       }}};
  }
};

template <class T>
struct TypeOf<std::optional<T>> {
  using Optional = std::optional<T>;
  static constexpr Type make() {
    return {.kind = Kind::Optional,
            .size = sizeof(Optional),
            .checked = kType<T>.checked,
            .element = &kType<T>,
            .maybe = {[](const void* m) -> const void* {
                        const auto& maybe = *static_cast<const Optional*>(m);
                        return maybe ? &*maybe : nullptr;
                      },
                      [](void* m) -> void* { return &static_cast<Optional*>(m)->emplace(); }}};
  }
};

template <class T>
struct TypeOf<std::shared_ptr<const T>> {
  using Optional = std::shared_ptr<const T>;
  static constexpr Type make() {
    return {.kind = Kind::Optional,
            .size = sizeof(Optional),
            .checked = kType<T>.checked,
            .element = &kType<T>,
            .maybe = {
                [](const void* m) -> const void* { return static_cast<const Optional*>(m)->get(); },
                [](void* m) -> void* {
                  auto made = std::make_shared<T>();
                  T* value = made.get();
                  *static_cast<Optional*>(m) = std::move(made);
                  return value;
                }}};
  }
};

}  // namespace detail

/// One line of a fields().
template <auto kMember>
constexpr Field field(FieldRules rules = {}) {
  using Member = detail::Member<kMember>;
  const FieldRules any;
  const bool limited = rules.low != any.low || rules.high != any.high || rules.most != any.most ||
                       rules.without != 0;
  return {detail::name_of_member<kMember>(), &kType<typename Member::Value>, &Member::at, rules,
          limited || kType<typename Member::Value>.checked};
}
/// For a fields() in which no field has rules.
template <auto... kMembers>
constexpr std::array<Field, sizeof...(kMembers)> fields() {
  return {field<kMembers>()...};
}

/// CUDA's number is not transferred.
template <int = 0>
constexpr auto fields_of(const Error*) {
  return fields<&Error::code, &Error::message, &Error::field>();
}

/// Checks every limit of every field, then each record's own flaw(), innermost first. The flaw's
/// field is the whole path.
Flaw first_flaw(const Type& type, const void* value);
template <Described T>
Flaw first_flaw(const T& value) {
  return first_flaw(kType<T>, &value);
}
/// The first flaw as an error, which carries the path of the field, with which its message begins,
/// and names the value, the limit and the remedy.
Status validate(const Type& type, const void* value);
template <Described T>
Status validate(const T& value) {
  return validate(kType<T>, &value);
}

/// The name of an enumerator; "unknown" for a number that has none, as a file may hold.
template <Named E>
constexpr std::string_view name_of(E value) {
  for (const EnumName& entry : detail::kNameTable<E>) {
    if (entry.value == static_cast<std::int64_t>(value)) return entry.name;
  }
  return "unknown";
}

}  // namespace engine
