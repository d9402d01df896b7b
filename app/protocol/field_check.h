// Reads checked fields out of a message and keeps the first refusal, so that a conversion reads as
// a list of fields and still names the one that was wrong. Enums have the same numbers on both
// sides (asserted in convert_request.cpp and convert_result.cpp), but a peer may send any number.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "engine/model/error.h"

namespace app {

class FieldCheck {
 public:
  template <class Enum>
  void enumerator(Enum& out, int value, bool (*is_known)(int), std::string_view field) {
    if (is_known(value)) {
      out = static_cast<Enum>(value);
    } else {
      refuse(fmt::format("{} is {}, which this version does not know", field, value));
    }
  }

  template <class Narrow, class Wide>
  void integer(Narrow& out, Wide value, std::string_view field) {
    if (std::in_range<Narrow>(value)) {
      out = static_cast<Narrow>(value);
    } else {
      refuse(fmt::format("{} is {}, which is out of range", field, value));
    }
  }

  void require(bool holds, std::string_view sentence) {
    if (!holds) refuse(std::string(sentence));
  }

  void refuse(std::string sentence) {
    if (!error_) error_ = engine::Error{engine::ErrorCode::Protocol, std::move(sentence)};
  }

  bool ok() const { return !error_.has_value(); }

  template <class T>
  engine::Result<T> result(T value) {
    if (error_) return std::move(*error_);
    return value;
  }

 private:
  std::optional<engine::Error> error_;
};

}  // namespace app
