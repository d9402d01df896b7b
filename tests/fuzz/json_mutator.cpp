// LLVMFuzzerCustomMutator() of the targets that read JSON: half of the mutations keep it sound, so
// that they reach what is behind the parser.
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/fuzz/fuzz_target.h"

namespace fuzz {
namespace {

using Json = nlohmann::ordered_json;

Json hostile_value(Dice& dice) {
  static const std::vector<Json> values = {nullptr,
                                           true,
                                           0,
                                           1,
                                           -1,
                                           7,
                                           255,
                                           65536,
                                           2147483647,
                                           -2147483648LL,
                                           4294967296LL,
                                           INT64_MAX,
                                           INT64_MIN,
                                           UINT64_MAX,
                                           0.5,
                                           -0.0,
                                           1e300,
                                           -1e300,
                                           1e-300,
                                           4e9,
                                           "",
                                           "0",
                                           "-1",
                                           "18446744073709551615",
                                           "9007199254740993",
                                           "NaN",
                                           "Infinity",
                                           "1e400",
                                           "../x",
                                           "/dev/zero",
                                           "\x1b[31m",
                                           "\u202e",
                                           "\U0001F600",
                                           std::string(300, 'a'),
                                           Json::array(),
                                           Json::object(),
                                           Json::array({1, 2}),
                                           Json::array({2, 1}),
                                           Json::array({nullptr}),
                                           Json::object({{"a", 1}})};
  return dice.pick(values);
}

/// Every value of the document but the keys, in order.
void collect_values(Json& value, std::vector<Json*>& all) {
  all.push_back(&value);
  if (!value.is_structured()) return;
  for (Json& member : value) collect_values(member, all);
}

void mutate_json(Json& document, Dice& dice) {
  std::vector<Json*> all;
  collect_values(document, all);
  Json& value = *dice.pick(all);
  switch (dice.below(7)) {
    case 0:
    case 1:
      value = hostile_value(dice);
      break;
    case 2:
      if (!value.empty() && value.is_object()) {
        value.erase(
            std::next(value.begin(), static_cast<std::ptrdiff_t>(dice.below(value.size()))));
      } else if (!value.empty() && value.is_array()) {
        value.erase(dice.below(value.size()));
      }
      break;
    case 3: {  // the value of another place
      const Json copy = *dice.pick(all);
      value = copy;
      break;
    }
    case 4: {
      const Json copy = value;
      if (value.is_array()) {
        if (!copy.empty()) value.push_back(dice.pick(copy));
      } else {
        value = Json::array({copy});
      }
      break;
    }
    case 5: {
      if (!value.is_object() || value.empty()) break;
      const auto member =
          std::next(value.begin(), static_cast<std::ptrdiff_t>(dice.below(value.size())));
      const std::string key = dice.one_in(2) ? mutated(member.key(), 40) : member.key() + "_";
      const Json copy = member.value();
      value[key] = copy;
      break;
    }
    default:
      if (value.is_number()) {
        value = value.get<double>() * (dice.one_in(2) ? -1.0 : 1e9) + 1;
      } else if (value.is_string()) {
        value = mutated(value.get<std::string>(), 100);
      } else {
        value = hostile_value(dice);
      }
  }
}

}  // namespace
}  // namespace fuzz

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* bytes, std::size_t size,
                                               std::size_t capacity, unsigned int seed) {
  fuzz::Dice dice(seed);
  fuzz::Json document;
  if (!dice.one_in(2)) {
    const auto shallow = [](int depth, fuzz::Json::parse_event_t, fuzz::Json&) {
      return depth <= 50;
    };
    document = fuzz::Json::parse(bytes, bytes + size, shallow, false);
  }
  if (document.is_null() || document.is_discarded()) return LLVMFuzzerMutate(bytes, size, capacity);
  for (std::size_t steps = 1 + dice.below(3); steps > 0; --steps) fuzz::mutate_json(document, dice);
  const std::string text =
      document.dump(dice.one_in(4) ? 1 : -1, ' ', false, fuzz::Json::error_handler_t::ignore);
  return fuzz::put_back(text, bytes, size, capacity);
}
