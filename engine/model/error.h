// The project's only error type: expected failures are return values that carry a sentence for the
// user. Exceptions stay inside third-party calls; nothing here ends the process.
#pragma once

#include <array>
#include <cassert>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace engine {

enum class ErrorCode {
  InvalidArgument,  // the request is wrong: the message names the value, the limit and the remedy
  NotFound,
  Io,
  Unsupported,  // a gate refused: the message is the gate's sentence
  OutOfMemory,
  Device,
  Protocol,
  Cancelled,
  Internal,
};
constexpr auto enum_names(ErrorCode) {
  return std::to_array<std::string_view>({"invalid-argument", "not-found", "io", "unsupported",
                                          "out-of-memory", "device", "protocol", "cancelled",
                                          "internal"});
}

struct Error {
  ErrorCode code = ErrorCode::Internal;
  std::string message;
  int device_error = 0;    // CUDA's runtime error number, if it is a CUDA error; not serialized
  std::string field = {};  // path of the value that is wrong, "shape.n"; empty = no single one
};

/// What is wrong with a record beyond the limits of its single fields.
struct Flaw {
  std::string field = {};   // of the record: "n", "idle[2].step"
  std::string says = {};    // the rest of the sentence that the path begins: "is 17; it must ..."
  std::string remedy = {};  // for whoever chose the value: "use 32"; empty = none beyond `says`

  bool empty() const { return says.empty(); }
  /// "shape.n is 17; it must ...: use 32"
  std::string message() const { return field + ' ' + says + (remedy.empty() ? "" : ": " + remedy); }
};

/// Either a value or an Error. Test with ok() before value(): asking for the other side is a bug,
/// not an error.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value)
      : state_(std::in_place_index<0>, std::move(value)) {}  // NOLINT: implicit by design
  Result(Error error)
      : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT: implicit by design

  bool ok() const { return state_.index() == 0; }
  const T& value() const& { return checked<0>(); }
  T& value() & { return std::get<0>(state_); }
  T&& value() && { return std::get<0>(std::move(state_)); }
  const Error& error() const { return checked<1>(); }

 private:
  template <std::size_t kIndex>
  const auto& checked() const {
    assert(state_.index() == kIndex);
    return std::get<kIndex>(state_);
  }
  std::variant<T, Error> state_;
};

/// Result of a call that yields nothing.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Error error) : error_(std::move(error)) {}  // NOLINT: implicit by design
  bool ok() const { return !error_.has_value(); }
  const Error& error() const {
    assert(error_.has_value());
    return *error_;
  }

 private:
  std::optional<Error> error_;
};

}  // namespace engine

// In a function that returns Status or Result<T>; variadic because of the commas in braces.

/// Returns the error of a Status or Result, if it is one.
#define ENGINE_TRY(...)                                    \
  do {                                                     \
    if (auto try_result = (__VA_ARGS__); !try_result.ok()) \
      return ::engine::Error(try_result.error());          \
  } while (false)

/// ENGINE_ASSIGN(const Shape shape, resolve_shape(request)): the value of a Result, declared or
/// assigned; returns its error, if it is one. Three statements: not for an `if` without braces.
#define ENGINE_ASSIGN(target, ...) ENGINE_ASSIGN_ON_LINE(__LINE__, target, __VA_ARGS__)
#define ENGINE_ASSIGN_ON_LINE(line, target, ...) ENGINE_ASSIGN_VIA(line, target, __VA_ARGS__)
#define ENGINE_ASSIGN_VIA(line, target, ...)                              \
  auto result_##line = (__VA_ARGS__);                                     \
  if (!result_##line.ok()) return ::engine::Error(result_##line.error()); \
  target = std::move(result_##line).value()
