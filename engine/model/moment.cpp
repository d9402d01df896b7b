#include "engine/model/moment.h"

#include <array>

namespace engine {
namespace {

std::string in_words(const std::tm* moment, const char* format) {
  if (moment == nullptr) return {};
  std::array<char, 64> text{};
  return {text.data(), std::strftime(text.data(), text.size(), format, moment)};
}

}  // namespace

std::string local_time(std::time_t moment, const char* format) {
  std::tm fields{};
  return in_words(::localtime_r(&moment, &fields), format);
}

std::string utc_time(std::time_t moment, const char* format) {
  std::tm fields{};
  return in_words(::gmtime_r(&moment, &fields), format);
}

}  // namespace engine
