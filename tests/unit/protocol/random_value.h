// Fills a described value at random through its own table, within the limits it states, so that a
// field that is added to a type is covered by the round trips without touching a test.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <random>
#include <string>

#include "engine/model/values.h"

namespace app::testing {

class RandomValue {
 public:
  explicit RandomValue(unsigned seed) : random_(seed) {}

  /// Called on every filled record of the type, for rules beyond its limits.
  template <class T, class Settle>
  void settle(Settle settle) {
    settle_[&engine::kType<T>] = [settle](void* record) { settle(*static_cast<T*>(record)); };
  }

  template <engine::Described T>
  T make() {
    T value;
    record(engine::kType<T>, &value);
    return value;
  }

  std::int64_t number(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random_);
  }

 private:
  void record(const engine::Type& type, void* value) {
    for (const engine::Field& field : type.fields) {
      fill(*field.type, field.in(value), field.rules);
    }
    if (const auto settle = settle_.find(&type); settle != settle_.end()) settle->second(value);
  }

  void fill(const engine::Type& type, void* value, const engine::FieldRules& rules) {
    using engine::Kind;
    switch (type.kind) {
      case Kind::Text:
        *static_cast<std::string*>(value) = "text " + std::to_string(number(0, 1 << 30));
        return;
      case Kind::Record:
        return record(type, value);
      case Kind::List:
        type.list.resize(value, std::min(static_cast<std::size_t>(number(1, 4)), rules.most));
        for (std::size_t i = 0; i < type.list.size(value); ++i) {
          fill(*type.element, static_cast<char*>(type.list.data(value)) + i * type.element->size,
               rules);
        }
        return;
      case Kind::Choice: {
        const auto index = static_cast<std::size_t>(number(0, std::ssize(type.choice.types) - 1));
        void* chosen = type.choice.choose(value, index);
        if (type.choice.types[index] != nullptr) record(*type.choice.types[index], chosen);
        return;
      }
      case Kind::Optional:
        if (number(0, 1) == 1) fill(*type.element, type.maybe.make(value), rules);
        return;
      case Kind::Enum: {
        std::int64_t taken = 0;
        do {
          taken = type.names[static_cast<std::size_t>(number(0, std::ssize(type.names) - 1))].value;
        } while (taken < 32 && (rules.without >> taken & 1U) != 0);
        engine::store(type, value, taken);
        return;
      }
      case Kind::Bool:
        engine::store(type, value, number(0, 1));
        return;
      case Kind::Real: {
        const bool odd = std::isinf(rules.low) && std::isinf(rules.high) && number(0, 9) == 0;
        const double low = std::max(rules.low, -1000.0);
        const double high = std::min(rules.high, std::max(low + 1, 1000.0));
        engine::store(type, value,
                      odd ? (number(0, 1) == 0 ? std::nan("") : -0.0)
                          : low + (high - low) * static_cast<double>(number(0, 64)) / 64.0);
        return;
      }
      default:
        return integer(type, value, rules);
    }
  }

  /// Any bits of the type, clamped to its limits.
  void integer(const engine::Type& type, void* value, const engine::FieldRules& rules) {
    const std::uint64_t bits = random_();
    std::memcpy(value, &bits, type.size);
    const double made = engine::real_number(type, value);
    if (made >= rules.low && made <= rules.high) return;
    const double low = std::max(rules.low, -1e9);
    const double high = std::max(low, std::min(rules.high, 1e9));
    const auto limited = number(static_cast<std::int64_t>(low), static_cast<std::int64_t>(high));
    if (!engine::store(type, value, limited)) std::memset(value, 0, type.size);
  }

  std::mt19937_64 random_;
  std::map<const engine::Type*, std::function<void(void*)>> settle_;
};

}  // namespace app::testing
